"""Passages: what the full-text index holds, one a message, or a piece of one that is larger than a chunk."""

import json
import re
import sqlite3
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from retaind.core.words import index_text
from retaind.memory.local import frames
from retaind.memory.local.frames import Place, StoredChunk

FACT: Final = "fact"
"""The role of what an extractor found; nobody said it in these words."""

_OPENING: Final = "[role: "
_CLOSING: Final = ":end]"
_JSON_PIECE: Final = re.compile(r'\\u[0-9a-fA-F]{4}|\\[nrt"/\\bf]')
_JSON_KEYS_SKIPPED: Final = frozenset({"role", "type", "timestamp", "uuid", "id", "tool_use_id"})
_JSON_DEPTH: Final = 30


class Said(NamedTuple):
    """One message in a document's text: characters `start` to `end`, with its markers."""

    start: int
    end: int
    role: str | None
    turn: int
    time: int | None


class Passage(NamedTuple):
    """A row to be: a message, or the piece of it inside one chunk."""

    start: int
    chars: int
    role: str | None
    turn: int
    time: int | None

    @property
    def end(self) -> int:
        """Where it ends in the document."""
        return self.start + self.chars


def cut(said: Iterable[Said], ends: Sequence[int]) -> list[Passage]:
    """Return the messages, each cut where a chunk ends inside it. Both ascend."""
    found: list[Passage] = []
    at = 0
    for start, end, role, turn, time in said:
        while at < len(ends) and ends[at] <= start:
            at += 1
        while at < len(ends) and ends[at] < end:
            found.append(Passage(start, ends[at] - start, role, turn, time))
            start = ends[at]  # noqa: PLW2901 (the rest of the message)
            at += 1
        if end > start:
            found.append(Passage(start, end - start, role, turn, time))
    return found


def within(rows: Sequence[Passage], start: int, end: int) -> Sequence[Passage]:
    """Return those, of ascending ones, that begin in a range."""
    first = bisect_left(rows, start, key=_start)
    return rows[first : bisect_left(rows, end, lo=first, key=_start)]


def plain(raw: str) -> str:
    """Return what was said in a passage, without what its form wraps around it."""
    if raw.startswith(("{", ",{")):
        return _from_json(raw)
    start, end = 0, len(raw)
    if raw.startswith(_OPENING) and (line := raw.find("]\n")) > 0:
        start = line + 2
    if raw.endswith(_CLOSING) and (line := raw.rfind("\n[")) >= 0:
        end = max(line, start)
    return raw[start:end].strip()


def insert(
    connection: sqlite3.Connection,
    document_id: int,
    passages: Iterable[Passage],
    text: str,
    base: int,
) -> None:
    """Index the passages; `text` is the document's text from `base` on."""
    next_id = _next_id(connection)
    rows = []
    indexed = []
    for start, chars, role, turn, time in passages:
        said = plain(text[start - base : start - base + chars])
        if said:
            rows.append((next_id, document_id, start, chars, role, turn, time, None))
            indexed.append((next_id, *index_text(said)))
            next_id += 1
    _insert(connection, rows, indexed)


def insert_facts(
    connection: sqlite3.Connection, document_id: int, start: int, chars: int, facts: Sequence[str]
) -> None:
    """Index what was found in the chunk at `start`; turn and time are those of its first message."""
    first = connection.execute(
        "SELECT turn, time FROM local_passage WHERE document_id = ? AND start >= ? AND fact IS NULL"
        " ORDER BY start LIMIT 1",
        (document_id, start),
    ).fetchone() or (0, None)
    next_id = _next_id(connection)
    rows = [
        (next_id + at, document_id, start, chars, FACT, *first, fact)
        for at, fact in enumerate(facts)
    ]
    _insert(connection, rows, [(next_id + at, *index_text(one)) for at, one in enumerate(facts)])


def delete_facts(connection: sqlite3.Connection, document_id: int, start: int, end: int) -> None:
    """Take what was found in the chunks that begin in a range out of the index."""
    rows = connection.execute(
        "SELECT id, fact FROM local_passage"
        " WHERE document_id = ? AND start >= ? AND start < ? AND fact IS NOT NULL",
        (document_id, start, end),
    ).fetchall()
    if rows:
        _take_out(connection, rows)


def move_facts(
    connection: sqlite3.Connection, chunk: StoredChunk, document_id: int, start: int
) -> None:
    """Hand what was found in a chunk over to where it begins at `start` now."""
    connection.execute(
        "UPDATE local_passage SET document_id = ?, start = ?"
        " WHERE document_id = ? AND start = ? AND fact IS NOT NULL",
        (document_id, start, chunk.document_id, chunk.start),
    )


def _next_id(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'local_passage'")
    return int((row.fetchone() or (0,))[0]) + 1


def _insert(
    connection: sqlite3.Connection,
    rows: Sequence[tuple[object, ...]],
    indexed: Sequence[tuple[int, str, str]],
) -> None:
    connection.executemany(
        "INSERT INTO local_passage (id, document_id, start, chars, role, turn, time, fact)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        rows,
    )
    connection.executemany("INSERT INTO local_index (rowid, text, extra) VALUES (?, ?, ?)", indexed)


def move(
    connection: sqlite3.Connection,
    chunk: StoredChunk,
    document_id: int,
    start: int,
    wanted: Sequence[Passage],
) -> bool:
    """Hand a chunk's passages over to where it begins at `start`; False if they are cut otherwise there."""
    stored = in_range(connection, chunk.document_id, chunk.start, chunk.end)
    shift = start - chunk.start
    if [(one.start + shift, one.chars) for _, one in stored] != [one[:2] for one in wanted]:
        return False
    connection.executemany(
        "UPDATE local_passage SET document_id = ?, start = ?, role = ?, turn = ?, time = ?"
        " WHERE id = ?",
        [
            (document_id, one.start, one.role, one.turn, one.time, id_)
            for (id_, _), one in zip(stored, wanted, strict=True)
        ],
    )
    return True


def exchange(
    connection: sqlite3.Connection,
    document_id: int,
    start: int,
    end: int,
    wanted: Sequence[Passage],
) -> list[Passage]:
    """Take out the passages of a range that are not wanted; returns those wanted that are missing."""
    stored = in_range(connection, document_id, start, end)
    places = {one[:2] for one in wanted}
    _delete(connection, document_id, [row for row in stored if row[1][:2] not in places])
    there = {one[:2] for _, one in stored}
    return [one for one in wanted if one[:2] not in there]


def delete(connection: sqlite3.Connection, document_id: int, start: int, end: int) -> None:
    """Take the passages that begin in a range of a document out of the index, while its text is there."""
    _delete(connection, document_id, in_range(connection, document_id, start, end))


def _delete(
    connection: sqlite3.Connection, document_id: int, rows: Sequence[tuple[int, Passage]]
) -> None:
    reader = frames.Reader(connection)
    _take_out(
        connection,
        [(id_, plain(reader.text(Place(document_id, one.start, one.chars)))) for id_, one in rows],
    )


def _take_out(connection: sqlite3.Connection, rows: Sequence[tuple[int, str]]) -> None:
    """Delete rows from table and index; the index must be told each text once more."""
    connection.executemany(
        "INSERT INTO local_index (local_index, rowid, text, extra) VALUES ('delete', ?, ?, ?)",
        [(id_, *index_text(text)) for id_, text in rows],
    )
    connection.executemany("DELETE FROM local_passage WHERE id = ?", [(id_,) for id_, _ in rows])


def in_range(
    connection: sqlite3.Connection, document_id: int, start: int, end: int
) -> list[tuple[int, Passage]]:
    """Return the ids and passages that begin in a range of a document, in order."""
    rows = connection.execute(
        "SELECT id, start, chars, role, turn, time FROM local_passage"
        " WHERE document_id = ? AND start >= ? AND start < ? AND fact IS NULL ORDER BY start",
        (document_id, start, end),
    )
    return [(row[0], Passage(*row[1:])) for row in rows.fetchall()]


def _start(passage: Passage) -> int:
    return passage.start


def _from_json(raw: str) -> str:
    try:
        value = json.loads(raw.strip(" \r\n\t,]"))
    except (ValueError, RecursionError):
        return _JSON_PIECE.sub(_unescaped, raw).strip()
    return "\n".join(_strings(value, _JSON_DEPTH)).strip()


def _strings(value: Any, depth: int) -> Iterator[str]:
    """Yield the strings of a JSON value that someone said, in order."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, list):
        for one in value:
            yield from _strings(one, depth - 1)
    elif depth and isinstance(value, dict):
        for key, one in value.items():
            if key not in _JSON_KEYS_SKIPPED:
                yield from _strings(one, depth - 1)


def _unescaped(escape: re.Match[str]) -> str:
    try:
        return str(json.loads(f'"{escape[0]}"'))
    except ValueError:
        return " "
