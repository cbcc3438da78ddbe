"""Cursors: how far each memory has planned each generation, and which records it owns there."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from retaind.core.plan import Counts
from retaind.db import Connection

_MASK: Final = (1 << 63) - 1
_UNNAMED: Final = "local"
"""The memory whose name `record_owner` leaves out; it has by far the most rows."""


class Cursor(NamedTuple):
    """One row of `cursor`; `dropped` and `redacted` are JSON objects of counts.

    `lossy` counts the records of the conversation in which bytes that are no text became U+FFFD.
    """

    offset: int = 0
    carry: bytes = b""
    records: int = 0
    retained: int = 0
    pending: int = 0
    set_aside: int = 0
    dropped: str = "{}"
    redacted: str = "{}"
    messages: int = 0
    turns: int = 0
    lossy: int = 0

    def moved(
        self,
        offset: int,
        carry: bytes,
        counts: Counts,
        redacted: Mapping[str, int],
        lossy: int = 0,
        *,
        completed: bool = True,
    ) -> "Cursor":
        """Return the cursor after a plan whose documents are completed, or on their way to the memory."""
        return self._replace(
            offset=offset,
            carry=carry,
            records=self.records + counts.records,
            retained=self.retained + (counts.planned if completed else 0),
            pending=self.pending + (0 if completed else counts.planned),
            dropped=_summed(self.dropped, counts.dropped),
            redacted=_summed(self.redacted, redacted),
            messages=self.messages + counts.messages,
            turns=self.turns + counts.turns,
            lossy=self.lossy + lossy,
        )


def _summed(stored: str, more: Mapping[str, int]) -> str:
    counts: dict[str, int] = json.loads(stored)
    for name, count in more.items():
        counts[name] = counts.get(name, 0) + count
    return json.dumps({name: count for name, count in counts.items() if count})


class Behind(NamedTuple):
    """A generation that has bytes to plan; `last_activity` is its stream's, in seconds since 1970."""

    stream_id: int
    generation_id: int
    n: int
    offset: int
    captured: int
    closed: str | None
    last_activity: float


def behind(connection: Connection, memory: str, stream_id: int | None = None) -> list[Behind]:
    """Return all generations that have bytes to plan, or those of one stream, in order."""
    rows = connection.execute(
        "SELECT g.stream_id, g.id, g.n, coalesce(c.offset, 0), g.captured, g.closed, s.last_activity"
        " FROM generation g"
        " JOIN stream s ON s.id = g.stream_id"
        " LEFT JOIN cursor c ON c.generation_id = g.id AND c.memory = ?1"
        " WHERE g.captured > coalesce(c.offset, 0) AND s.kind NOT IN ('attachment', 'manual')"
        " AND (?2 IS NULL OR s.id = ?2) ORDER BY g.stream_id, g.n",
        (memory, stream_id),
    ).fetchall()
    return [Behind._make(row) for row in rows]


def load(connection: Connection, memory: str, generation_id: int) -> Cursor:
    """Return a memory's cursor in a generation; one that has not begun stands at 0."""
    row = connection.execute(
        "SELECT offset, carry, records, retained, pending, set_aside, dropped, redacted, messages, turns,"
        " lossy FROM cursor WHERE memory = ? AND generation_id = ?",
        (memory, generation_id),
    ).fetchone()
    return Cursor(*row) if row else Cursor()


def store(
    connection: Connection,
    memory: str,
    generation_id: int,
    cursor: Cursor,
    policy_hash: str,
    parser_version: int,
) -> None:
    """Write a cursor, with the policy and parser that it ran under.

    One that has moved before keeps those that it began under: until it is rebuilt, a part of what it
    retained is theirs.
    """
    connection.execute(
        "INSERT INTO cursor (memory, generation_id, offset, carry, records, retained, pending,"
        " set_aside, dropped, redacted, messages, turns, lossy, policy_hash, parser_version)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (memory, generation_id) DO UPDATE SET (offset, carry, records, retained, pending,"
        " set_aside, dropped, redacted, messages, turns, lossy) = (excluded.offset, excluded.carry,"
        " excluded.records, excluded.retained, excluded.pending, excluded.set_aside, excluded.dropped,"
        " excluded.redacted, excluded.messages, excluded.turns, excluded.lossy)",
        (memory, generation_id, *cursor, policy_hash, parser_version),
    )


def stale(
    connection: Connection, memory: str, policy_hash: str, parsers: Mapping[str, int]
) -> list[int]:
    """Return the streams of which something was retained under another policy, or by another parser.

    `parsers` gives today's parser version of each host. Streams come in the order in which they began.
    """
    rows = connection.execute(
        "SELECT DISTINCT s.id FROM cursor c JOIN generation g ON g.id = c.generation_id"
        " JOIN stream s ON s.id = g.stream_id JOIN json_each(?3) p ON p.key = s.host"
        " WHERE c.memory = ?1 AND c.offset > 0 AND s.mode = 'full'"
        " AND (c.policy_hash != ?2 OR c.parser_version != p.value) ORDER BY s.id",
        (memory, policy_hash, json.dumps(dict(parsers))),
    )
    return [row[0] for row in rows.fetchall()]


def accounted(connection: Connection, memory: str, stream_id: int) -> tuple[int, int]:
    """Return how many records of a stream a memory accounts for, and how many of them it retained."""
    row: tuple[int, int] = connection.execute(
        "SELECT coalesce(sum(records), 0), coalesce(sum(retained), 0) FROM cursor"
        " WHERE memory = ? AND generation_id IN (SELECT id FROM generation WHERE stream_id = ?)",
        (memory, stream_id),
    ).fetchone()
    return row


def begin_anew(connection: Connection, memory: str, stream_id: int) -> None:
    """Have a memory begin a stream anew, and own none of its records until it comes to them again."""
    for table in ("cursor", "record_owner"):
        connection.execute(
            f"DELETE FROM {table} WHERE coalesce(memory, ?1) = ?2"  # noqa: S608 - our own words
            " AND generation_id IN (SELECT id FROM generation WHERE stream_id = ?3)",
            (_UNNAMED, memory, stream_id),
        )


def owned(connection: Connection, generation_ids: Sequence[int]) -> set[int]:
    """Return the keys of the records that any memory owns through these generations."""
    rows = connection.execute(
        "SELECT key, memory FROM record_owner WHERE generation_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(generation_ids)),),
    )
    return {key ^ _salt(memory or _UNNAMED) for key, memory in rows.fetchall()}


def owners(connection: Connection, memory: str, keys: Sequence[int]) -> dict[int, int]:
    """Return which of these records the memory owns already, and through which generation each."""
    if not keys:
        return {}
    salt = _salt(memory)
    salted = json.dumps([key ^ salt for key in keys])
    rows = connection.execute(
        "SELECT key, generation_id FROM record_owner WHERE key IN (SELECT value FROM json_each(?))",
        (salted,),
    ).fetchall()
    return {key ^ salt: generation_id for key, generation_id in rows}


def own(connection: Connection, memory: str, keys: Sequence[int], generation_id: int) -> None:
    """Record that the memory owns these records through a generation."""
    salt = _salt(memory)
    name = None if memory == _UNNAMED else memory
    connection.executemany(
        "INSERT OR IGNORE INTO record_owner (key, generation_id, memory) VALUES (?, ?, ?)",
        [(key ^ salt, generation_id, name) for key in keys],
    )


def pin_cwd(connection: Connection, stream_id: int, cwd: str, project: str | None) -> None:
    """Record a session's first cwd, and the project that it belongs to, once for all."""
    connection.execute(
        "UPDATE stream SET cwd = ?, project = coalesce(project, ?) WHERE id = ? AND cwd IS NULL",
        (cwd, project, stream_id),
    )


def _salt(memory: str) -> int:
    return int.from_bytes(hashlib.sha256(memory.encode()).digest()[:8]) & _MASK
