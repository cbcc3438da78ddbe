"""The worker's side of capture: open files, compare them with what is known, read what is new.

Runs on worker threads and changes nothing shared: it reads the index, and returns values.
"""

import errno
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
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
    extended,
    locator,
    prefix_of,
)
from retaind.vault.streams import Sighting

READ_BYTES: Final = 8 * 1024 * 1024
"""At most this much of one file per round, so that a hot file does not starve the others."""


class Matched(NamedTuple):
    """A known stream that a file was compared with."""

    tracked: Tracked
    continuity: Continuity


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


@dataclass(slots=True)
class Progress:
    """Which path a worker is at, so that a read that hangs can be blamed on the right file."""

    path: bytes | None = None
    done: list[Examined | Failed] = field(default_factory=list)


def examine(paths: Iterable[bytes], index: Index, progress: Progress) -> None:
    """Open and compare each path; results gather in `progress`, which outlives a hang."""
    for path in paths:
        progress.path = path
        progress.done.append(_examine(path, index))
    progress.path = None


def _examine(path: bytes, index: Index) -> Examined | Failed:
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
    if own is not None:
        matched = Matched(own, _continues(opened, sighting, own))
        if matched.continuity is Continuity.SAME:
            renamed = own.row.path != path and not _names(own.row.path, sighting)
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
        tuple(
            Matched(t, continuity(opened.read_at, sighting.size, t.row.evidence))
            for t in alike
            if t.row.evidence.captured
        ),
    )


def _names(path: bytes, sighting: Sighting) -> bool:
    """Whether `path` still names the file that was sighted."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    return locator(status.st_dev, status.st_ino) == sighting.locator


def _continues(opened: Opened, sighting: Sighting, own: Tracked) -> Continuity:
    before = own.row.sighting
    reused = None not in {before.inode_version, sighting.inode_version} and (
        before.inode_version != sighting.inode_version
    )
    if reused:
        return Continuity.REWRITTEN
    return continuity(opened.read_at, sighting.size, own.row.evidence)


def take(opened: Opened, known: Evidence, limit: int = READ_BYTES) -> Taken:
    """Read what follows the captured offset, up to `limit` bytes, and compress it.

    Raises OSError. The caller has proved continuity on this descriptor.
    """
    head = opened.read_at(HEAD_BYTES, 0) if known.head_bytes < HEAD_BYTES else b""
    window = min(known.captured, FRONTIER_BYTES)
    before = opened.read_at(window, known.captured - window)
    end = min(opened.sight().size, known.captured + limit)
    evidence = known
    raw: list[tuple[int, bytes]] = []
    while evidence.captured < end:
        data = opened.read_at(min(blocks.BLOCK_BYTES, end - evidence.captured), evidence.captured)
        if not data:
            break
        raw.append((evidence.captured, data))
        evidence = extended(evidence, before, data, head)
        before = data if len(data) >= FRONTIER_BYTES else before + data
    kept = tuple(blocks.compress(start, data) for start, data in raw)
    sighting = opened.sight()
    return Taken(
        evidence,
        sighting,
        kept,
        tuple(raw),
        more=sighting.size > evidence.captured > known.captured,
    )


def drain(held: Held, tracked: Tracked) -> Taken | None:
    """Read on through a held descriptor, for a stream whose path leads elsewhere or nowhere.

    None when nothing is held, or what is held is no longer what was captured.
    """
    opened = held.get(tracked.row.stream_id)
    if opened is None:
        return None
    sighting = opened.sight()
    if sighting.size <= tracked.row.evidence.captured:
        return None
    if continuity(opened.read_at, sighting.size, tracked.row.evidence) is not Continuity.SAME:
        return None
    return take(opened, tracked.row.evidence)


def is_there(path: bytes) -> bool | None:
    """Whether something is at this path; None when the file system does not say."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError:
        return None
    return True
