"""The text of documents, in frames: pieces in order and without a gap, most of them compressed.

An addition never touches what is there, except that small pieces are merged once they make a frame.
Places are in characters.
"""

import sqlite3
from typing import Final, NamedTuple

import zstandard

_LEVEL: Final = 3
_PLAIN_CHARS: Final = 4096
"""As much may stand uncompressed at the end of a document; a smaller frame would gain little."""


class Place(NamedTuple):
    """A piece of a document's text."""

    document_id: int
    start: int
    chars: int


class StoredChunk(NamedTuple):
    """A chunk as it lies in a document."""

    document_id: int
    start: int
    end: int
    hash: bytes


def append(connection: sqlite3.Connection, document_id: int, start: int, text: str) -> None:
    """Store the text that begins at `start`, which is the end of what is stored."""
    if not text:
        return
    plain = connection.execute(
        "SELECT start, data FROM local_frame WHERE document_id = ? AND start >= ? AND packed = 0"
        " ORDER BY start",
        (document_id, start - _PLAIN_CHARS),
    ).fetchall()
    if start + len(text) - (plain[0][0] if plain else start) < _PLAIN_CHARS:
        _insert(connection, document_id, start, text, packed=False)
        return
    if plain:
        first = plain[0][0]
        connection.execute(
            "DELETE FROM local_frame WHERE document_id = ? AND start >= ? AND packed = 0",
            (document_id, first),
        )
        text = "".join(data.decode() for _, data in plain) + text
        start = first
    _insert(connection, document_id, start, text, packed=True)


def merge(connection: sqlite3.Connection, document_id: int) -> None:
    """Make one frame of a document that will not change any more."""
    frames = connection.execute(
        "SELECT packed, data FROM local_frame WHERE document_id = ? ORDER BY start", (document_id,)
    ).fetchall()
    if [packed for packed, _ in frames] in ([], [1]):
        return
    text = "".join(_text(packed, data) for packed, data in frames)
    connection.execute("DELETE FROM local_frame WHERE document_id = ?", (document_id,))
    _insert(connection, document_id, 0, text, packed=True)


def read(connection: sqlite3.Connection, place: Place) -> str:
    """Return the text at a place."""
    return Reader(connection).text(place)


class Reader:
    """Reads many places; what was unpacked for one serves the next."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._read: dict[int, list[tuple[int, str]]] = {}

    def text(self, place: Place) -> str:
        """Return the text at a place."""
        document_id, start, chars = place
        known = self._read.setdefault(document_id, [])
        for base, text in known:
            if base <= start and start + chars <= base + len(text):
                return text[start - base : start - base + chars]
        found = _frames(self._connection, document_id, start, start + chars)
        text = "".join(_text(packed, data) for _, packed, data in found)
        base = found[0][0] if found else start
        known.append((base, text))
        return text[start - base : start - base + chars]


def _frames(
    connection: sqlite3.Connection, document_id: int, low: int, high: int
) -> list[tuple[int, int, bytes]]:
    """Return start, whether packed, and data of the frames that have a part of a range."""
    found: list[tuple[int, int, bytes]] = connection.execute(
        "SELECT start, packed, data FROM local_frame WHERE document_id = :document"
        " AND start >= coalesce((SELECT max(start) FROM local_frame"
        "   WHERE document_id = :document AND start <= :low), 0)"
        " AND start < :high ORDER BY start",
        {"document": document_id, "low": low, "high": high},
    ).fetchall()
    return found


def _insert(
    connection: sqlite3.Connection, document_id: int, start: int, text: str, *, packed: bool
) -> None:
    data = text.encode()
    if packed:
        data = zstandard.ZstdCompressor(level=_LEVEL).compress(data)
    connection.execute(
        "INSERT INTO local_frame (document_id, start, chars, packed, data) VALUES (?, ?, ?, ?, ?)",
        (document_id, start, len(text), packed, data),
    )


def _text(packed: int, data: bytes) -> str:
    return (zstandard.ZstdDecompressor().decompress(data) if packed else data).decode()
