"""The worker's side of capture: open files, compare them with what is known, read what is new.

Runs on worker threads and changes nothing shared: it reads the index, and returns values.
"""

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from retaind.runtime.index import Index, Tracked
from retaind.runtime.opened import Held, NotAFileError, Opened
from retaind.vault import blocks
from retaind.vault.blocks import Block
from retaind.vault.identity import (
    FRONTIER_BYTES,
    HEAD_BYTES,
    Continuity,
    Evidence,
    continuity,
    digest,
    extended,
    locator,
    prefix_of,
    prove,
)
from retaind.vault.streams import Sighting

READ_BYTES: Final = 8 * 1024 * 1024
"""At most this much of one file per round, so that a hot file does not starve the others."""

_PROOF_BYTES: Final = 512


class Matched(NamedTuple):
    """A known stream that a file was compared with, and the bytes before its offset that were read.

    `there` says whether the stream's own path still names the stream's file.
    """

    tracked: Tracked
    continuity: Continuity
    frontier: bytes = b""
    there: bool = True


@dataclass(frozen=True, slots=True)
class Examined:
    """An opened file and what it turned out to be. The descriptor goes with it."""

    path: bytes
    opened: Opened
    sighting: Sighting
    own: Matched | None
    """The stream last seen in this very file."""
    renamed: bool
    """The file is the own stream's, and the path that it was seen at no longer names it."""
    alike: tuple[Matched, ...]
    """Other streams that it could continue."""


class Failed(NamedTuple):
    """A path that could not be opened or read, and the errno name, or `not_a_file`."""

    path: bytes
    why: str


@dataclass(frozen=True, slots=True)
class Taken:
    """New bytes of one file: blocks for the vault, the same bytes raw, and the evidence afterwards."""

    evidence: Evidence
    sighting: Sighting
    blocks: tuple[Block, ...] = ()
    raw: tuple[tuple[int, bytes], ...] = ()
    more: bool = False


class ChangedWhileReadError(OSError):
    """The file was rewritten between being compared and being read."""


def examine(path: bytes, index: Index) -> Examined | Failed:
    """Open a file and compare it with what is known."""
    try:
        opened = Opened(path)
    except NotAFileError:
        return Failed(path, "not_a_file")
    except OSError as error:
        why = "not_a_file" if error.errno == errno.ELOOP else _name(error)
        return Failed(path, why)
    try:
        return _compare(path, opened, index)
    except OSError as error:
        opened.close()
        return Failed(path, _name(error))


def _name(error: OSError) -> str:
    return errno.errorcode.get(error.errno or 0, "EIO")


def _compare(path: bytes, opened: Opened, index: Index) -> Examined:
    sighting = opened.sight()
    own = index.at_locator(sighting.locator)
    row = own.row if own is not None else None
    if row is not None and _is_reused(row.sighting, sighting):
        own = row = None  # another file by the same number
    if own is not None and row is not None:
        matched = Matched(own, *prove(opened.read_at, sighting.size, row.evidence))
        if matched.continuity is Continuity.SAME:
            renamed = own.path != path and not _names(own.path, sighting)
            return Examined(path, opened, sighting, matched, renamed, ())
    else:
        matched = None
    head = opened.read_at(HEAD_BYTES, 0)
    alike = [t for t in index.alike(prefix_of(head), path) if t is not own]
    return Examined(
        path,
        opened,
        sighting,
        matched,
        False,
        tuple(_match(t, opened, sighting) for t in alike if t.row.evidence.captured),
    )


def _match(other: Tracked, opened: Opened, sighting: Sighting) -> Matched:
    row = other.row
    same = continuity(opened.read_at, sighting.size, row.evidence)
    return Matched(other, same, there=_names(row.path, row.sighting))


def _names(path: bytes, sighting: Sighting) -> bool:
    """Whether `path` still names the file that was sighted."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return locator(status.st_dev, status.st_ino) == sighting.locator


def _is_reused(before: Sighting, now: Sighting) -> bool:
    """Whether a file's number has been given to another file, where the system tells."""
    versions = {before.inode_version, now.inode_version}
    return None not in versions and len(versions) > 1


def take(opened: Opened, known: Evidence, limit: int = READ_BYTES, before: bytes = b"") -> Taken:
    """Read what follows the captured offset, up to `limit` bytes, and compress it.

    `before` are the bytes before the offset where the proof has just read them. `more` says that the
    limit left something. Raises OSError, and ChangedWhileReadError when the bytes before the offset are
    not those that were captured, before or after reading: then what was read may belong to another content.
    """
    window = min(known.captured, FRONTIER_BYTES)
    before = before or opened.read_at(window, known.captured - window)
    if known.captured and digest(before) != known.frontier_hash:
        raise ChangedWhileReadError
    proof = before[-_PROOF_BYTES:]
    size = opened.sight().size
    end = min(size, known.captured + limit)
    evidence = known
    raw: list[tuple[int, bytes]] = []
    while evidence.captured < end:
        data = opened.read_at(min(blocks.BLOCK_BYTES, end - evidence.captured), evidence.captured)
        if not data:
            break
        raw.append((evidence.captured, data))
        # While the head is short, `before` reaches back to the beginning of the file.
        evidence = extended(evidence, before, data, before + data[:HEAD_BYTES])
        before = data if len(data) >= FRONTIER_BYTES else before + data
    sighting = opened.sight()
    if not _is_as_read(opened, proof, raw):
        raise ChangedWhileReadError
    kept = tuple(blocks.compress(start, data) for start, data in raw)
    return Taken(evidence, sighting, kept, tuple(raw), more=size > end)


def _is_as_read(opened: Opened, before: bytes, raw: Sequence[tuple[int, bytes]]) -> bool:
    """Look again where pieces meet: a file that was rewritten meanwhile would differ there."""
    for start, data in raw:
        seam = before + data[:_PROOF_BYTES]
        if opened.read_at(len(seam), start - len(before)) != seam:
            return False
        before = data[-_PROOF_BYTES:]
    return True


def drain(held: Held, tracked: Tracked) -> Taken | None:
    """Read on through a held descriptor, for a stream whose path leads elsewhere or nowhere.

    None when nothing is held, or it cannot be read, or it is no longer what was captured.
    """
    opened = held.get(tracked.stream_id)
    if opened is None:
        return None
    known = tracked.row.evidence
    try:
        size = opened.sight().size
        if size <= known.captured:
            return None
        if continuity(opened.read_at, size, known) is not Continuity.SAME:
            return None
        return take(opened, known)
    except OSError:
        return None


def has_news(held: Held, tracked: Tracked) -> bool:
    """Whether a held file has grown behind what is captured."""
    opened = held.get(tracked.stream_id)
    try:
        return opened is not None and opened.sight().size > tracked.row.evidence.captured
    except OSError:
        return False


def open_again(tracked: Tracked) -> Opened | None:
    """Open the file of a stream if it still is what was captured; if not, a scan will say what it is."""
    try:
        opened = Opened(tracked.path)
    except OSError:
        return None
    try:
        sighting, row = opened.sight(), tracked.row
        before = row.sighting
        same_file = sighting.locator == before.locator and not _is_reused(before, sighting)
        if same_file and continuity(opened.read_at, sighting.size, row.evidence) is Continuity.SAME:
            return opened
    except OSError:
        pass
    opened.close()
    return None


def is_there(path: bytes) -> bool | None:
    """Whether something is at this path; None when the file system does not say."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError:
        return None
    return True
