"""One window: whole lines behind a cursor become documents of the local memory, in one transaction.

Reading, planning, rendering, the memory's rows and the cursor's move belong together: whatever dies,
cursor and content describe the same set of records.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from uuid import uuid4

import msgspec

from retaind.core.plan import Carry, Counts, Draft, Limits, Plan, Window, plan
from retaind.core.policy import RetainPolicy
from retaind.core.records import Fate, Record
from retaind.core.redact import redact
from retaind.core.render import Rendered, render
from retaind.db import Connection
from retaind.errors import StateDamaged
from retaind.failpoint import reach
from retaind.hosts.port import Host
from retaind.memory.port import Item, Part, RetainResult, Source
from retaind.runtime import cursors
from retaind.runtime.cursors import Cursor
from retaind.runtime.gather import Gathered, gather
from retaind.runtime.pending import Fresh, Pending

ProjectOf = Callable[[str], str | None]
RetainIn = Callable[[Connection, Sequence[Item], str], RetainResult]
"""The memory's part of the transaction: takes items, and the id of the execution."""


class Stream(NamedTuple):
    """What a window needs to know of its stream."""

    host: str
    session_id: str
    public_id: str
    kind: str
    mode: str
    n: int
    project: str | None
    cwd: str | None
    stream_id: int


@dataclass(frozen=True, slots=True)
class Retention:
    """What the user decided, and the parts that retention is made of."""

    memory: str
    hosts: Mapping[str, Host]
    policy: RetainPolicy
    limits: Limits
    retain_in: RetainIn
    project_of: ProjectOf

    @property
    def policy_hash(self) -> str:
        """Names the policy that a cursor ran under."""
        return hashlib.sha256(repr(self.policy).encode()).hexdigest()[:12]


class Outcome(NamedTuple):
    """What one window came to, once its transaction has committed."""

    pending: Pending
    gathered: Gathered
    offset: int
    retained: bool


def retain_window(
    connection: Connection, retention: Retention, fresh: Fresh, pending: Pending
) -> Outcome:
    """Plan and retain the next window of a generation; at its end nothing moves.

    Runs inside the caller's transaction.
    """
    stream = _stream(connection, pending.generation_id)
    cursor = cursors.load(connection, retention.memory, pending.generation_id)
    pending.offset = cursor.offset
    if stream.mode == "metadata":
        return _count_only(connection, retention, cursor, pending)
    gathered = gather(connection, fresh, pending)
    host = retention.hosts[stream.host]
    records, end = _records(host, gathered, pending)
    if end == cursor.offset:
        return Outcome(pending, gathered, end, retained=False)
    made = _plan(connection, retention, cursor, records, end, stream, pending)
    texts = [render(draft, retention.policy) for draft in made.documents]
    if texts:
        drafts = zip(made.documents, texts, strict=True)
        items = [_item(draft, text, stream, retention.policy) for draft, text in drafts]
        retention.retain_in(connection, items, str(uuid4()))
    redacted = _summed(text.redacted for text in texts)
    moved = cursor.moved(made.offset, made.carry.encode(), made.counts, redacted)
    _store(connection, retention, pending, moved, host.parser_version)
    cursors.own(connection, retention.memory, made.keys, pending.generation_id)
    if stream.cwd is None and made.carry.cwd:
        project = retention.project_of(made.carry.cwd)
        cursors.pin_cwd(connection, stream.stream_id, made.carry.cwd, project)
    reach("retain.planned")
    return Outcome(pending, gathered, end, retained=bool(made.documents))


def _count_only(
    connection: Connection, retention: Retention, cursor: Cursor, pending: Pending
) -> Outcome:
    """Account for a session of which only lengths are kept."""
    counts = Counts(records=pending.lines, dropped={"metadata": pending.lines})
    moved = cursor.moved(pending.captured, cursor.carry, counts, {})
    _store(connection, retention, pending, moved, 0)
    pending.lines = 0
    gathered = Gathered(cursor.offset, pending.captured, [])
    return Outcome(pending, gathered, pending.captured, retained=False)


def _store(
    connection: Connection,
    retention: Retention,
    pending: Pending,
    moved: Cursor,
    parser_version: int,
) -> None:
    cursors.store(
        connection,
        retention.memory,
        pending.generation_id,
        moved,
        retention.policy_hash,
        parser_version,
    )


def _plan(
    connection: Connection,
    retention: Retention,
    cursor: Cursor,
    records: tuple[Record, ...],
    end: int,
    stream: Stream,
    pending: Pending,
) -> Plan:
    keys = [record.key for record in records if record.key]
    window = Window(
        cursor.offset,
        end,
        records,
        kind="subagent" if stream.kind == "subagent" else "session",
        duplicates=cursors.owned(connection, retention.memory, keys),
        closed=pending.closed,
    )
    return plan(_carry(cursor), window, retention.policy, retention.limits, redact)


def _carry(cursor: Cursor) -> Carry:
    """Read the carry; one that cannot be read concerns its own session only."""
    try:
        return Carry.decode(cursor.carry)
    except StateDamaged as error:
        raise ValueError(error.what) from error


def _item(draft: Draft, text: Rendered, stream: Stream, policy: RetainPolicy) -> Item:
    return Item(
        source=Source(
            host=stream.host,
            session_id=stream.session_id,
            stream=stream.public_id,
            kind="subagent" if stream.kind == "subagent" else "session",
            generation=stream.n,
            project=stream.project,
            cwd=stream.cwd,
        ),
        content=text.content,
        range_=(draft.start, draft.end),
        parts=tuple(Part(p.role, p.start, p.end, p.timestamp, p.turn) for p in text.parts),
        timestamp=next((m.timestamp for m in draft.messages if m.timestamp), None),
        context=policy.context,
    )


def _summed(counts: Iterable[Mapping[str, int]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return total


def _stream(connection: Connection, generation_id: int) -> Stream:
    row = connection.execute(
        "SELECT s.host, s.session_id, s.public_id, s.kind, s.mode, g.n, s.project, s.cwd, s.id"
        " FROM generation g JOIN stream s ON s.id = g.stream_id WHERE g.id = ?",
        (generation_id,),
    ).fetchone()
    return Stream(*row)


def _records(host: Host, gathered: Gathered, pending: Pending) -> tuple[tuple[Record, ...], int]:
    """Parse the gathered lines; the unfinished rest only where nothing more of it is to come."""
    if gathered.too_large is not None:
        end = gathered.too_large
        return (Record(gathered.start, end, Fate.CORRUPT, "", "too_large"),), end
    records: list[Record] = []
    for start, line in gathered.lines:
        records += host.parse(start, line)
    end = gathered.end
    if gathered.rest:
        tail = _tail(host, end, gathered.rest, pending)
        records += tail
        if tail or pending.closed:  # blanks hold no record, and yet a closed generation ends
            end += len(gathered.rest)
    return tuple(records), end


def _tail(host: Host, start: int, rest: bytes, pending: Pending) -> list[Record]:
    """Return the records of an unfinished last line, or nothing while its writer may go on.

    A closed generation gives up what can be salvaged. Otherwise the line must be whole records already,
    and it was asked for, or its writer has been quiet.
    """
    quiet = pending.forced or pending.searched >= pending.captured
    if not (pending.closed or quiet):
        return []
    records = host.parse(start, rest)
    if not pending.closed and any(record.fate is Fate.CORRUPT for record in records):
        return []
    end = start + len(rest)
    return [
        record if record.end <= end else msgspec.structs.replace(record, end=end)
        for record in records
    ]
