"""Documents that leave: while a session is rebuilt, the old ones stay until the new ones hold their bytes.

So a search finds a session throughout, whatever its size and whenever the process dies.
"""

import sqlite3
from typing import Final

from retaind.memory.local import documents

_LEAVING: Final = "SELECT d.id FROM local_document d WHERE d.source_id = :source AND d.n <= :upto"
_DONE_WITH: Final = (
    " AND (d.generation < :generation OR (d.generation = :generation AND NOT EXISTS ("
    "SELECT 1 FROM local_span s WHERE s.document_id = d.id AND s.end > :offset)))"
)


def begin(connection: sqlite3.Connection, stream: str) -> None:
    """Say that all documents of a session's chain are to leave; what is retained now begins a new one."""
    row = connection.execute("SELECT id FROM local_source WHERE stream = ?", (stream,)).fetchone()
    last = documents.last_of_chain(connection, row[0]) if row else None
    if last is None:
        return
    documents.close(connection, last)
    connection.execute(
        "UPDATE local_source SET leaving_upto = ? WHERE id = ?", (last.n, last.source_id)
    )


def pass_by(connection: sqlite3.Connection, stream: str, generation: int, offset: int) -> None:
    """Let those leave whose bytes all lie before an offset of a generation, or in an earlier one."""
    _leave(connection, stream, _DONE_WITH, {"generation": generation, "offset": offset})


def finish(connection: sqlite3.Connection, stream: str) -> None:
    """Let the last ones leave: the session is whole again."""
    _leave(connection, stream, "", {})
    connection.execute("UPDATE local_source SET leaving_upto = NULL WHERE stream = ?", (stream,))


def unfinished(connection: sqlite3.Connection) -> list[str]:
    """Return the streams whose documents are still to leave."""
    rows = connection.execute("SELECT stream FROM local_source WHERE leaving_upto IS NOT NULL")
    return [row[0] for row in rows.fetchall()]


def _leave(
    connection: sqlite3.Connection, stream: str, condition: str, values: dict[str, int]
) -> None:
    row = connection.execute(
        "SELECT id, leaving_upto FROM local_source WHERE stream = ? AND leaving_upto IS NOT NULL",
        (stream,),
    ).fetchone()
    if row is None:
        return
    ids = connection.execute(
        _LEAVING + condition,
        {"source": row[0], "upto": row[1], **values},
    ).fetchall()
    gone = {one[0] for one in ids}
    for document in documents.of_source(connection, row[0]):
        if document.id in gone:
            documents.erase(connection, document)
