"""Chunks that wait for an extractor: taken one by one, each completed in a transaction of its own.

A chunk that has changed or gone while it was extracted is left as it is: what was found is not of it.
"""

import sqlite3
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

import msgspec

from retaind.memory.local import frames, passages
from retaind.memory.local.frames import Place
from retaind.memory.port import RetainResult

_WAITING: Final = (
    "SELECT c.document_id, c.start, c.hash, d.name, d.context, d.chars, s.session_id,"
    " (SELECT min(f.start) FROM local_chunk f WHERE f.document_id = c.document_id AND f.start > c.start)"
    " AS next FROM local_chunk c JOIN local_document d ON d.id = c.document_id"
    " JOIN local_source s ON s.id = d.source_id"
    " WHERE c.pending = 1 AND d.state <> 'building'"
    " AND (next IS NOT NULL OR d.state = 'closed' OR d.n IS NULL OR d.updated <= ?)"
    " ORDER BY c.document_id, c.start LIMIT ?"
)
Key = tuple[int, int, bytes]


class Waiting(NamedTuple):
    """A chunk to be extracted: where it is, what it is from, its context and its text."""

    document_id: int
    start: int
    hash: bytes
    name: str
    context: str
    session_id: str
    text: str

    @property
    def key(self) -> Key:
        """What tells it from other chunks, and from what may stand in its place later."""
        return self.document_id, self.start, self.hash


def waiting(
    connection: sqlite3.Connection, most: int, settled_by: float, leave_out: AbstractSet[Key]
) -> list[Waiting]:
    """Return some of the chunks that wait, oldest first.

    The last chunk of a session still grows, so it waits until its document was last changed before
    `settled_by`, in seconds since 1970.
    """
    rows = connection.execute(_WAITING, (settled_by, most + len(leave_out))).fetchall()
    found: list[Waiting] = []
    for document_id, start, hash_, name, context, chars, session_id, following in rows:
        if (document_id, start, hash_) in leave_out or len(found) == most:
            continue
        end = chars if following is None else following
        text = frames.read(connection, Place(document_id, start, end - start))
        found.append(Waiting(document_id, start, hash_, name, context, session_id, text))
    return found


def count(connection: sqlite3.Connection) -> int:
    """Return how many chunks wait."""
    row = connection.execute("SELECT count(*) FROM local_chunk WHERE pending = 1").fetchone()
    return int(row[0])


def complete(
    connection: sqlite3.Connection,
    chunk: Waiting,
    facts: Sequence[str],
    result: RetainResult,
    now: float,
) -> bool:
    """Store what was found in a chunk, none perhaps; False when another chunk stands there by now.

    The result, with what the model has used, is stored in either case.
    """
    still_there = connection.execute(
        "UPDATE local_chunk SET pending = 0"
        " WHERE document_id = ? AND start = ? AND hash = ? AND pending = 1",
        chunk.key,
    ).rowcount
    if still_there:
        passages.delete_facts(connection, chunk.document_id, chunk.start, chunk.start + 1)
        passages.insert_facts(connection, chunk.document_id, chunk.start, len(chunk.text), facts)
    connection.execute(
        "INSERT INTO result (memory, created, body, hooked) VALUES (?, ?, ?, 0)",
        (result.memory, now, msgspec.json.encode(result).decode()),
    )
    return bool(still_there)
