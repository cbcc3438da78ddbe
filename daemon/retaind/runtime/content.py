"""Bytes in the vault against bytes in the source, block by block; the deep part of `verify`."""

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final, NamedTuple

from retaind.runtime.catalog import Generation, Session
from retaind.vault.blocks import BlockDamaged, decompress

_STEP_BYTES: Final = 1024 * 1024


class Verdict(IntEnum):
    """What `verify` ends with; the worst of all sessions decides."""

    OK = 0
    DIFFERS = 1
    UNOBSERVABLE = 4


class Source(NamedTuple):
    """What `stat` said of a source. `size` None: it is gone; `fault`: why it cannot be seen."""

    size: int | None
    locator: tuple[int, int] | None = None
    fault: str = ""


@dataclass(slots=True)
class Findings:
    """What is wrong with one session, what could not be seen, and what is worth a word."""

    faults: list[str] = field(default_factory=list)
    unseen: str = ""
    note: str = ""

    def verdict(self) -> Verdict:
        """Return the session's verdict."""
        if self.faults:
            return Verdict.DIFFERS
        return Verdict.UNOBSERVABLE if self.unseen else Verdict.OK

    def reason(self) -> str | None:
        """Return all of it in one line."""
        return "; ".join(self.faults) or self.unseen or self.note or None


def compare_bytes_by_hash(
    connection: sqlite3.Connection, one: Session, source: Source, findings: Findings
) -> str | None:
    """Read every block, and the source beside the current generation; returns the vault's SHA-256.

    A pruned block is compared by the hash that it left behind; the whole then has no SHA-256.
    """
    for generation in one.generations[:-1]:
        _hash(connection, generation, None, findings)
    if source.size is None or one.current.closed or one.stream.mode != "full":
        return _hash(connection, one.current, None, findings)
    try:
        descriptor = os.open(one.stream.path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        findings.unseen = f"the source cannot be read: {error.strerror}"
        return _hash(connection, one.current, None, findings)
    try:
        return _hash(connection, one.current, descriptor, findings)
    finally:
        os.close(descriptor)


def _hash(
    connection: sqlite3.Connection,
    generation: Generation,
    descriptor: int | None,
    findings: Findings,
) -> str | None:
    whole = hashlib.sha256()
    complete = True
    end = 0
    for start, length, kept, raw in _blocks(connection, generation):
        found = hashlib.sha256(raw).digest() if raw is not None else kept
        complete = complete and raw is not None
        whole.update(raw or b"")
        whole_block = raw is None or len(raw) == length
        if start != end or not whole_block or found is None or found != (kept or found):
            findings.faults.append(
                f"the vault's block at {start} of generation {generation.n} is bad"
            )
            return None
        end = start + length
        if descriptor is not None and _hash_of_source(descriptor, start, length) != found:
            findings.faults.append(f"source and vault differ between {start} and {end}")
            descriptor = None
    if end != generation.captured:
        findings.faults.append(f"the vault ends at {end} instead of {generation.captured}")
    return whole.hexdigest() if complete else None


def _blocks(
    connection: sqlite3.Connection, generation: Generation
) -> Iterator[tuple[int, int, bytes | None, bytes | None]]:
    """Yield start, length, the hash kept, and the bytes: None when pruned, none when unreadable."""
    spans = connection.execute(
        "SELECT start, length, sha256 FROM block WHERE generation_id = ? ORDER BY start",
        (generation.id,),
    ).fetchall()
    for start, length, kept in spans:
        row = connection.execute(
            "SELECT data FROM block WHERE generation_id = ? AND start = ?", (generation.id, start)
        ).fetchone()
        try:
            raw = None if row[0] is None else decompress(row[0], length)
        except BlockDamaged:
            raw = b""
        yield start, length, kept, raw


def _hash_of_source(descriptor: int, start: int, length: int) -> bytes:
    digest = hashlib.sha256()
    while length:
        piece = os.pread(descriptor, min(length, _STEP_BYTES), start)
        if not piece:
            break
        digest.update(piece)
        start += len(piece)
        length -= len(piece)
    return digest.digest()
