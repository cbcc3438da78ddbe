"""Cursors: how far each memory has planned each generation, and which records it owns there."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from retaind.core.plan import Counts
from retaind.db import Connection

_MASK: Final = (1 << 63) - 1


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
    """Write a cursor, with the policy and parser that it ran under."""
    connection.execute(
        "INSERT OR REPLACE INTO cursor (memory, generation_id, offset, carry, records, retained, pending,"
        " set_aside, dropped, redacted, messages, turns, lossy, policy_hash, parser_version)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (memory, generation_id, *cursor, policy_hash, parser_version),
    )


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
    connection.executemany(
        "INSERT OR IGNORE INTO record_owner (key, generation_id) VALUES (?, ?)",
        [(key ^ salt, generation_id) for key in keys],
    )


def disown(connection: Connection, memory: str, keys: Sequence[int], generation_id: int) -> None:
    """Record that the memory does not own these records through a generation any more."""
    salt = _salt(memory)
    connection.executemany(
        "DELETE FROM record_owner WHERE key = ? AND generation_id = ?",
        [(key ^ salt, generation_id) for key in keys],
    )


def forget(connection: Connection, memory: str, generation_id: int) -> None:
    """Have a memory begin a generation anew."""
    connection.execute(
        "DELETE FROM cursor WHERE memory = ? AND generation_id = ?", (memory, generation_id)
    )


def pin_cwd(connection: Connection, stream_id: int, cwd: str, project: str | None) -> None:
    """Record a session's first cwd, and the project that it belongs to, once for all."""
    connection.execute(
        "UPDATE stream SET cwd = ?, project = coalesce(project, ?) WHERE id = ? AND cwd IS NULL",
        (cwd, project, stream_id),
    )


def _salt(memory: str) -> int:
    return int.from_bytes(hashlib.sha256(memory.encode()).digest()[:8]) & _MASK
