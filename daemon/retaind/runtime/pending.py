"""What waits to be retained: per generation, since when, and the bytes that are still at hand."""

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Final

_FRESH_BYTES: Final = 24 * 1024 * 1024
LARGE_BYTES: Final = 256 * 1024
"""This much pending of one generation is worth retaining without waiting for it to go idle."""

TAIL_QUIET_S: Final = 30.0
"""A whole record without its newline is retained after this long without growth."""


@dataclass(slots=True)
class Pending:
    """One generation that has bytes behind a memory's cursor. Times are of the monotonic clock.

    `searched` is the offset up to which an unfinished line was searched for its newline; `forced` asks
    for everything now, also for a whole record that lacks its newline. Bytes before `skip_to` are passed
    over: they were written before the memory was set up. `urgent` says that it is due for another reason
    than its size; `held` is the offset up to which size alone did not do.
    """

    stream_id: int
    generation_id: int
    n: int
    offset: int
    captured: int
    since: float
    last: float
    grew: bool
    closed: bool = False
    forced: bool = False
    searched: int = 0
    skip_to: int = 0
    held: int = 0
    urgent: bool = True
    tail_tried: int = -1
    failures: int = 0
    not_before: float = 0.0

    @classmethod
    def known(
        cls,
        stream_id: int,
        generation_id: int,
        n: int,
        offset: int,
        captured: int,
        *,
        closed: bool,
        forced: bool = False,
    ) -> "Pending":
        """Return what the database says is pending, of which this process has seen nothing grow."""
        return cls(
            stream_id, generation_id, n, offset, captured, 0.0, 0.0, grew=False,
            closed=closed, forced=forced,
        )  # fmt: skip

    @property
    def bytes(self) -> int:
        """Captured bytes that are not planned yet."""
        return self.captured - self.offset

    @property
    def is_asked_for(self) -> bool:
        """Whether this is due whatever its size and age."""
        return self.forced or self.closed or self.skip_to > self.offset

    def due_at(self, idle_s: float, max_behind_s: float, large_bytes: int = LARGE_BYTES) -> float:
        """Return when this is due: idle for long enough, too far behind, large, asked for or closed."""
        if self.is_asked_for:
            return self.not_before
        if self.searched >= self.captured:
            return self._tail_due_at(idle_s)
        if self.captured - max(self.offset, self.held) >= large_bytes:
            return self.not_before
        return self.waited_at(idle_s, max_behind_s)

    def waited_at(self, idle_s: float, max_behind_s: float) -> float:
        """Return when this is due by its age alone."""
        return max(self.not_before, min(self.last + idle_s, self.since + max_behind_s))

    def _tail_due_at(self, idle_s: float) -> float:
        """Say when to look once more at an unfinished line: when its writer seems to be gone."""
        if self.tail_tried == self.captured:
            return float("inf")
        return self.last + (TAIL_QUIET_S if self.grew else idle_s)


@dataclass(slots=True)
class Fresh:
    """Raw bytes that were just captured, kept for a moment so that they need not be read back."""

    limit: int = _FRESH_BYTES
    total: int = 0
    _pieces: dict[int, deque[tuple[int, bytes]]] = field(default_factory=dict)

    def put(self, generation_id: int, raw: tuple[tuple[int, bytes], ...]) -> None:
        """Keep raw bytes; when there is no room, what is there already stays."""
        for start, data in raw:
            if self.total + len(data) > self.limit:
                return
            self._pieces.setdefault(generation_id, deque()).append((start, data))
            self.total += len(data)

    def take(self, generation_id: int, offset: int) -> tuple[tuple[int, bytes], ...]:
        """Return the pieces that lead on from `offset` without a gap; pieces before it are dropped."""
        pieces = self._pieces.get(generation_id)
        if pieces is None:
            return ()
        while pieces and pieces[0][0] + len(pieces[0][1]) <= offset:
            self.total -= len(pieces.popleft()[1])
        if not pieces:
            del self._pieces[generation_id]
            return ()
        found = []
        at = offset
        for start, data in pieces:
            if start > at or start + len(data) <= at:
                break
            found.append((at, data[at - start :] if start < at else data))
            at = start + len(data)
        return tuple(found)

    def drop(self, generation_id: int) -> None:
        """Forget what is kept of a generation."""
        for _, data in self._pieces.pop(generation_id, ()):
            self.total -= len(data)


class Queue:
    """The generations that wait, in the order in which they are to be taken.

    What was not asked for is taken no more often than every `interval_s` seconds per generation.
    """

    def __init__(
        self,
        idle_s: float,
        max_behind_s: float,
        large_bytes: int = LARGE_BYTES,
        interval_s: float = 0.0,
    ) -> None:
        self.idle_s = idle_s
        self.max_behind_s = max_behind_s
        self._large_bytes = large_bytes
        self._interval_s = interval_s
        self._taken_at: dict[int, float] = {}
        self._waiting: dict[int, Pending] = {}
        self._of_stream: dict[int, dict[int, Pending]] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, pending: Pending) -> None:
        """Put a generation into the queue."""
        self._waiting[pending.generation_id] = pending
        self._of_stream.setdefault(pending.stream_id, {})[pending.n] = pending

    def get(self, generation_id: int) -> Pending | None:
        """Return what waits of a generation."""
        return self._waiting.get(generation_id)

    def all(self) -> list[Pending]:
        """Return everything that waits."""
        return list(self._waiting.values())

    def note_taken(self, pending: Pending) -> None:
        """Remember when a generation's bytes were last taken, where there is an interval to keep."""
        if self._interval_s:
            self._taken_at[pending.generation_id] = time.monotonic()

    def settle(self, pending: Pending) -> None:
        """Take a generation out once nothing of it is pending."""
        if pending.bytes > 0 or self._waiting.pop(pending.generation_id, None) is None:
            return
        of_stream = self._of_stream[pending.stream_id]
        del of_stream[pending.n]
        if not of_stream:
            del self._of_stream[pending.stream_id]

    def bytes(self) -> int:
        """Return how many captured bytes wait."""
        return sum(pending.bytes for pending in self._waiting.values())

    def next_due_s(self) -> float | None:
        """Return in how many seconds something is due, or None when nothing will be."""
        due = min((self._due_at(p) for p in self._waiting.values()), default=float("inf"))
        return None if due == float("inf") else max(0.0, due - time.monotonic())

    def due(self, at_most: int) -> list[Pending]:
        """Return what is due now, closed generations before the ones that follow them."""
        now = time.monotonic()
        ready = [p for p in self._waiting.values() if self._due_at(p) <= now]
        first: dict[int, Pending] = {}
        for pending in ready:
            earlier = self._earliest(pending)
            age = earlier.waited_at(self.idle_s, self.max_behind_s)
            earlier.urgent = earlier.is_asked_for or age <= now
            first[earlier.generation_id] = earlier
            if len(first) >= at_most:
                break
        return list(first.values())

    def _due_at(self, pending: Pending) -> float:
        """Say when the stream is due through this generation; one that failed makes later ones wait."""
        due = pending.due_at(self.idle_s, self.max_behind_s, self._large_bytes)
        if not pending.is_asked_for and pending.generation_id in self._taken_at:
            due = max(due, self._taken_at[pending.generation_id] + self._interval_s)
        return max(due, self._earliest(pending).not_before)

    def _earliest(self, pending: Pending) -> Pending:
        of_stream = self._of_stream[pending.stream_id]
        return of_stream[min(of_stream)] if len(of_stream) > 1 else pending
