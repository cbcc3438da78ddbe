"""Retention into a memory: what is due, when, and how much of it at once."""

import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, Protocol

from zstandard import ZstdError

from retaind.db import Connection, Database
from retaind.failpoint import reach
from retaind.runtime import cursors
from retaind.runtime.pending import Fresh, Pending, Queue
from retaind.runtime.rounds import Captured
from retaind.runtime.window import Outcome, Retention, retain_window

_AT_ONCE: Final = 16
_BYTES_AT_ONCE: Final = 2 << 20
_FAR_BEHIND_BYTES: Final = 8 << 20
_LONG_QUIET_S: Final = 3600.0
_FAILURE_PAUSE_S: Final = 30.0
_BAD_CONTENT: Final = (
    ValueError, TypeError, LookupError, RecursionError, AttributeError, sqlite3.Error, ZstdError,
)  # fmt: skip
"""What damaged blocks, and content that nobody thought of, may raise.

It must hold back its own session only.
"""

Log = Callable[..., object]


class Gate(Protocol):
    """What a memory that is far away has to say about what may be planned.

    Nothing is kept at hand for it, because it is seldom asked.
    """

    def admits(self, pending: Pending) -> bool:
        """Whether it is known what the memory has of this session; if not, it will be found out."""

    def is_before(self, stream_id: int, last_activity: float) -> bool:
        """Whether a session that was last written then was there before the memory was set up."""


class Retainer:
    """Keeps the queue of what is pending and works it off. One task calls `step`."""

    def __init__(
        self,
        database: Database,
        retention: Retention,
        queue: Queue,
        log: Log,
        on_result: Callable[[], None],
        gate: Gate | None = None,
    ) -> None:
        self._database = database
        self._retention = retention
        self.queue = queue
        self._gate = gate
        self._fresh = Fresh() if gate is None else Fresh(limit=0)
        self._log = log
        self._on_result = on_result
        self.failing: dict[int, str] = {}

    async def load(self) -> None:
        """Find what was captured and not yet planned when the process last ended: all of it is due."""
        await self.load_stream(None)

    async def load_stream(self, stream_id: int | None) -> None:
        """Do as `load`, for one stream."""
        memory = self._retention.memory
        for row in await self._database.read(lambda c: cursors.behind(c, memory, stream_id)):
            pending = Pending.known(*row[:5], closed=bool(row.closed), forced=True)
            self._pass_over(pending, row.last_activity)
            self.queue.add(pending)

    def drop_stream(self, stream_id: int) -> None:
        """Let go of a stream that is gone."""
        for pending in self.queue.all():
            if pending.stream_id == stream_id:
                pending.offset = pending.captured
                self.queue.settle(pending)
                self._fresh.drop(pending.generation_id)
                self.failing.pop(pending.generation_id, None)

    def _pass_over(self, pending: Pending, last_activity: float) -> None:
        """Mark what is there of a session as written before the memory was set up, if it was."""
        if self._gate is not None and self._gate.is_before(pending.stream_id, last_activity):
            pending.skip_to = pending.captured

    def note(self, captured: Captured) -> None:
        """Take notice of bytes that were just committed, and of a generation that ended."""
        row, before = captured.tracked.row, captured.before
        if row.kind == "attachment" or row.mode not in {"full", "metadata"}:
            return
        now = time.monotonic()
        if before is not None and before.generation_id != row.generation_id:
            self._close(before.generation_id)
        if not captured.raw:
            return
        pending = self.queue.get(row.generation_id)
        if pending is None:
            offset = captured.raw[0][0]
            pending = Pending(
                row.stream_id,
                row.generation_id,
                row.n,
                offset,
                row.evidence.captured,
                now,
                now,
                grew=False,
            )
            self.queue.add(pending)
        pending.captured = row.evidence.captured
        pending.last = now - (_quiet_s(row.sighting.last_activity) if before is None else 0.0)
        pending.grew = captured.tracked.grew
        self._pass_over(pending, row.sighting.last_activity)
        if row.mode == "full":
            self._fresh.put(row.generation_id, captured.raw)

    def _close(self, generation_id: int) -> None:
        pending = self.queue.get(generation_id)
        if pending is not None:
            pending.closed = True

    def next_due_s(self) -> float | None:
        """Return in how many seconds something falls due, or None."""
        return self.queue.next_due_s()

    def is_far_behind(self) -> bool:
        """Whether so much raw content is at hand that more of it should wait until some is retained."""
        return self._fresh.total > _FAR_BEHIND_BYTES

    def force(self, stream_ids: frozenset[int] | None) -> None:
        """Ask for everything pending now, of some streams or of all."""
        for pending in self.queue.all():
            if stream_ids is None or pending.stream_id in stream_ids:
                pending.forced = True
                pending.tail_tried = -1

    async def step(self) -> bool:
        """Retain a part of what is due in one transaction; says whether more is due now."""
        due = [one for one in self.queue.due(_AT_ONCE) if self._admits(one)]
        if not due:
            return self.queue.next_due_s() == 0.0
        batch, total = [], 0
        for pending in due:
            batch.append(pending)
            total += pending.bytes
            if total >= _BYTES_AT_ONCE:
                break
        try:
            outcomes = await self._database.write(partial(self._windows, batch=batch))
        except _BAD_CONTENT as error:
            await self._one_by_one(batch, error)
            return True
        self._settle(outcomes)
        return self.queue.next_due_s() == 0.0

    def _admits(self, pending: Pending) -> bool:
        if self._gate is None or self._gate.admits(pending):
            return True
        pending.not_before = float("inf")
        return False

    def admit(self, stream_id: int, held: Mapping[int, int] | None) -> None:
        """Go on with a session now that it is known what the memory has of it.

        `held` gives, by generation, where that begins; nothing is passed over there or behind it.
        """
        for pending in self.queue.all():
            if pending.stream_id == stream_id:
                pending.not_before = 0.0
                if held is not None:
                    pending.skip_to = min(pending.skip_to, held.get(pending.generation_id, 0))

    async def _one_by_one(self, batch: Sequence[Pending], error: Exception) -> None:
        """Find the session that a window fails for, so that it holds back no other."""
        if len(batch) == 1:
            self._note_failure(batch[0], error)
            return
        for pending in batch:
            try:
                outcomes = await self._database.write(partial(self._windows, batch=[pending]))
            except _BAD_CONTENT as single:
                self._note_failure(pending, single)
            else:
                self._settle(outcomes)

    def _note_failure(self, pending: Pending, error: Exception) -> None:
        pending.failures += 1
        pending.not_before = time.monotonic() + _FAILURE_PAUSE_S * pending.failures
        pending.searched = 0
        pending.since = max(pending.since, pending.not_before)
        self.failing[pending.generation_id] = type(error).__name__
        self._log(
            "retain_failed",
            generation=pending.generation_id,
            offset=pending.offset,
            error=type(error).__name__,
        )

    def _settle(self, outcomes: Sequence[Outcome]) -> None:
        reach("retain.committed")
        for outcome in outcomes:
            pending = outcome.pending
            self.failing.pop(pending.generation_id, None)
            moved = outcome.offset > pending.offset
            pending.offset = outcome.offset
            pending.failures = 0
            pending.not_before = 0.0
            if moved:
                self.queue.note_taken(pending)
                pending.since = time.monotonic()
                pending.searched = 0
                pending.tail_tried = -1
            else:
                pending.forced = False
                pending.held = pending.captured
                pending.tail_tried = pending.captured
            if outcome.gathered.rest or outcome.gathered.searched:
                pending.searched = max(pending.searched, outcome.gathered.searched)
            self.queue.settle(pending)
            if pending.bytes <= 0:
                self._fresh.drop(pending.generation_id)
        if any(outcome.retained for outcome in outcomes):
            self._on_result()

    def _windows(self, connection: Connection, batch: Sequence[Pending]) -> list[Outcome]:
        return [retain_window(connection, self._retention, self._fresh, p) for p in batch]


def _quiet_s(last_activity: float) -> float:
    """Return for how long a file that is new to us has been quiet, by the wall clock, within reason."""
    return min(max(0.0, time.time() - last_activity), _LONG_QUIET_S)
