"""Rebuilding a remote memory: sessions are retained anew, and what it had of them leaves afterwards.

A session begins anew in one transaction, which remembers how far it had been planned. From then on the
ordinary windows and deliveries run. Once all of that has been completed, the documents that are not among
the new ones are ordered to be erased. Whatever dies in between, the next process goes on.
"""

import json
from collections.abc import Mapping
from typing import NamedTuple

from retaind.core.plan import Counts
from retaind.db import Connection
from retaind.runtime import cursors, deliveries
from retaind.runtime.cursors import Cursor
from retaind.runtime.outbox import Address
from retaind.runtime.window import BEFORE_BACKFILL
from retaind.vault import streams


class Renewal(NamedTuple):
    """A session that is retained anew; deliveries with a larger id than `after` are of the renewal."""

    stream_id: int
    after: int
    upto: Mapping[int, int]


class Had(NamedTuple):
    """What a memory has of a generation: `offset` is how far it is planned, `start` what was passed over."""

    generation_id: int
    n: int
    offset: int
    start: int
    passed_over: int
    closed: bool


def had(connection: Connection, memory: str, stream_id: int) -> list[Had]:
    """Return what a memory has of a session, by generation."""
    rows = connection.execute(
        "SELECT g.id, g.n, c.offset, c.dropped, g.closed FROM cursor c"
        " JOIN generation g ON g.id = c.generation_id"
        " WHERE c.memory = ? AND g.stream_id = ? AND c.offset > 0 ORDER BY g.n",
        (memory, stream_id),
    ).fetchall()
    found = []
    for generation_id, n, offset, dropped, closed in rows:
        lines = json.loads(dropped).get(BEFORE_BACKFILL, 0)
        start = _behind_lines(connection, generation_id, lines) if lines else 0
        found.append(Had(generation_id, n, offset, start, lines, closed is not None))
    return found


def begin(connection: Connection, to: Address, stream_id: int, policy_hash: str) -> bool:
    """Begin a session anew; False, and nothing has happened, while something of it is under way.

    What was passed over as older than the memory stays passed over.
    """
    if _is_under_way(connection, to.memory, stream_id):
        return False
    generations = had(connection, to.memory, stream_id)
    after = connection.execute("SELECT coalesce(max(id), 0) FROM delivery").fetchone()[0]
    deliveries.drop_set_aside(connection, to.memory, stream_id)
    cursors.begin_anew(connection, to.memory, stream_id)
    for one in generations:
        if one.passed_over:
            counts = Counts(records=one.passed_over, dropped={BEFORE_BACKFILL: one.passed_over})
            moved = Cursor().moved(one.start, b"", counts, {})
            cursors.store(connection, to.memory, one.generation_id, moved, policy_hash, 0)
    upto = {one.generation_id: one.offset for one in generations}
    for before in under_way(connection, to.memory):  # one that has not ended reaches farther, maybe
        if before.stream_id == stream_id:
            upto |= {key: max(at, upto.get(key, 0)) for key, at in before.upto.items()}
    connection.execute(
        "INSERT OR REPLACE INTO renewal (memory, stream_id, after, upto) VALUES (?, ?, ?, ?)",
        (to.memory, stream_id, after, json.dumps(upto)),
    )
    return True


def under_way(connection: Connection, memory: str) -> list[Renewal]:
    """Return the sessions that are being retained anew."""
    rows = connection.execute(
        "SELECT stream_id, after, upto FROM renewal WHERE memory = ? ORDER BY stream_id", (memory,)
    ).fetchall()
    return [
        Renewal(stream_id, after, {int(key): offset for key, offset in json.loads(upto).items()})
        for stream_id, after, upto in rows
    ]


def leaving(connection: Connection, memory: str, stream_id: int) -> frozenset[str]:
    """Return documents that a renewal replaces, or is done with: they say nothing of what is retained."""
    rows = connection.execute(
        "SELECT d.document_id FROM renewal r JOIN delivery d ON d.memory = r.memory"
        " AND d.stream_id = r.stream_id AND d.id <= r.after WHERE r.memory = ?1 AND r.stream_id = ?2"
        " UNION SELECT document_id FROM remote_erasure WHERE memory = ?1",
        (memory, stream_id),
    )
    return frozenset(row[0] for row in rows.fetchall())


def settle(connection: Connection, memory: str, one: Renewal) -> bool:
    """End a renewal that has arrived, and order that what it replaces is erased; False if it has not.

    What the server would not take has arrived as far as it will: what was there of those bytes stays. All
    stays of a session of which nothing is to be retained any more.
    """
    mode = connection.execute("SELECT mode FROM stream WHERE id = ?", (one.stream_id,)).fetchone()
    if mode is not None and mode[0] == "full":
        if not _has_arrived(connection, memory, one):
            return False
        _replace(connection, memory, one)
    connection.execute(
        "DELETE FROM renewal WHERE memory = ? AND stream_id = ?", (memory, one.stream_id)
    )
    return True


def _has_arrived(connection: Connection, memory: str, one: Renewal) -> bool:
    offsets = {at: cursors.load(connection, memory, at).offset for at in one.upto}
    if any(offsets[at] < offset for at, offset in one.upto.items()):
        return False
    rows = connection.execute(
        "SELECT generation_id, start FROM delivery WHERE memory = ? AND stream_id = ? AND id > ?"
        " AND state IN ('planned', 'accepted')",
        (memory, one.stream_id, one.after),
    ).fetchall()
    return not any(start < one.upto.get(generation_id, 0) for generation_id, start in rows)


def _replace(connection: Connection, memory: str, one: Renewal) -> None:
    """Order the old documents' erasure, but for those that are new ones too, or stand in for what failed."""
    connection.execute(
        "CREATE TEMP TABLE replaced AS SELECT id, url, bank, document_id FROM delivery old"
        " WHERE memory = ?1 AND stream_id = ?2 AND id <= ?3 AND state = 'completed'"
        " AND NOT EXISTS (SELECT 1 FROM delivery aside WHERE aside.memory = ?1 AND aside.stream_id = ?2"
        "  AND aside.id > ?3 AND aside.state = 'set_aside' AND aside.generation_id = old.generation_id"
        "  AND aside.start < old.end AND aside.end > old.start)",
        (memory, one.stream_id, one.after),
    )
    connection.execute("DELETE FROM delivery WHERE id IN (SELECT id FROM replaced)")
    connection.execute(
        "INSERT INTO remote_erasure (memory, url, bank, document_id, operation_id, created)"
        " SELECT ?, url, bank, document_id, NULL, unixepoch() FROM replaced old"
        " WHERE NOT EXISTS (SELECT 1 FROM delivery kept WHERE kept.document_id = old.document_id"
        "  AND kept.memory = ? AND kept.bank = old.bank) GROUP BY url, bank, document_id",
        (memory, memory),
    )
    connection.execute("DROP TABLE replaced")


def _is_under_way(connection: Connection, memory: str, stream_id: int) -> bool:
    """Whether documents of a session are being delivered, or erased, which would meet the new ones."""
    row = connection.execute(
        "SELECT 1 FROM delivery WHERE memory = ?1 AND stream_id = ?2 AND state IN ('planned', 'accepted')"
        " UNION ALL SELECT 1 FROM remote_erasure e JOIN stream s ON s.id = ?2"
        "  AND substr(e.document_id, 1, length(s.session_id) + 1) = s.session_id || '@'"
        "  WHERE e.memory = ?1 LIMIT 1",
        (memory, stream_id),
    ).fetchone()
    return row is not None


def _behind_lines(connection: Connection, generation_id: int, lines: int) -> int:
    """Return the offset behind the first so many lines of a generation."""
    row = connection.execute("SELECT captured FROM generation WHERE id = ?", (generation_id,))
    captured = int(row.fetchone()[0])
    for at, piece in streams.read(connection, generation_id, 0, captured):
        found = piece.count(b"\n")
        if found < lines:
            lines -= found
            continue
        place = -1
        for _ in range(lines):
            place = piece.index(b"\n", place + 1)
        return at + place + 1
    return captured
