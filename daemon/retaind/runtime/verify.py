"""`verify`: bytes in the source = bytes in the vault = records accounted for, per session.

Sizes of sources are taken before anything else, so that whatever grows meanwhile is no fault.
"""

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from retaind.runtime.catalog import Cursor, Generation, Session, Stream, load
from retaind.runtime.content import Findings, Source, Verdict, compare_bytes_by_hash
from retaind.runtime.report import unfinished_bytes
from retaind.runtime.unkept import Unkept
from retaind.vault.identity import locator

Sources = Mapping[int, Source]
"""By stream id."""


def take_sizes(connection: sqlite3.Connection, only: Stream | None = None) -> Sources:
    """Look at every source now; the first step of a verification."""
    found = {}
    for one in load(connection, only):
        for part in (one, *one.attachments):
            found[part.stream.id] = _look(part)
    return found


def verify(
    connection: sqlite3.Connection,
    sources: Sources,
    memories: Sequence[str],
    *,
    only: Stream | None = None,
    deep: bool = False,
    unkept: Sequence[Unkept] = (),
) -> tuple[dict[str, Any], Verdict]:
    """Compare sources, vault and memories; returns the object of `verify --json` and the verdict.

    `deep` reads sources and vault again and compares every byte. `unkept` is what has no row to compare.
    """
    with _snapshot(connection):
        rows = [
            _verified(connection, one, sources, memories, deep=deep)
            for one in load(connection, only)
            if one.stream.id in sources
        ]
    rows += [(one.row(), one.verdict) for one in unkept]
    verdicts = {verdict for _, verdict in rows}
    worst = Verdict.DIFFERS if Verdict.DIFFERS in verdicts else max(verdicts, default=Verdict.OK)
    return {"ok": worst is Verdict.OK, "sessions": [row for row, _ in rows]}, worst


def _verified(
    connection: sqlite3.Connection,
    one: Session,
    sources: Sources,
    memories: Sequence[str],
    *,
    deep: bool,
) -> tuple[dict[str, Any], Verdict]:
    findings = Findings()
    source = sources[one.stream.id]
    by_content = _compare_bytes(one, source, findings) or deep
    for part in one.attachments:
        _compare_attachment(connection, part, sources.get(part.stream.id), findings, deep=deep)
    for memory in memories:
        _compare_records(connection, one, memory, findings)
    sha256 = None
    if by_content:
        sha256 = compare_bytes_by_hash(connection, one, source, findings)
    row = {
        "id": one.stream.public_id,
        "session_id": one.stream.session_id,
        "source_bytes": source.size,
        "vault_bytes": one.current.captured,
        "pruned_bytes": _pruned(connection, one.current),
        "kept_bytes": _kept(connection, one),
        "sha256": sha256 if deep else None,
        "memories": {name: _records(one.cursor(name, one.current)) for name in memories},
        "ok": findings.verdict() is Verdict.OK,
        "reason": findings.reason(),
    }
    return row, findings.verdict()


def _kept(connection: sqlite3.Connection, one: Session) -> int:
    """Return how many bytes of a session are in the vault, those of earlier generations too."""
    row = connection.execute(
        "SELECT coalesce(sum(b.length), 0) FROM block b JOIN generation g ON g.id = b.generation_id"
        " WHERE g.stream_id = ? AND b.data IS NOT NULL",
        (one.stream.id,),
    )
    return int(row.fetchone()[0])


@contextmanager
def _snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Read one state of the database throughout: meanwhile the daemon may merge blocks."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def _look(one: Session) -> Source:
    """Look at a source. By the path of one that is gone, there may be the file of another stream."""
    if one.stream.source_state == "gone":
        return Source(None)
    try:
        found = os.stat(one.stream.path)
    except (FileNotFoundError, NotADirectoryError):
        return Source(None)
    except OSError as error:
        return Source(None, fault=f"the source cannot be seen: {error.strerror}")
    if not os.access(one.stream.path, os.R_OK):
        return Source(None, fault="the source cannot be read (permission)")
    return Source(found.st_size, locator(found.st_dev, found.st_ino))


def _compare_bytes(one: Session, source: Source, findings: Findings) -> bool:
    """Compare sizes; says whether the contents must be compared, since the file may be another one.

    A file of the same size under another locator is no fault by itself: devices are numbered anew
    when the machine starts.
    """
    stream, current = one.stream, one.current
    if stream.mode == "off":
        findings.note = "excluded: no byte is kept"
    elif stream.mode == "held":
        findings.note = "held back until a record says in which folder it was started"
    elif stream.mode == "listed":
        findings.faults.append("the source is too large to be read; it is only listed")
    elif source.fault:
        findings.unseen = source.fault
    elif source.size is None:
        findings.note = "the source is gone; the vault keeps what it was"
    elif current.closed or source.size < current.captured:
        findings.faults.append("the source was rewritten or truncated since the last look")
    else:
        if source.size > current.captured:
            findings.faults.append(f"{source.size - current.captured} bytes are not captured yet")
        return source.locator != (current.device, current.inode)
    return False


def _compare_attachment(
    connection: sqlite3.Connection,
    part: Session,
    source: Source | None,
    findings: Findings,
    *,
    deep: bool,
) -> None:
    """Let what is wrong with an attachment be said of the session that it belongs to."""
    own = Findings()
    if source is None:
        return
    if _compare_bytes(part, source, own) or deep:
        compare_bytes_by_hash(connection, part, source, own)
    findings.faults += [f"attachment {part.stream.public_id}: {fault}" for fault in own.faults]
    findings.unseen = findings.unseen or own.unseen


def _compare_records(
    connection: sqlite3.Connection, one: Session, memory: str, findings: Findings
) -> None:
    if one.stream.mode == "off":
        return
    waiting = 0
    for generation in one.generations:
        cursor = one.cursor(memory, generation)
        accounted = (
            cursor.retained + cursor.pending + cursor.set_aside + sum(cursor.dropped.values())
        )
        if cursor.records != accounted:
            findings.faults.append(
                f"{memory}: {cursor.records} records, but {accounted} accounted for"
            )
        rest = generation.captured - cursor.offset
        if rest and not generation.closed:
            rest -= unfinished_bytes(connection, generation, cursor.offset)
        waiting += rest
    if waiting:
        findings.faults.append(f"{memory}: {waiting} bytes are not retained yet")


def _records(cursor: Cursor) -> dict[str, int]:
    return {
        "records": cursor.records,
        "retained": cursor.retained,
        "dropped": sum(cursor.dropped.values()),
        "pending": cursor.pending,
        "set_aside": cursor.set_aside,
        "duplicate": cursor.dropped.get("duplicate", 0),
    }


def _pruned(connection: sqlite3.Connection, generation: Generation) -> int:
    total = connection.execute(
        "SELECT coalesce(sum(length), 0) FROM block WHERE generation_id = ? AND data IS NULL",
        (generation.id,),
    ).fetchone()[0]
    return int(total)
