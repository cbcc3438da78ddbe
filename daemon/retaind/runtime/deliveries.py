"""Deliveries as people and the configuration see them: counted, tried again, sent to another address."""

from collections.abc import Sequence
from typing import Any

import msgspec

from retaind.db import Connection
from retaind.runtime.outbox import Address, Head, operation_of, recount, unpacked


def set_aside(connection: Connection) -> list[dict[str, Any]]:
    """Return the facts of each document that a memory would not take, oldest first."""
    rows = connection.execute(
        "SELECT d.id, d.memory, s.public_id, s.session_id, d.start, d.end, d.document_id, d.bank, d.records,"
        " d.tokens, d.attempt, d.error FROM delivery d JOIN stream s ON s.id = d.stream_id"
        " WHERE d.state = 'set_aside' ORDER BY d.id"
    ).fetchall()
    names = ("document_id", "bank", "records", "tokens", "attempt", "error")
    return [
        {
            "delivery": row[0],
            "memory": row[1],
            "id": row[2],
            "session_id": row[3],
            "range": [row[4], row[5]],
            **dict(zip(names, row[6:], strict=True)),
        }
        for row in rows
    ]


def content(connection: Connection, delivery_id: int) -> str:
    """Return what a document says that is not completed."""
    (payload,) = connection.execute(
        "SELECT payload FROM delivery WHERE id = ?", (delivery_id,)
    ).fetchone()
    return str(msgspec.json.decode(unpacked(payload))["content"])


def retry(connection: Connection, to: Address, delivery_ids: Sequence[int]) -> int:
    """Plan rows that were set aside anew, each under another operation id; returns how many there were."""
    done = 0
    for delivery_id in delivery_ids:
        row = connection.execute(
            "SELECT generation_id, records, bank, attempt FROM delivery"
            " WHERE id = ? AND memory = ? AND state = 'set_aside'",
            (delivery_id, to.memory),
        ).fetchone()
        if row is None:
            continue
        generation_id, records, bank, attempt = row
        connection.execute(
            "UPDATE delivery SET state = 'planned', url = ?, attempt = ?, operation_id = ?, error = NULL,"
            " settled = NULL WHERE id = ?",
            (
                to.url, attempt + 1,
                operation_of(connection, to.url, bank, delivery_id, attempt + 1), delivery_id,
            ),
        )  # fmt: skip
        recount(connection, to.memory, generation_id, records, "set_aside", "pending")
        done += 1
    return done


def set_aside_rows(
    connection: Connection, memory: str, delivery_ids: Sequence[int]
) -> list[tuple[int, Head]]:
    """Return (stream, head) of rows that were set aside: of those named, or of all."""
    rows = connection.execute(
        "SELECT stream_id, generation_id, start, id FROM delivery"
        " WHERE memory = ? AND state = 'set_aside' ORDER BY id",
        (memory,),
    ).fetchall()
    wanted = set(delivery_ids)
    return [(row[0], Head(*row[1:])) for row in rows if not wanted or row[3] in wanted]


def drop_set_aside(connection: Connection, memory: str, stream_id: int) -> None:
    """Let go of a session's rows that were not taken: the session is planned anew, and they with it."""
    connection.execute(
        "DELETE FROM delivery WHERE memory = ? AND stream_id = ? AND state = 'set_aside'",
        (memory, stream_id),
    )


def counts(connection: Connection, memory: str) -> dict[str, int]:
    """Return how many documents are in each state."""
    found = dict.fromkeys(("planned", "accepted", "completed", "set_aside"), 0)
    rows = connection.execute(
        "SELECT state, count(*) FROM delivery WHERE memory = ? GROUP BY state", (memory,)
    ).fetchall()
    return found | dict(rows)


def move_to(connection: Connection, to: Address) -> int:
    """Send what is unsettled to the server that is configured now; returns how many rows that changes.

    An old address answers no more, or is the same server by another name; either way the document's id
    keeps it from being there twice.
    """
    rows = connection.execute(
        "SELECT id, bank, attempt FROM delivery"
        " WHERE memory = ? AND state IN ('planned', 'accepted') AND url != ?",
        (to.memory, to.url),
    ).fetchall()
    for delivery_id, bank, attempt in rows:
        _readdress(connection, to, delivery_id, bank, attempt)
    return len(rows)


def rebank(connection: Connection, to: Address, stream_id: int, bank: str) -> None:
    """Give a session another bank, as long as the one that it had has never accepted a document."""
    connection.execute(
        "UPDATE session_pin SET bank = ? WHERE memory = ? AND stream_id = ?",
        (bank, to.memory, stream_id),
    )
    rows = connection.execute(
        "SELECT id, attempt FROM delivery WHERE memory = ? AND stream_id = ? AND bank != ?"
        " AND state IN ('planned', 'accepted', 'set_aside')",
        (to.memory, stream_id, bank),
    ).fetchall()
    for delivery_id, attempt in rows:
        _readdress(connection, to, delivery_id, bank, attempt)


def _readdress(
    connection: Connection, to: Address, delivery_id: int, bank: str, attempt: int
) -> None:
    connection.execute(
        "UPDATE delivery SET url = ?, bank = ?, operation_id = ?,"
        " state = CASE state WHEN 'accepted' THEN 'planned' ELSE state END WHERE id = ?",
        (to.url, bank, operation_of(connection, to.url, bank, delivery_id, attempt), delivery_id),
    )
