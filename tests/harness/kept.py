"""What a retaind database holds, read beside whoever writes it: exact bytes, and what was retained."""

import os
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from retaind.db import Connection, open_readonly
from retaind.memory.local import frames, search
from retaind.memory.local.frames import Place
from retaind.memory.port import Filters
from retaind.vault import streams

WORD = "said"
"""Stands in every record that the harness writes, in front of the record's number."""

_NUMBERED = re.compile(rf"\b{WORD} (\d+)\b")
_ALL = 1_000_000


@dataclass(frozen=True)
class Generation:
    """The exact bytes of one generation, and why it is closed; None while it is open."""

    data: bytes
    closed: str | None


@dataclass(frozen=True)
class Stream:
    """One stream: `name` is the file's at the last look, `said` are the records' numbers in its
    documents, in the documents' order."""

    name: str
    public_id: str
    session_id: str
    parent: str | None
    source_state: str
    generations: tuple[Generation, ...]
    said: tuple[int, ...]

    @property
    def data(self) -> bytes:
        """The bytes of the newest generation."""
        return self.generations[-1].data


def numbers(data: bytes | str) -> list[int]:
    """Return the numbers of the records in a text, in order."""
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    return [int(number) for number in _NUMBERED.findall(text)]


def kept_in(state: Path) -> dict[str, bytes]:
    """Return the newest bytes of each file in the vault of a state folder, by the file's name."""
    return {stream.name: stream.data for stream in streams_in(state / "retaind.db")}


def numbers_in(state: Path) -> list[int]:
    """Return the numbers of the records that a search finds, each as often as it is found."""
    return sorted(found_in(state / "retaind.db").elements())


def streams_in(database: Path) -> list[Stream]:
    """Return every stream, oldest first."""
    connection = open_readonly(database)
    try:
        return _streams(connection)
    finally:
        connection.close()


def found_in(database: Path, query: str = WORD) -> Counter[int]:
    """Return how often each record is found by a search for a word that stands in all of them."""
    connection = open_readonly(database)
    try:
        hits = search(connection, query, _ALL, Filters())
    finally:
        connection.close()
    return Counter(number for hit in hits for number in numbers(hit.text))


def _streams(connection: Connection) -> list[Stream]:
    connection.execute("BEGIN")
    rows = connection.execute(
        "SELECT s.id, s.path, s.public_id, s.session_id, p.public_id, s.source_state"
        " FROM stream s LEFT JOIN stream p ON p.id = s.parent_id ORDER BY s.id"
    ).fetchall()
    found = []
    for stream_id, path, public_id, session_id, parent, state in rows:
        name = os.path.basename(os.fsdecode(path))
        held = tuple(
            Generation(_bytes(connection, row_id, captured), closed)
            for row_id, _, captured, closed in streams.generations(connection, stream_id)
        )
        said = tuple(numbers(_documents(connection, public_id)))
        found.append(Stream(name, public_id, session_id, parent, state, held, said))
    connection.execute("ROLLBACK")
    return found


def _bytes(connection: Connection, generation_id: int, captured: int) -> bytes:
    """Return a generation's bytes; a gap or an overlap fails."""
    data = b""
    for at, piece in streams.read(connection, generation_id, 0, captured):
        assert at == len(data), (at, len(data))
        data += piece
    assert len(data) == captured, (len(data), captured)
    return data


def _documents(connection: Connection, public_id: str) -> str:
    rows = connection.execute(
        "SELECT d.id, d.chars FROM local_document d JOIN local_source s ON s.id = d.source_id"
        " WHERE s.stream = ? ORDER BY d.n",
        (public_id,),
    ).fetchall()
    return "\n".join(frames.read(connection, Place(row_id, 0, chars)) for row_id, chars in rows)
