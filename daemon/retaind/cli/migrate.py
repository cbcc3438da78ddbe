"""`retaind migrate`: take over from another memory. Nothing of it happens unasked."""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import click

from retaind.cli import context
from retaind.cli.output import short_path
from retaind.errors import ConfigError, NotFound

_BACKUP_SUFFIX = ".before-migrate"
_PRIVATE = 0o600


@click.group()
def command() -> None:
    """Take over from another memory."""


@command.command("hindsight-plugin")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option(
    "--compare", is_flag=True, help="Then compare what the plugin sent with what is kept."
)
def hindsight_plugin(*, dry_run: bool, compare: bool) -> int:
    """Take over the settings of Hindsight's plugin.

    Keys that config.toml has already stay. Exit 1 if --compare finds messages of the plugin's that
    retaind does not have.
    """
    from retaind.cli.plugin_settings import find
    from retaind.runtime.roots import claude_roots

    home = Path(os.path.expanduser("~"))
    roots = claude_roots(home, os.environ, context.settings().roots.claude_code)
    taken = find(home, roots, os.environ)
    if taken is None:
        raise NotFound(
            "there are no settings of the Hindsight plugin", why="looked in ~/.hindsight"
        )
    print("read: " + ", ".join(map(short_path, taken.sources)))
    text = _take_over(taken.values, dry_run=dry_run)
    for note in taken.notes:
        print(f"note: {note}")
    if not dry_run:
        print(
            "next: disable the plugin (claude plugin disable hindsight-memory), then: retaind restart"
        )
    if not compare:
        return 0
    from retaind.cli.comparing import compare_with_plugin

    return compare_with_plugin(text)


def _take_over(values: Mapping[str, object], *, dry_run: bool) -> str:
    """Write what is new into config.toml, or only print it; returns the text with it."""
    from retaind.cli.toml_text import missing, with_keys, written
    from retaind.config import Settings, effective
    from retaind.config.keys import KEYS

    file = context.paths().config_file
    source = file.read_text(encoding="utf-8") if file.exists() else ""
    defaults = effective(Settings())
    wanted = {key: value for key, value in values.items() if KEYS[key].read(value) != defaults[key]}
    new = missing(source, wanted)
    for key in sorted(wanted.keys() - new.keys()):
        print(f"kept: {key} is set already")
    for key, value in sorted(new.items()):
        shown = '"…"' if KEYS[key].secret else written(value)
        print(f"{'would write' if dry_run else 'wrote'}: {key} = {shown}")
    if not new:
        print("nothing new")
        return source
    text = with_keys(source, dict(sorted(new.items())), str(file))
    _check(text)
    if not dry_run:
        _write(file, source, text)
    return text


def _check(text: str) -> None:
    """Refuse settings that do not fit together, before they are written."""
    from retaind.cli.toml_text import settings_of

    try:
        settings_of(text)
    except ConfigError as error:
        raise ConfigError(
            "the plugin's settings do not fit together here: nothing was changed",
            why=error.what,
            fix="mend them in ~/.hindsight/claude-code.json",
        ) from None


def _write(file: Path, before: str, text: str) -> None:
    """Put the text in the file's place in one step; the first time, what was there is kept beside it."""
    file = Path(os.path.realpath(file))
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if before:
        with suppress(FileExistsError), _opened(Path(f"{file}{_BACKUP_SUFFIX}"), os.O_EXCL) as kept:
            kept.write(before)
    partial = file.with_name(f".{file.name}.new")
    with _opened(partial, os.O_TRUNC) as written:
        written.write(text)
        written.flush()
        os.fsync(written.fileno())
    if file.exists():
        partial.chmod(stat.S_IMODE(file.stat().st_mode) & _PRIVATE)
    partial.replace(file)


def _opened(path: Path, flags: int) -> TextIO:
    return open(os.open(path, os.O_WRONLY | os.O_CREAT | flags, _PRIVATE), "w", encoding="utf-8")
