"""Where a query's words are in a text, as the index itself sees it: stems, phrases, prefixes, diacritics."""

import re
import sqlite3
from collections.abc import Sequence
from typing import Final, Self

from retaind.core.words import spaced, unspaced

OPEN: Final = "\x02"
CLOSE: Final = "\x03"
_WIDTH: Final = 240
_LEAD: Final = 60
_WHITE: Final = re.compile(r"\s+")
_TABLE: Final = (
    "CREATE VIRTUAL TABLE seen USING fts5("
    "text, tokenize = 'porter unicode61 remove_diacritics 2', detail = 'full')"
)


class Marker:
    """A few texts in an index of their own, in memory. Close it, or use it as a context."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [one.replace(OPEN, " ").replace(CLOSE, " ") for one in texts]
        self._connection = sqlite3.connect(":memory:", isolation_level=None)
        self._connection.execute(_TABLE)
        # A text stands there twice: as it is, and split as the index's extra words are.
        rows = [(2 * at, text) for at, text in enumerate(self._texts)]
        split = ((2 * at + 1, text, spaced(text)) for at, text in enumerate(self._texts))
        rows += [(rowid, after) for rowid, before, after in split if after != before]
        self._connection.execute("BEGIN")
        self._connection.executemany("INSERT INTO seen (rowid, text) VALUES (?, ?)", rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def marked(self, match: str) -> list[str]:
        """Return the texts with `OPEN` and `CLOSE` around what the expression finds in them."""
        marked = list(self._texts)
        rows = self._connection.execute(
            "SELECT rowid, highlight(seen, 0, ?, ?) FROM seen WHERE seen MATCH ? ORDER BY rowid DESC",
            (OPEN, CLOSE, match),
        )
        # As it stands comes last and wins over split.
        for rowid, text in rows.fetchall():
            marked[rowid // 2] = unspaced(text)
        return marked


def snippet(marked: str, marks: tuple[str, str], width: int = _WIDTH) -> str:
    """Cut a marked text down to one line around its first mark."""
    line = _WHITE.sub(" ", marked).strip()
    at = max(line.find(OPEN), 0)
    start = 0
    if at > _LEAD and len(line) > width:
        start = line.rfind(" ", 0, at - _LEAD // 2) + 1
        if start < at - 2 * _LEAD:
            start = at - _LEAD
    part = line[start : start + width]
    if start + width < len(line):
        cut = part.rfind(" ")
        part = part[:cut] if cut > width // 2 else part
    open_, close = marks
    opened = part.count(OPEN) - part.count(CLOSE)
    head = "…" if start else ""
    tail = "…" if start + len(part) < len(line) else ""
    part = part.replace(OPEN, open_).replace(CLOSE, close) + close * max(opened, 0)
    return head + part + tail
