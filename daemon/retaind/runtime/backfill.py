"""Backfill: what sessions said before a memory was set up, measured first, and retained when asked for."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from retaind.core.messages import tokens
from retaind.core.plan import Carry, Counts, Limits, Window, plan
from retaind.core.policy import RetainPolicy
from retaind.core.records import Record
from retaind.core.redact import redact
from retaind.core.render import render
from retaind.db import Connection
from retaind.hosts.port import Host
from retaind.runtime import banks, cursors, deliveries
from retaind.runtime.gather import Gathered, gather
from retaind.runtime.parsed import parse
from retaind.runtime.pending import Fresh, Pending
from retaind.runtime.window import BEFORE_BACKFILL


class Skipped(NamedTuple):
    """A generation of whose lines the first `lines` were passed over; `waits` says why it cannot begin."""

    stream_id: int
    public_id: str
    session_id: str
    host: str
    kind: str
    generation_id: int
    n: int
    captured: int
    closed: bool
    lines: int
    waits: bool


class Estimate(NamedTuple):
    """What retaining a part of a session would send; `retained` of its `records` would be in it."""

    documents: int
    tokens: int
    records: int
    retained: int


def skipped(connection: Connection, memory: str, stream_id: int | None = None) -> list[Skipped]:
    """Return what was passed over, oldest session first; of one session, or of all."""
    rows = connection.execute(
        "SELECT s.id, s.public_id, s.session_id, s.host, s.kind, g.id, g.n, g.captured, g.closed, c.dropped,"
        " EXISTS (SELECT 1 FROM delivery d WHERE d.memory = c.memory AND d.stream_id = s.id"
        "         AND d.state IN ('planned', 'accepted'))"
        " FROM cursor c JOIN generation g ON g.id = c.generation_id JOIN stream s ON s.id = g.stream_id"
        " WHERE c.memory = ?1 AND (?2 IS NULL OR s.id = ?2) ORDER BY s.first_seen, s.id, g.n",
        (memory, stream_id),
    ).fetchall()
    return [
        Skipped._make((*row[:8], row[8] is not None, lines, bool(row[10])))
        for row in rows
        if (lines := json.loads(row[9]).get(BEFORE_BACKFILL, 0))
    ]


@dataclass(frozen=True, slots=True)
class Ledger:
    """Which records a memory would own already: those of an estimate so far, and those of other sessions.

    What `mine`, the generations that are estimated, own now says nothing.
    """

    memory: str
    mine: frozenset[int]
    keys: set[int] = field(default_factory=set)

    def duplicates(self, connection: Connection, records: Sequence[Record]) -> set[int]:
        """Return the keys of records that would not be retained again."""
        keys = [one.key for one in records if one.key]
        owners = cursors.owners(connection, self.memory, keys)
        return self.keys | {key for key, owner in owners.items() if owner not in self.mine}


def estimate(
    connection: Connection,
    one: Skipped,
    hosts: Mapping[str, Host],
    policy: RetainPolicy,
    ledger: Ledger,
) -> Estimate:
    """Plan what was passed over, without writing anything."""
    pending = Pending.known(
        one.stream_id, one.generation_id, one.n, 0, one.captured, closed=one.closed
    )
    return foresee(connection, pending, hosts[one.host], one.kind, policy, ledger, one.lines)


def foresee(
    connection: Connection,
    pending: Pending,
    host: Host,
    kind: str,
    policy: RetainPolicy,
    ledger: Ledger,
    lines: int | None = None,
) -> Estimate:
    """Plan what is pending, or its first lines only, without writing anything but the ledger."""
    carry, left = Carry(), lines
    documents = total = 0
    counts = Counts()
    while left is None or left > 0:
        gathered = gather(connection, Fresh(limit=0), pending)
        if left is not None:
            gathered = _first(gathered, left)
            left -= max(len(gathered.lines), 1)
        parsed = parse(host, gathered, pending, ())
        if parsed.end == pending.offset:
            break
        window = Window(
            pending.offset,
            parsed.end,
            parsed.records,
            kind="subagent" if kind == "subagent" else "session",
            duplicates=ledger.duplicates(connection, parsed.records),
        )
        made = plan(carry, window, policy, Limits(), redact)
        documents += len(made.documents)
        total += sum(tokens(render(draft, policy).content) for draft in made.documents)
        counts += made.counts
        ledger.keys.update(made.keys)
        carry, pending.offset = made.carry, made.offset
    return Estimate(documents, total, counts.records, counts.planned)


def begin(connection: Connection, memory: str, stream_id: int) -> None:
    """Put a memory's cursors back to the start of a session, as if nothing of it had been planned.

    What the memory has of it already is found out before anything is sent.
    """
    deliveries.drop_set_aside(connection, memory, stream_id)
    cursors.begin_anew(connection, memory, stream_id)
    banks.want_whole(connection, memory, stream_id)


def _first(gathered: Gathered, lines: int) -> Gathered:
    """Return no more than the first so many lines."""
    if len(gathered.lines) <= lines:
        return gathered
    kept = gathered.lines[:lines]
    return Gathered(gathered.start, gathered.lines[lines][0], kept)
