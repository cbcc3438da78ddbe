"""New keys in an existing TOML file: every line that is there stays as it is."""

import json
import os
import re
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from retaind.config import Settings, load
from retaind.config.lines import find_line
from retaind.errors import ConfigError

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def with_keys(source: str, values: Mapping[str, object], place: str) -> str:
    """Return the text with these keys, each in its section; `values` has dotted keys.

    Raises ConfigError where a section is written in a form that cannot be added to.
    """
    lines = source.splitlines()
    sections: dict[str, list[str]] = {}
    for key, value in values.items():
        section, _, name = key.rpartition(".")
        sections.setdefault(section, []).append(f"{name} = {written(value)}")
    for section, new in sections.items():
        _add(lines, section, new)
    text = "\n".join(lines) + "\n"
    if not _says(text, source, values):
        every = "; ".join(f"{key} = {written(value)}" for key, value in values.items())
        raise ConfigError(
            f"{place} cannot be added to",
            why="its sections are not written as [section]",
            fix=f"write into it yourself: {every}",
        )
    return text


def missing(source: str, values: Mapping[str, object]) -> dict[str, object]:
    """Return those of the keys that the text does not set."""
    tree = tomllib.loads(source)
    return {key: value for key, value in values.items() if _value(tree, key.split(".")) is None}


def settings_of(text: str) -> Settings:
    """Load the settings that a configuration file with this text stands for. Raises ConfigError."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        return load(Path(file.name), os.environ)


def written(value: object) -> str:
    """Return a value as TOML writes it on one line."""
    if isinstance(value, Mapping):
        if not value:
            return "{}"
        pairs = (f"{_key(str(name))} = {written(one)}" for name, one in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(written, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else written(name)


def _add(lines: list[str], section: str, new: Sequence[str]) -> None:
    """Put lines below the section's header; without one, a section of their own at the end."""
    header = find_line("\n".join(lines), tuple(section.split(".")))
    at = (
        header
        if header is not None and lines[header - 1].strip().startswith(f"[{section}]")
        else None
    )
    if at is None:
        lines += [*([""] if lines else []), f"[{section}]", *new]
    else:
        lines[at:at] = new


def _says(text: str, before: str, values: Mapping[str, object]) -> bool:
    """Whether a text says what was there before and the new values, and nothing else."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    wanted = tomllib.loads(before)
    for key, value in values.items():
        *way, name = key.split(".")
        branch: Any = wanted
        for step in way:
            branch = branch.setdefault(step, {})
            if not isinstance(branch, dict):
                return False
        branch[name] = json.loads(json.dumps(value))
    return bool(tree == wanted)


def _value(tree: Any, keys: Sequence[str]) -> Any:
    for key in keys:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree
