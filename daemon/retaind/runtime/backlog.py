"""What is to be delivered, in order: a session's rows one after the other, the oldest session first."""

import heapq
from collections.abc import Collection, Iterator
from typing import Final

from retaind.runtime.outbox import Head

_NEVER: Final = float("inf")


class Backlog:
    """Knows ids and offsets only. `newest` is the id up to which rows are in it; times are monotonic."""

    def __init__(self) -> None:
        self.newest = 0
        self._heads: dict[int, list[Head]] = {}
        self._not_before: dict[int, float] = {}
        self._failures: dict[int, int] = {}

    def __len__(self) -> int:
        return sum(map(len, self._heads.values()))

    def __contains__(self, stream_id: int) -> bool:
        return stream_id in self._heads

    def add(self, stream_id: int, head: Head) -> None:
        """Put a row in its place."""
        heapq.heappush(self._heads.setdefault(stream_id, []), head)
        self.newest = max(self.newest, head.id)

    def next(self, now: float, busy: Collection[int]) -> tuple[int, Head] | None:
        """Return the oldest row that may be delivered now, of sessions that are not busy."""
        ready = [(heads[0].id, stream) for stream, heads in self._ready(now, busy)]
        if not ready:
            return None
        stream_id = min(ready)[1]
        return stream_id, self._heads[stream_id][0]

    def is_ready(self, stream_id: int, now: float) -> bool:
        """Whether a session need not be left alone any longer."""
        return self._not_before.get(stream_id, 0.0) <= now

    def next_due(self, now: float) -> float:
        """Return when the first of the sessions that wait may be tried again."""
        return min((at for at in self._not_before.values() if at > now), default=_NEVER)

    def settle(self, stream_id: int, head: Head) -> None:
        """Take a row out: it was settled, or others take its place."""
        heads = self._heads[stream_id]
        heads.remove(head)
        heapq.heapify(heads)
        if not heads:
            del self._heads[stream_id]
        self.succeed(stream_id)

    def succeed(self, stream_id: int) -> None:
        """Forget a session's failures."""
        self._failures.pop(stream_id, None)
        self._not_before.pop(stream_id, None)

    def fail(self, stream_id: int) -> int:
        """Count a failure; returns how many there were in a row."""
        self._failures[stream_id] = self._failures.get(stream_id, 0) + 1
        return self._failures[stream_id]

    def delay(self, stream_id: int, until: float) -> None:
        """Leave a session alone for a while."""
        self._not_before[stream_id] = until

    def look_now(self) -> None:
        """Try every session at the next opportunity."""
        self._not_before.clear()

    def _ready(self, now: float, busy: Collection[int]) -> Iterator[tuple[int, list[Head]]]:
        for stream_id, heads in self._heads.items():
            if stream_id not in busy and self.is_ready(stream_id, now):
                yield stream_id, heads
