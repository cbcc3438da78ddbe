"""From the vault to lines: the bytes after a cursor, framed, with the unfinished rest left where it is."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from retaind.core.lines import frame
from retaind.db import Connection
from retaind.runtime.pending import Fresh, Pending
from retaind.vault import streams

WINDOW_BYTES: Final = 1 << 20
RECORD_BYTES: Final = 32 << 20
"""A record over this size stays in the vault, is never loaded whole, and is dropped as `too_large`."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """Whole lines from `start`, and the unfinished rest behind them.

    `end` is the offset after the last line; `rest` is empty unless all that is captured was gathered.
    `too_large` is the end of an overlong line that starts at `start`; then there are no lines.
    """

    start: int
    end: int
    lines: list[tuple[int, bytes]]
    rest: bytes = b""
    too_large: int | None = None
    searched: int = 0


def gather(connection: Connection, fresh: Fresh, pending: Pending) -> Gathered:
    """Return the next window of a generation: at least one line if there is one, about 1 MiB."""
    start = pending.offset
    if pending.searched > start:
        newline = _find_newline(connection, pending, pending.searched)
        if newline is None and not (pending.closed or pending.forced or _is_small(pending)):
            return Gathered(start, start, [], searched=pending.captured)
        if (newline or pending.captured) - start > RECORD_BYTES:
            return _overlong(pending, newline)
    pieces: list[bytes] = []
    size = 0
    has_line = False
    for _, piece in _following(connection, fresh, pending):
        pieces.append(piece)
        size += len(piece)
        has_line = has_line or b"\n" in piece
        if size >= WINDOW_BYTES and has_line:
            break
        if size > RECORD_BYTES:
            return _overlong(pending, _find_newline(connection, pending, start + size))
    data = pieces[0] if len(pieces) == 1 else b"".join(pieces)
    lines, end = frame(data, start)
    reached = start + size
    rest = data[end - start :] if reached >= pending.captured else b""
    return Gathered(start, end, lines, rest, searched=reached if rest else 0)


def _is_small(pending: Pending) -> bool:
    return pending.bytes <= WINDOW_BYTES


def _overlong(pending: Pending, newline: int | None) -> Gathered:
    start = pending.offset
    if newline is not None:
        return Gathered(start, newline + 1, [], too_large=newline + 1)
    if pending.closed:
        return Gathered(start, pending.captured, [], too_large=pending.captured)
    return Gathered(start, start, [], searched=pending.captured)


def _following(
    connection: Connection, fresh: Fresh, pending: Pending
) -> Iterator[tuple[int, bytes]]:
    """Yield the bytes after the cursor: those at hand first, the others from the vault."""
    at = pending.offset
    for start, piece in fresh.take(pending.generation_id, at):
        yield start, piece
        at = start + len(piece)
    yield from streams.read(connection, pending.generation_id, at, pending.captured)


def _find_newline(connection: Connection, pending: Pending, start: int) -> int | None:
    """Return the offset of the first newline at or after `start`; each byte is searched once."""
    pieces: Iterable[tuple[int, bytes]] = streams.read(
        connection, pending.generation_id, start, pending.captured
    )
    for at, piece in pieces:
        found = piece.find(b"\n")
        if found >= 0:
            return at + found
    return None
