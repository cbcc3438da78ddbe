"""Make `Settings` of the configuration file and the environment; the environment wins.

An empty environment variable counts as not set.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from retaind.config.keys import HOLD_PATHS, KEYS, target, variable
from retaind.config.lines import find_line
from retaind.config.rules import Rule, Unfit
from retaind.config.settings import Settings
from retaind.errors import ConfigError

_SHOWN_CHARS = 60
_AT_LINE = re.compile(r"\s*\(at line (\d+), column (\d+)\)")
_SECTIONS = frozenset(key.rpartition(".")[0] for key in KEYS if "." in key)
_NOT_SETTINGS = frozenset({"RETAIND_STATE_DIR", "RETAIND_CONFIG_FILE", "RETAIND_SOCKET"})


@dataclass(frozen=True, slots=True)
class _Given:
    """A value as the user gave it, and where: a variable, or a file with its text."""

    value: object
    place: str
    source: str = ""

    def origin(self, *keys: str) -> str:
        """Return FILE:LINE of a key, or the variable's name."""
        line = find_line(self.source, keys)
        return f"{self.place}:{line}" if line else self.place


def load(path: Path, environ: Mapping[str, str]) -> Settings:
    """Read the file, if there is one, and the environment.

    Raises ConfigError, which names the place, the key and the fix.
    """
    given = dict(_from_file(path)) | dict(_from_environment(environ))
    home = environ.get("HOME") or os.path.expanduser("~")
    values = {key: _expand(key, _read(key, KEYS[key], one), home) for key, one in given.items()}
    if not values.get("memory.local.enabled", True) and values.get("memory.hindsight.url"):
        values.setdefault("recall.memory", "hindsight")
    origins = {
        key: given[key].origin(*key.split(".")) if key in given else "default" for key in KEYS
    }
    settings = replace(_build(values), origins=MappingProxyType(origins))
    _check_together(settings)
    return settings


def effective(settings: Settings) -> dict[str, object]:
    """Return every key with its value in force; secrets show only that they are set."""
    shown: dict[str, object] = {}
    for key, rule in KEYS.items():
        value: object = settings
        for name in target(key):
            value = getattr(value, name)
        if rule.secret and value:
            value = "(set, not shown)"
        shown[key] = value
    return shown


def _from_file(path: Path) -> Iterator[tuple[str, _Given]]:
    source = _read_source(path)
    if not source.strip():
        return
    import tomllib

    try:
        tree = tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        place = _AT_LINE.search(str(error))
        line = place.group(1) if place else str(source.count("\n") + 1)
        raise ConfigError(
            f"{path}:{line}: this is not TOML",
            why=_AT_LINE.sub("", str(error)),
            fix='mend the line; texts need quotes, as in mode = "scan"',
        ) from None
    for keys, value in _leaves(tree, (), path, source):
        yield ".".join(keys), _Given(value, str(path), source)


def _read_source(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError(
            f"{path}:{line}: this is not UTF-8", fix="save the file as UTF-8"
        ) from None
    except OSError as error:
        raise ConfigError(
            f"the configuration file {path} cannot be read",
            why=error.strerror or type(error).__name__,
            fix=f"make it a file that you can read (chmod 600 {path}), or remove it",
        ) from None


def _leaves(
    tree: Mapping[str, object], above: tuple[str, ...], path: Path, source: str
) -> Iterator[tuple[tuple[str, ...], object]]:
    """Walk down to the known keys; whatever is not on the way to one is an error."""
    for name, value in tree.items():
        keys = (*above, name)
        key = ".".join(keys)
        if key in KEYS:
            yield keys, value
        elif not any(section == key or section.startswith(key + ".") for section in _SECTIONS):
            line = find_line(source, keys)
            _refuse_unknown(key, f"{path}:{line}" if line else str(path))
        elif isinstance(value, Mapping):
            yield from _leaves(value, keys, path, source)
        else:
            raise ConfigError(
                f"{path}:{find_line(source, keys)}: {key} is a section, not a value",
                fix=f"write [{key}] on a line of its own, and its keys below",
            )


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, _Given]]:
    known = {variable(key): key for key in KEYS}
    sections = tuple(variable(section) + "_" for section in _SECTIONS)
    for name in sorted(environ):
        text = environ[name]
        if not name.startswith("RETAIND_") or name in _NOT_SETTINGS or not text:
            continue
        if name in known:
            yield known[name], _Given(KEYS[known[name]].from_text(text), name)
        elif name.startswith(sections):
            near = _nearest(name, known)
            raise ConfigError(
                f"the environment variable {name} sets nothing",
                why="there is no such key",
                fix=f"did you mean {near}?" if near else f"unset {name}",
            )


def _refuse_unknown(key: str, origin: str) -> NoReturn:
    near = _nearest(key, [*KEYS, *_SECTIONS])
    raise ConfigError(
        f"{origin}: there is no key {key}",
        fix=f"did you mean {near}?" if near else "remove it; `retaind config` lists every key",
    )


def _nearest(name: str, among: Mapping[str, object] | list[str]) -> str | None:
    import difflib

    found = difflib.get_close_matches(name, list(among), n=1, cutoff=0.6)
    return found[0] if found else None


def _read(key: str, rule: Rule, given: _Given) -> object:
    try:
        return rule.read(given.value)
    except Unfit as unfit:
        shown = "" if rule.secret else f", not {_shown(given.value)}"
        name = f'{key}."{unfit.at[0]}"' if unfit.at else key
        fault = unfit.why or f"must be {rule.expects}{shown}"
        raise ConfigError(
            f"{given.origin(*key.split('.'), *unfit.at)}: {name} {fault}",
            fix=f"change it, or remove it for the default (`retaind config` shows {key})",
        ) from None


def _shown(value: object) -> str:
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    return text if len(text) <= _SHOWN_CHARS else text[:_SHOWN_CHARS] + "…"


def _expand(key: str, value: object, home: str) -> object:
    """Put the home for a leading `~`, and order folders so that the longest comes first."""
    if key not in HOLD_PATHS:
        return value
    if isinstance(value, str):
        return home + value[1:] if value == "~" or value.startswith("~/") else value
    if not isinstance(value, tuple):
        return value
    if key not in {"projects", "bank.directory_map"}:
        return tuple(_expand(key, part, home) for part in value)
    pairs = [(str(_expand(key, folder, home)).rstrip("/") or "/", to) for folder, to in value]
    return tuple(sorted(pairs, key=lambda pair: (-len(pair[0]), pair[0])))


def _build(values: Mapping[str, object]) -> Settings:
    changes: dict[str, Any] = {}
    for key, value in values.items():
        branch = changes
        *way, last = target(key)
        for name in way:
            branch = branch.setdefault(name, {})
        branch[last] = value
    settings: Settings = _changed(Settings(), changes)
    return settings


def _changed(part: Any, changes: Mapping[str, Any]) -> Any:
    new = {}
    for field in fields(part):
        if field.name not in changes:
            continue
        change = changes[field.name]
        now = getattr(part, field.name)
        nested = is_dataclass(now) and isinstance(change, dict)
        new[field.name] = _changed(now, change) if nested else change
    return replace(part, **new)


def _check_together(settings: Settings) -> None:
    """Refuse settings that are fine alone, but not with each other."""
    where = settings.origins
    if settings.recall.memory == "hindsight" and not settings.hindsight.url:
        raise ConfigError(
            f"{where['recall.memory']}: recall.memory is hindsight, but no server is named",
            fix="set memory.hindsight.url, or remove recall.memory",
        )
    llm = settings.local.llm
    if settings.local.extractor == "llm" and not (llm.base_url and llm.model):
        raise ConfigError(
            f"{where['memory.local.extractor']}: the llm extractor needs an endpoint and a model",
            fix="set memory.local.llm.base_url and memory.local.llm.model",
        )
    if settings.hindsight.overlap_turns >= settings.hindsight.every_n_turns:
        if where["memory.hindsight.overlap_turns"] == "default":
            return
        raise ConfigError(
            f"{where['memory.hindsight.overlap_turns']}: memory.hindsight.overlap_turns must be "
            "less than memory.hindsight.every_n_turns",
            fix="lower the one or raise the other",
        )
