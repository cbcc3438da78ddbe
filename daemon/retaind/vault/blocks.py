"""Blocks: runs of raw bytes as zstd frames, and which small ones are worth merging.

A block holds at most 1 MiB of raw bytes. A live session appends small blocks; they are merged in tiers,
so that each byte is written a bounded number of times however slowly a session grows.
"""

import threading
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import zstandard

BLOCK_BYTES: Final = 1 << 20
_CAPTURE_LEVEL: Final = 1
_MERGE_LEVEL: Final = 3
_TIERS: Final = (16 << 10, 128 << 10, BLOCK_BYTES)
_BUSY_RUN: Final = 64
_IDLE_RUN: Final = 8
_UPPER_RUNS: Final = (8, 4)


class Block(NamedTuple):
    """One compressed run: `length` raw bytes from offset `start`."""

    start: int
    length: int
    data: bytes


class BlockDamaged(ValueError):
    """A stored block does not give its bytes; whatever needs them fails, and nothing else."""


class Span(NamedTuple):
    """Where a stored block lies, without its data."""

    start: int
    length: int


class _Codecs(threading.local):
    """Compressors are not safe to share between threads; each thread keeps its own."""

    def __init__(self) -> None:
        self.capture = zstandard.ZstdCompressor(level=_CAPTURE_LEVEL)
        self.merge = zstandard.ZstdCompressor(level=_MERGE_LEVEL)
        self.decompressor = zstandard.ZstdDecompressor()


_codecs = _Codecs()


def compress(start: int, raw: bytes) -> Block:
    """Return the block for raw bytes that have just been captured."""
    return Block(start, len(raw), _codecs.capture.compress(raw))


def recompress(start: int, raw: bytes) -> Block:
    """Return the block for raw bytes that are merged: smaller, at a little more cost."""
    return Block(start, len(raw), _codecs.merge.compress(raw))


def decompress(data: bytes, length: int) -> bytes:
    """Return the raw bytes of a block; `length` bounds what is allocated. Raises BlockDamaged."""
    try:
        raw = _codecs.decompressor.decompress(data, max_output_size=length)
    except zstandard.ZstdError as error:
        raise BlockDamaged(f"a block of {length} bytes cannot be read") from error
    if len(raw) != length:
        raise BlockDamaged(f"a block of {length} bytes decompressed to {len(raw)}")
    return raw


def split(start: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    """Cut bytes into block-sized runs with their offsets."""
    for at in range(0, len(data), BLOCK_BYTES):
        yield start + at, data[at : at + BLOCK_BYTES]


def mergeable(spans: Sequence[Span], *, idle: bool) -> list[Span]:
    """Return a run of adjoining blocks that should become one, or an empty list.

    `spans` are the blocks of a generation that are not full, in order. Blocks below 16 KiB are merged
    once 64 of them have gathered, or 8 when the session is idle; larger ones in their own tiers, so
    that a byte is written at most about four times. A run never exceeds 1 MiB.
    """
    floor = 0
    for ceiling, wanted in zip(
        _TIERS, (_IDLE_RUN if idle else _BUSY_RUN, *_UPPER_RUNS), strict=True
    ):
        run = _last_run(spans, floor, ceiling)
        if len(run) >= wanted:
            return run
        floor = ceiling
    return []


def _last_run(spans: Sequence[Span], floor: int, ceiling: int) -> list[Span]:
    """Return the last run of adjoining blocks of one tier; smaller blocks behind it are passed over."""
    run: list[Span] = []
    total = 0
    for span in reversed(spans):
        if not run and span.length < floor:
            continue
        follows = not run or span.start + span.length == run[-1].start
        if not floor <= span.length < ceiling or not follows or total + span.length > BLOCK_BYTES:
            break
        run.append(span)
        total += span.length
    return run[::-1]
