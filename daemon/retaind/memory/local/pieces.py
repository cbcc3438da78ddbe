"""The chunks of documents as they are stored: where each begins, its hash, and whether it is extracted."""

import sqlite3
from collections.abc import Sequence

from retaind.memory.local import passages
from retaind.memory.local.documents import Document, Limits
from retaind.memory.local.frames import StoredChunk


def chunks_of(connection: sqlite3.Connection, document_id: int) -> list[tuple[int, bytes]]:
    """Return start and hash of each chunk of a document, in order."""
    return connection.execute(
        "SELECT start, hash FROM local_chunk WHERE document_id = ? ORDER BY start", (document_id,)
    ).fetchall()


def stored_chunks(connection: sqlite3.Connection, document: Document) -> list[StoredChunk]:
    """Return the chunks of a document with their ends, in order. Chunks that moved away leave gaps."""
    rows = chunks_of(connection, document.id)
    ends = [start for start, _ in rows[1:]] + [document.chars]
    return [
        StoredChunk(document.id, start, end, hash_)
        for (start, hash_), end in zip(rows, ends, strict=True)
    ]


def put_chunks(
    connection: sqlite3.Connection,
    document_id: int,
    chunks: Sequence[tuple[int, bytes]],
    limits: Limits,
) -> None:
    """Write the start and hash of chunks, in order.

    One that begins at the same place is replaced; if it is another one, what was found in it goes.
    """
    if not chunks:
        return
    known = dict(
        connection.execute(
            "SELECT start, hash FROM local_chunk WHERE document_id = ? AND start BETWEEN ? AND ?",
            (document_id, chunks[0][0], chunks[-1][0]),
        ).fetchall()
    )
    for start, hash_ in chunks:
        if known.get(start, hash_) != hash_:
            passages.delete_facts(connection, document_id, start, start + 1)
    pending = limits.is_extracted_later
    connection.executemany(
        "INSERT INTO local_chunk (document_id, start, hash, pending) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (document_id, start) DO UPDATE SET (hash, pending) ="
        " (excluded.hash, excluded.pending) WHERE hash <> excluded.hash",
        [(document_id, start, hash_, pending) for start, hash_ in chunks],
    )


def move_chunk(
    connection: sqlite3.Connection, chunk: StoredChunk, document_id: int, start: int
) -> None:
    """Let a chunk stand in another document, with what was found in it, or is still to be."""
    connection.execute(
        "INSERT OR REPLACE INTO local_chunk (document_id, start, hash, pending)"
        " SELECT ?, ?, hash, pending FROM local_chunk WHERE document_id = ? AND start = ?",
        (document_id, start, chunk.document_id, chunk.start),
    )
    passages.move_facts(connection, chunk, document_id, start)
    drop_chunk(connection, chunk)


def drop_chunk(connection: sqlite3.Connection, chunk: StoredChunk) -> None:
    """Forget a chunk that has moved away; the text stays until its document goes."""
    connection.execute(
        "DELETE FROM local_chunk WHERE document_id = ? AND start = ?",
        (chunk.document_id, chunk.start),
    )
