"""One window: whole lines behind a cursor become documents of a memory, in one transaction.

Reading, planning, rendering, the memory's rows and the cursor's move belong together: whatever dies,
cursor and content describe the same set of records.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol
from uuid import uuid4

import msgspec

from retaind.core.cadence import Cadence, plan_chunked
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
from retaind.runtime.coverage import Range, clip
from retaind.runtime.cursors import Cursor
from retaind.runtime.forks import recognise
from retaind.runtime.gather import Gathered, gather
from retaind.runtime.pending import Fresh, Pending
from retaind.vault import streams

ProjectOf = Callable[[str], str | None]
RetainIn = Callable[[Connection, Sequence[Item], str], RetainResult]
"""The memory's part of the transaction: takes items, and the id of the execution."""

_WITHHELD: Final = {"metadata": "metadata", "off": "excluded"}
"""The modes in which nothing is retained, and the drop reason of whatever was captured all the same."""


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


class Outbox(Protocol):
    """What a memory that completes documents later has to do with a window."""

    @property
    def cadence(self) -> Cadence | None:
        """How turns are grouped; None retains sessions as they come."""

    def put(
        self,
        connection: Connection,
        stream: Stream,
        generation_id: int,
        documents: Sequence[tuple[Draft, Rendered]],
    ) -> None:
        """Store documents that are to be delivered."""

    def covered(self, generation_id: int) -> Sequence[Range]:
        """Return the bytes of a generation that the memory has, although nothing here says so."""


@dataclass(frozen=True, slots=True)
class Retention:
    """What the user decided, and the parts that retention is made of."""

    memory: str
    hosts: Mapping[str, Host]
    policy: RetainPolicy
    limits: Limits
    project_of: ProjectOf
    retain_in: RetainIn | None = None
    """Takes documents at once."""
    outbox: Outbox | None = None
    """Takes them on their way; one of the two is there."""

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
    if stream.mode in _WITHHELD:
        return _count_only(connection, retention, cursor, pending, _WITHHELD[stream.mode])
    gathered = gather(connection, fresh, pending)
    host = retention.hosts[stream.host]
    records, end = _records(host, gathered, pending)
    if end == cursor.offset:
        return Outcome(pending, gathered, end, retained=False)
    made = _plan(connection, retention, cursor, records, end, stream, pending)
    stream = _pinned(connection, retention, stream, made.carry.cwd)
    texts = [render(draft, retention.policy) for draft in made.documents]
    if texts:
        drafts = zip(made.documents, texts, strict=True)
        items = [_item(draft, text, stream, retention.policy) for draft, text in drafts]
        retention.retain_in(connection, items, str(uuid4()))
    redacted = _summed(text.redacted for text in texts)
    lossy = sum(record.lossy and record.fate is Fate.CONVERSATION for record in records)
    moved = cursor.moved(made.offset, made.carry.encode(), made.counts, redacted, lossy)
    _store(connection, retention, pending, moved, host.parser_version)
    cursors.own(connection, retention.memory, made.keys, pending.generation_id)
    reach("retain.planned")
    return Outcome(pending, gathered, end, retained=bool(made.documents))


def _pinned(connection: Connection, retention: Retention, stream: Stream, cwd: str) -> Stream:
    """Return the stream with its first cwd and its project, pinned as soon as a record names it."""
    if stream.cwd is not None or not cwd:
        return stream
    project = stream.project or retention.project_of(cwd)
    cursors.pin_cwd(connection, stream.stream_id, cwd, project)
    return stream._replace(cwd=cwd, project=project)


def _count_only(
    connection: Connection, retention: Retention, cursor: Cursor, pending: Pending, reason: str
) -> Outcome:
    """Account for a session of which the user wants nothing to be retained."""
    lines = streams.count_lines(connection, pending.generation_id, cursor.offset, pending.captured)
    counts = Counts(records=lines, dropped={reason: lines})
    moved = cursor.moved(pending.captured, cursor.carry, counts, {})
    _store(connection, retention, pending, moved, 0)
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
    known = recognise(
        connection,
        retention.memory,
        pending.generation_id,
        _carry(cursor),
        cursor.offset,
        records,
    )
    window = Window(
        cursor.offset,
        end,
        known.records,
        kind="subagent" if stream.kind == "subagent" else "session",
        duplicates=known.duplicates,
        closed=pending.closed,
    )
    return plan(known.carry, window, retention.policy, retention.limits, redact)


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
