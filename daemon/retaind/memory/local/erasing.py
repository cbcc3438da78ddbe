"""What the memory holds of a stream, and erasing it."""

import sqlite3
from collections.abc import Iterable, Sequence

from retaind.memory.local import documents


def erase(connection: sqlite3.Connection, stream: str) -> int:
    """Erase everything of a stream, by its opaque id; returns how many documents there were.

    `optimize` afterwards takes the words out of the index's own files, and freed pages are the
    database's to give back.
    """
    row = connection.execute("SELECT id FROM local_source WHERE stream = ?", (stream,)).fetchone()
    if row is None:
        return 0
    held = documents.of_source(connection, row[0])
    for document in held:
        documents.erase(connection, document)
    connection.execute("DELETE FROM local_source WHERE id = ?", (row[0],))
    return len(held)


def erase_documents(connection: sqlite3.Connection, names: Iterable[str]) -> int:
    """Erase documents by their ids; returns how many were there."""
    erased = 0
    for name in names:
        for document in documents.by_name(connection, name):
            documents.erase(connection, document)
            erased += 1
    return erased


def optimize(connection: sqlite3.Connection) -> None:
    """Write the index anew without what was taken out of it. Takes time by the size of the index."""
    connection.execute("INSERT INTO local_index (local_index) VALUES ('optimize')")


def coverage(connection: sqlite3.Connection, session: str) -> tuple[tuple[int, int], ...]:
    """Return the merged byte ranges held of the newest generation of a session, by its id or its stream's."""
    rows: Sequence[tuple[int, int]] = connection.execute(
        "WITH held AS (SELECT d.id, d.generation FROM local_document d"
        " JOIN local_source s ON s.id = d.source_id WHERE s.session_id = ?1 OR s.stream = ?1)"
        " SELECT start, end FROM local_span JOIN held ON held.id = document_id"
        " WHERE generation = (SELECT max(generation) FROM held) ORDER BY start, end",
        (session,),
    ).fetchall()
    merged: list[tuple[int, int]] = []
    for start, end in rows:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return tuple(merged)


def sizes(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return how many documents and chunks there are."""
    row = connection.execute(
        "SELECT count(*), coalesce(sum(chunks), 0) FROM local_document"
    ).fetchone()
    return int(row[0]), int(row[1])
