"""How the command line prints: JSON for programs, aligned plain words for people."""

import json
import os
import re
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any

_KILO = 1000
_MINUTE_S = 60
_HOUR_S = 3600
_DAY_S = 86_400
_COLORS = {"green": "32", "yellow": "33", "red": "31", "bold": "1", "dim": "2", "cyan": "36"}

_COMMANDING = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def print_json(value: object) -> None:
    """Print one JSON value; spread over lines where a person looks."""
    print(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


def is_colored() -> bool:
    """Say whether standard output is a terminal on which colours are welcome."""
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def paint(text: str, color: str) -> str:
    """Return the text in a colour, where colours are welcome."""
    return f"\x1b[{_COLORS[color]}m{text}\x1b[0m" if is_colored() else text


def size(count: int | None) -> str:
    """Return bytes as people read them: 312.4 MB, in powers of 1000."""
    if count is None:
        return "-"
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < _KILO:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= _KILO
    return f"{amount:.1f} TB"


def number(count: int) -> str:
    """Return a count with its thousands marked."""
    return f"{count:,}"


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun: 1 session, 2 sessions."""
    return f"{number(count)} {one if count == 1 else many or one + 's'}"


def duration(seconds: float) -> str:
    """Return a time span in its largest unit: 3 minutes."""
    for unit, length in (("day", _DAY_S), ("hour", _HOUR_S), ("minute", _MINUTE_S)):
        if seconds >= length:
            return counted(int(seconds // length), unit)
    return counted(max(int(seconds), 0), "second")


def ago(stamp: str | None) -> str:
    """Return how long ago an ISO 8601 time was."""
    moment = seconds_of(stamp)
    if moment is None:
        return "-"
    return f"{duration(max(time.time() - moment, 0))} ago"


def seconds_of(stamp: str | None) -> float | None:
    """Return an ISO 8601 time as seconds since 1970; None if it is none."""
    from datetime import UTC, datetime

    try:
        moment = datetime.fromisoformat(stamp or "")
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def short_path(path: str) -> str:
    """Return a path with `~` for the home folder."""
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if path == home or path.startswith(home + "/") else path


def facts(rows: Iterable[tuple[str, str]]) -> None:
    """Print names and values in two columns; an empty name goes on below the last."""
    every = list(rows)
    width = max((len(name) for name, _ in every), default=0)
    for name, value in every:
        print(f"  {paint(name.ljust(width), 'dim')}  {value}".rstrip())


def table(heads: Sequence[str], rows: Sequence[Sequence[Any]], right: frozenset[str]) -> None:
    """Print a table that fits the terminal; columns named in `right` are numbers."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(
        highlight=False,
        no_color=not is_colored(),
        width=None if sys.stdout.isatty() else _wide_enough(heads, rows),
    )
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), show_edge=False)
    for head in heads:
        justify: Any = "right" if head in right else "left"
        shown.add_column(head, justify=justify, overflow="ellipsis", no_wrap=True)
    for row in rows:
        shown.add_row(*(_plain(cell) for cell in row))
    console.print(shown)


def _wide_enough(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> int:
    """Return a width that cuts nothing: what reads a pipe is no terminal."""
    widths = [max(len(str(cell)) for cell in column) for column in zip(heads, *rows, strict=True)]
    return max(80, sum(widths) + 3 * len(widths))


def _plain(cell: object) -> Any:
    from rich.text import Text

    return Text(str(cell))


def harmless(text: str) -> str:
    """Return a text without the control characters that would command the terminal or turn its words.

    What languages and emoji need stays: wide and narrow spaces, and the joiners between characters.
    """
    if text.isprintable():
        return text
    return _COMMANDING.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))
