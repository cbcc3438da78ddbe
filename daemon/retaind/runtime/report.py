"""Facts about sessions, for people and programs: what `sessions` and `status` print.

Everything is read from a read-only connection, and from the sizes of files as they are now, so that it
works with and without a running daemon. Nothing here holds a transcript's text.
"""

import os
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from retaind.runtime.catalog import Generation, Session, Stream, load, resolve, shown_path
from retaind.vault import streams

__all__ = ["Stream", "resolve", "sessions", "summary", "timestamp", "unfinished_bytes"]

Facts = dict[str, Any]

_SEARCHED_BYTES: Final = 32 * 1024 * 1024
_STEP_BYTES: Final = 1024 * 1024


def sessions(
    connection: sqlite3.Connection, memories: Sequence[str], only: Stream | None = None
) -> list[Facts]:
    """Return a row per transcript as `sessions --json` prints it. `memories` are those in use."""
    loaded = load(connection, only)
    public_ids = dict(connection.execute("SELECT id, public_id FROM stream").fetchall())
    return [_row(connection, one, memories, public_ids) for one in loaded]


def summary(connection: sqlite3.Connection, memories: Sequence[str]) -> Facts:
    """Return the sums over all sessions that `status` prints, and the time of the last activity."""
    count, last = connection.execute(
        "SELECT count(*), max(last_activity) FROM stream WHERE kind != 'attachment'"
    ).fetchone()
    kept = "(SELECT coalesce(sum(captured), 0) FROM generation"
    captured, attached = connection.execute(
        f"SELECT {kept}), {kept} WHERE stream_id IN (SELECT id FROM stream WHERE kind = 'attachment'))"  # noqa: S608 - our own words
    ).fetchone()
    by_memory = {name: _memory_sums(connection, name, captured - attached) for name in memories}
    return {
        "sessions": count,
        "captured_bytes": captured,
        "pending_bytes": max((sums["pending_bytes"] for sums in by_memory.values()), default=0),
        "memories": by_memory,
        "last_activity": timestamp(last) if last is not None else None,
    }


def unfinished_bytes(connection: sqlite3.Connection, generation: Generation, offset: int) -> int:
    """Return how many captured bytes stand behind the last newline; none is before `offset`."""
    end = generation.captured
    floor = max(offset, end - _SEARCHED_BYTES)
    while end > floor:
        start = max(floor, end - _STEP_BYTES)
        newline = -1
        for at, piece in streams.read(connection, generation.id, start, end):
            found = piece.rfind(b"\n")
            newline = at + found if found >= 0 else newline
        if newline >= 0:
            return generation.captured - newline - 1
        end = start
    return generation.captured - offset


def timestamp(seconds: float) -> str:
    """Return seconds since 1970 as transcripts write times: UTC, ISO 8601, milliseconds."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        moment = datetime.fromtimestamp(0, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def source_size(stream: Stream) -> int:
    """Return the size of the file now, or at the last look where it is gone or cannot be seen."""
    if stream.source_state == "gone":
        return stream.size_bytes
    try:
        return os.stat(stream.path).st_size
    except OSError:
        return stream.size_bytes


def _row(
    connection: sqlite3.Connection,
    one: Session,
    memories: Sequence[str],
    public_ids: Mapping[int, str],
) -> Facts:
    stream, current = one.stream, one.current
    unfinished = 0
    if stream.mode == "full" and not current.closed and one.offset(current) < current.captured:
        unfinished = unfinished_bytes(connection, current, one.offset(current))
    by_memory = {name: _memory_row(one, name, unfinished) for name in memories}
    told = next((c for name in memories if (c := one.cursor(name, current)).records), None)
    return {
        "id": stream.public_id,
        "session_id": stream.session_id,
        "kind": stream.kind,
        "host": stream.host,
        "path": shown_path(stream.path),
        "project": stream.project,
        "cwd": stream.cwd,
        "mode": stream.mode,
        "generation": current.n,
        "size_bytes": source_size(stream),
        "captured_bytes": current.captured,
        "unfinished_bytes": unfinished,
        "messages": told.messages if told else 0,
        "turns": told.turns if told else 0,
        "memories": by_memory,
        "generations": [
            {"n": g.n, "captured_bytes": g.captured, "closed": g.closed} for g in one.generations
        ],
        "attachments": len(one.attachments),
        "attachment_bytes": sum(part.current.captured for part in one.attachments),
        "owner_session": stream.owner_session,
        "parent_id": public_ids.get(stream.parent_id or 0),
        "last_activity": timestamp(stream.last_activity),
        "state": _state(stream, by_memory),
    }


def _memory_row(one: Session, memory: str, unfinished: int) -> Facts:
    cursor = one.cursor(memory, one.current)
    waiting = -unfinished if cursor.offset < one.current.captured else 0
    for generation in one.generations:
        waiting += generation.captured - one.cursor(memory, generation).offset
    unsettled = waiting > 0 or any(one.cursor(memory, g).pending for g in one.generations)
    aside = any(one.cursor(memory, g).set_aside for g in one.generations)
    return {
        "retained_bytes": cursor.offset,
        "pending_bytes": max(waiting, 0),
        "retained": cursor.retained,
        "pending": cursor.pending,
        "set_aside": cursor.set_aside,
        "dropped": dict(cursor.dropped),
        "redacted": dict(cursor.redacted),
        "lossy": cursor.lossy,
        "state": "degraded" if aside else "pending" if unsettled else "idle",
    }


def _state(stream: Stream, by_memory: Mapping[str, Facts]) -> str:
    if stream.mode == "off":
        return "excluded"
    if stream.source_state in {"gone", "replaced"}:
        return "source_gone"
    states = {facts["state"] for facts in by_memory.values()}
    if stream.source_state == "unobservable" or stream.mode == "listed" or "degraded" in states:
        return "degraded"
    return "pending" if stream.mode == "held" or "pending" in states else "idle"


def _memory_sums(connection: sqlite3.Connection, memory: str, captured: int) -> Facts:
    sums = connection.execute(
        "SELECT coalesce(sum(offset), 0), coalesce(sum(records), 0), coalesce(sum(retained), 0),"
        " coalesce(sum(pending), 0), coalesce(sum(set_aside), 0), coalesce(sum(lossy), 0)"
        " FROM cursor WHERE memory = ?",
        (memory,),
    ).fetchone()
    waiting = max(captured - sums[0], 0)
    return {
        "state": "degraded" if sums[4] else "pending" if waiting or sums[3] else "idle",
        "pending_bytes": waiting,
        "records": sums[1],
        "retained": sums[2],
        "pending": sums[3],
        "set_aside": sums[4],
        "dropped": _summed(connection, "dropped", memory),
        "redacted": _summed(connection, "redacted", memory),
        "lossy": sums[5],
    }


def _summed(connection: sqlite3.Connection, column: str, memory: str) -> dict[str, int]:
    """Return the sums of a column that holds counts by name."""
    rows = connection.execute(
        f"SELECT j.key, sum(j.value) FROM cursor, json_each(cursor.{column}) j WHERE memory = ?"  # noqa: S608 - our own words
        " GROUP BY j.key ORDER BY j.key",
        (memory,),
    )
    return dict(rows.fetchall())
