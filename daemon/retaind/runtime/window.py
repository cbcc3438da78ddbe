"""One window: whole lines behind a cursor become documents of a memory, in one transaction.

Reading, planning, rendering, the memory's rows and the cursor's move belong together: whatever dies,
cursor and content describe the same set of records.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple
from uuid import uuid4

from retaind.core.cadence import Cadence, plan_chunked
from retaind.core.facts import SessionFacts
from retaind.core.lines import frame
from retaind.core.plan import Carry, Counts, Draft, Plan, Window, plan
from retaind.core.records import Fate, Record
from retaind.core.redact import redact
from retaind.core.render import Rendered, metadata, render, tags
from retaind.db import Connection
from retaind.errors import StateDamaged
from retaind.failpoint import reach
from retaind.hosts.port import Host
from retaind.memory.port import Item, Part, Source
from retaind.runtime import cursors
from retaind.runtime.cursors import Cursor
from retaind.runtime.forks import recognise
from retaind.runtime.gather import WINDOW_BYTES, Gathered, gather
from retaind.runtime.parsed import Parsed, parse
from retaind.runtime.pending import Fresh, Pending
from retaind.runtime.retention import Retention, Stream
from retaind.vault import streams

__all__ = ["BEFORE_BACKFILL", "Outcome", "Retention", "retain_window"]

BEFORE_BACKFILL: Final = "before_backfill"
"""The drop reason of what was written before a memory was set up, as far as it was not asked for."""

_PASSED_OVER_BYTES: Final = 32 << 20
"""So much is passed over in one transaction."""

_WITHHELD: Final = {"metadata": "metadata", "off": "excluded"}
"""The modes in which nothing is retained, and the drop reason of whatever was captured all the same."""


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
    if pending.skip_to > cursor.offset:
        end = _pass_over(connection, retention, cursor, pending)
        if end > cursor.offset:
            return Outcome(pending, Gathered(cursor.offset, end, []), end, retained=False)
    gathered = gather(connection, fresh, pending)
    host = retention.hosts[stream.host]
    parsed = parse(host, gathered, pending, retention.covered(pending.generation_id))
    if parsed.end == cursor.offset:
        return Outcome(pending, gathered, parsed.end, retained=False)
    made = _plan(connection, retention, cursor, parsed, stream, pending)
    if made.offset == cursor.offset:
        return Outcome(pending, gathered, made.offset, retained=False)
    stream = _pinned(connection, retention, stream, made.carry.cwd)
    texts = [render(draft, retention.policy) for draft in made.documents]
    if texts and not parsed.is_held:
        _take(connection, retention, stream, pending.generation_id, made.documents, texts)
    moved = _moved(cursor, made, parsed, texts, completed=retention.outbox is None)
    _store(connection, retention, pending, moved, host.parser_version)
    cursors.own(connection, retention.memory, made.keys, pending.generation_id)
    if retention.moved is not None:
        retention.moved(connection, stream.public_id, stream.n, made.offset)
    reach("retain.planned")
    return Outcome(pending, gathered, made.offset, retained=bool(made.documents))


def _moved(
    cursor: Cursor, made: Plan, parsed: Parsed, texts: Sequence[Rendered], *, completed: bool
) -> Cursor:
    """Return the cursor behind a planned window, with what it adds to the counts."""
    return cursor.moved(
        made.offset,
        made.carry.encode(),
        made.counts,
        _summed(text.redacted for text in texts),
        sum(one.lossy and one.fate is Fate.CONVERSATION for one in parsed.records),
        completed=parsed.is_held or completed,
    )


def _take(
    connection: Connection,
    retention: Retention,
    stream: Stream,
    generation_id: int,
    drafts: Sequence[Draft],
    texts: Sequence[Rendered],
) -> None:
    """Hand documents to the memory, or to the outbox from which they are delivered to it."""
    documents = list(zip(drafts, texts, strict=True))
    if retention.outbox is not None:
        retention.outbox.put(connection, stream, generation_id, documents)
    elif retention.retain_in is not None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        items = [_item(draft, text, stream, retention, now) for draft, text in documents]
        retention.retain_in(connection, items, str(uuid4()))


def _pass_over(
    connection: Connection, retention: Retention, cursor: Cursor, pending: Pending
) -> int:
    """Account for whole lines from before the memory was set up; returns the offset behind them."""
    end, lines = cursor.offset, 0
    upto = min(pending.skip_to, end + _PASSED_OVER_BYTES)
    for at, piece in streams.read(connection, pending.generation_id, end, upto):
        lines += piece.count(b"\n")
        end = at + piece.rfind(b"\n") + 1 if b"\n" in piece else end
    if not lines:
        pending.skip_to = 0
        return end
    counts = Counts(records=lines, dropped={BEFORE_BACKFILL: lines})
    _store(connection, retention, pending, cursor.moved(end, cursor.carry, counts, {}), 0)
    return end


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
    parsed: Parsed,
    stream: Stream,
    pending: Pending,
) -> Plan:
    known = recognise(
        connection,
        retention.memory,
        pending.generation_id,
        _carry(cursor),
        cursor.offset,
        parsed.records,
    )
    window = Window(
        cursor.offset,
        parsed.end,
        known.records,
        kind="subagent" if stream.kind == "subagent" else "session",
        duplicates=known.duplicates,
        closed=pending.closed,
    )
    cadence = retention.outbox.cadence if retention.outbox is not None else None
    if cadence is None:
        return plan(known.carry, window, retention.policy, retention.limits, redact)
    host = retention.hosts[stream.host]
    return plan_chunked(
        known.carry,
        window,
        retention.policy,
        retention.limits,
        redact,
        cadence,
        overlap=_overlap(connection, host, known.carry, cadence, pending),
        force=pending.urgent or parsed.is_cut,
    )


def _overlap(
    connection: Connection, host: Host, carry: Carry, cadence: Cadence, pending: Pending
) -> tuple[Record, ...]:
    """Read the turns again that go in front of the next group, as far back as a window reaches."""
    start = carry.overlap_start(cadence.overlap_turns)
    if start is None or pending.offset - start > WINDOW_BYTES:
        return ()
    pieces = streams.read(connection, pending.generation_id, start, pending.offset)
    lines, _ = frame(b"".join(piece for _, piece in pieces), start)
    return tuple(record for at, line in lines for record in host.parse(at, line))


def _carry(cursor: Cursor) -> Carry:
    """Read the carry; one that cannot be read concerns its own session only."""
    try:
        return Carry.decode(cursor.carry)
    except StateDamaged as error:
        raise ValueError(error.what) from error


def _item(draft: Draft, text: Rendered, stream: Stream, retention: Retention, now: str) -> Item:
    policy = retention.policy
    facts = SessionFacts(
        stream.host, stream.session_id, stream.project, stream.cwd, user_id=retention.user_id
    )
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
        tags=tags(policy, facts, now),
        metadata=metadata(policy, facts, now, len(draft.messages)),
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
