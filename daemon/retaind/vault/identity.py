"""What makes a file the same file: evidence taken on the opened descriptor, and the proof it gives.

Path, inode and hashes are evidence, never identity: inode numbers are reused at once, first bytes
repeat, paths are replaced. Reading goes on at an offset only where the *head* (the first 4 KiB or less),
the *frontier* (the last 4 KiB or less before the offset) and the size all agree.
"""

import hashlib
from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple

HEAD_BYTES: Final = 4096
FRONTIER_BYTES: Final = 4096
PREFIX_BYTES: Final = 1024
"""Adoption of a moved or replaced file asks for this many captured bytes, or for the same file name."""

_DIGEST_BYTES: Final = 16

ReadAt = Callable[[int, int], bytes]
"""`read_at(length, offset)` returns up to `length` bytes of the opened file, as `pread` does."""


class Locator(NamedTuple):
    """Where the file system keeps a file: device and inode, as signed 64-bit numbers."""

    device: int
    inode: int


class Evidence(NamedTuple):
    """What is known of the bytes captured so far."""

    captured: int
    head_bytes: int
    head_hash: bytes
    prefix_hash: bytes | None
    frontier_hash: bytes


class Continuity(Enum):
    """Whether an opened file still is what was captured, and if not, why."""

    SAME = "same"
    SHRUNK = "truncated"
    REWRITTEN = "rewritten"


NOTHING: Final = Evidence(0, 0, b"", None, b"")
"""The evidence of a stream of which no byte has been captured: any file continues it."""


def locator(device: int, inode: int) -> Locator:
    """Return the locator with its numbers as SQLite can store them (two's complement)."""
    return Locator(_signed(device), _signed(inode))


def _signed(number: int) -> int:
    number &= (1 << 64) - 1
    return number - (1 << 64) if number >> 63 else number


def digest(data: bytes) -> bytes:
    """Return the hash that evidence is made of: 128 bits of SHA-256."""
    return hashlib.sha256(data).digest()[:_DIGEST_BYTES]


def prove(read_at: ReadAt, size: int, known: Evidence) -> tuple[Continuity, bytes]:
    """Compare an opened file of `size` bytes with the evidence; reads at most 8 KiB of it.

    Returns with the verdict the bytes just before the captured offset, as far as they were read.
    """
    if size < known.captured:
        return Continuity.SHRUNK, b""
    if known.captured == 0:
        return Continuity.SAME, b""
    head = read_at(known.head_bytes, 0)
    if digest(head) != known.head_hash:
        return Continuity.REWRITTEN, b""
    if known.captured <= known.head_bytes:
        return Continuity.SAME, head
    length = min(known.captured, FRONTIER_BYTES)
    frontier = read_at(length, known.captured - length)
    if digest(frontier) != known.frontier_hash:
        return Continuity.REWRITTEN, b""
    return Continuity.SAME, frontier


def continuity(read_at: ReadAt, size: int, known: Evidence) -> Continuity:
    """Return the verdict of `prove` alone."""
    return prove(read_at, size, known)[0]


def prefix_of(head: bytes) -> bytes | None:
    """Return the key under which a file of this head may be found again, or None when too short."""
    return digest(head[:PREFIX_BYTES]) if len(head) >= PREFIX_BYTES else None


def extended(known: Evidence, before: bytes, new: bytes, head: bytes) -> Evidence:
    """Return the evidence after `new` bytes were captured behind `before`.

    `before` holds the bytes just before the old offset (as many as the frontier needs), `head` the first
    4 KiB or less of the file; it is not looked at once the known head is that long.
    """
    captured = known.captured + len(new)
    frontier = (before[-FRONTIER_BYTES:] + new)[-FRONTIER_BYTES:]
    if known.head_bytes == HEAD_BYTES:
        return known._replace(captured=captured, frontier_hash=digest(frontier))
    head = head[: min(captured, HEAD_BYTES)]
    return Evidence(captured, len(head), digest(head), prefix_of(head), digest(frontier))
