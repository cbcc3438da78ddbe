"""Delivery: which documents are handed over now, one per session at a time, many sessions in parallel.

Whatever fails delays its session; what concerns the server as a whole opens the circuit.
"""

import time
from collections.abc import Callable, Iterable
from typing import Final

import anyio
from anyio.abc import TaskGroup

from retaind.db import Database
from retaind.errors import RetaindError, RetentionError
from retaind.memory.hindsight import Busy, Denied, Misconfigured
from retaind.runtime import outbox
from retaind.runtime.backlog import Backlog
from retaind.runtime.circuit import Circuit, backoff_s
from retaind.runtime.handover import Handover
from retaind.runtime.outbox import Head
from retaind.runtime.survey import Starts, Survey

_TROUBLE_S: Final = 2.0


def _ignore(_stream_id: int, _starts: Starts | None) -> None:
    """Tell nobody."""


class Deliverer:
    """Works off the outbox of one memory. `run` is its task; everything else may be called beside it.

    `settled` is called for each document that is completed or set aside, `surveyed` once it is known what
    the server has of a session.
    """

    def __init__(
        self,
        database: Database,
        handover: Handover,
        survey: Survey,
        max_parallel: int,
        settled: Callable[[], None],
    ) -> None:
        self._database = database
        self._handover = handover
        self._survey = survey
        self._max_parallel = max_parallel
        self._settled = settled
        self.surveyed: Callable[[int, Starts | None], None] = _ignore
        self._backlog = Backlog()
        self._busy: set[int] = set()
        self._sending: set[int] = set()
        self._wake = anyio.Event()
        self._changed = anyio.Event()
        self.circuit = Circuit(handover.poll_s)

    def announce(self) -> None:
        """Say that there is something to do."""
        self._wake.set()

    async def run(self) -> None:
        """Deliver until cancelled. A request that is cut off is sent again at the next start."""
        async with anyio.create_task_group() as tasks:
            while True:
                self._wake = anyio.Event()
                try:
                    await self.take_in()
                except RetaindError as error:
                    self._handover.log("outbox_unreadable", why=error.why)
                    await anyio.sleep(_TROUBLE_S)
                    continue
                if self.circuit.paused and self._handover.client.token.refresh():
                    self.look_now()
                self._begin(tasks)
                with anyio.move_on_after(self._sleep_s()):
                    await self._wake.wait()

    def look_now(self) -> None:
        """Leave off waiting: something has changed that may have been in the way."""
        self.circuit.look_now()
        self._backlog.look_now()
        self._wake.set()

    def is_settled(self, stream_ids: frozenset[int] | None) -> bool:
        """Whether nothing of these sessions, or of any, is still to be delivered or found out."""
        under_way = self._busy | self._survey.wanted.keys()
        if stream_ids is None:
            return not under_way and not len(self._backlog)
        return not any(one in under_way or one in self._backlog for one in stream_ids)

    def is_at_rest(self) -> bool:
        """Whether nothing is being sent, and nothing could be sent now: the rest is the server's."""
        return not self._sending and self._next(time.monotonic()) is None

    async def changed(self) -> None:
        """Wait until something was settled or has failed."""
        await self._changed.wait()

    def put_back(self, rows: Iterable[tuple[int, Head]]) -> None:
        """Take rows into the backlog that were set aside, and are planned again."""
        for stream_id, head in rows:
            self._backlog.add(stream_id, head)
        self.look_now()

    async def take_in(self) -> None:
        """Take rows into the backlog that were planned since the last time."""
        memory, newest = self._handover.to.memory, self._backlog.newest
        rows = await self._database.read(lambda c: outbox.unsettled(c, memory, newest))
        for stream_id, head in rows:
            if head.id > self._backlog.newest:
                self._backlog.add(stream_id, head)

    def _begin(self, tasks: TaskGroup) -> None:
        while (job := self._next(time.monotonic())) is not None:
            stream_id, head = job
            self._busy.add(stream_id)
            self._sending.add(stream_id)
            tasks.start_soon(self._work, stream_id, head)

    def _next(self, now: float) -> tuple[int, Head | None] | None:
        """Return what may begin now: a session to be looked at, or a row to be delivered."""
        if len(self._busy) >= self._max_parallel or not self.circuit.permits(now, len(self._busy)):
            return None
        for stream_id in self._survey.wanted:
            if stream_id not in self._busy and self._backlog.is_ready(stream_id, now):
                return stream_id, None
        return self._backlog.next(now, self._busy)

    def _sleep_s(self) -> float:
        now = time.monotonic()
        waits = [self._backlog.next_due(now) - now]
        if self.circuit.until > now:
            waits.append(self.circuit.until - now)
            if self.circuit.paused:
                waits.append(self._handover.poll_s)
        return max(0.0, min(waits))

    async def _work(self, stream_id: int, head: Head | None) -> None:
        """Do one thing for one session."""
        try:
            if head is None:
                await self._look(stream_id)
            else:
                await self._deliver(stream_id, head)
        except RetentionError as fault:
            self._note(stream_id, fault)
        except RetaindError as error:
            self._handover.log("delivery_failed", stream=stream_id, why=error.why)
            self._delay(stream_id)
        except Exception as error:  # noqa: BLE001 - one document must not take the daemon down
            self._handover.log("delivery_failed", stream=stream_id, error=type(error).__name__)
            self._delay(stream_id)
        finally:
            self._busy.discard(stream_id)
            self._sending.discard(stream_id)
            self._wake.set()
            self._changed.set()
            self._changed = anyio.Event()

    async def _look(self, stream_id: int) -> None:
        starts = await self._survey.look(stream_id)
        self._alive()
        self._backlog.succeed(stream_id)
        self.surveyed(stream_id, starts)

    async def _deliver(self, stream_id: int, head: Head) -> None:
        one = await self._database.read(lambda c: outbox.load(c, head.id))
        if one is not None:
            went = await self._handover.carry(
                one, self._alive, lambda: self._sending.discard(stream_id)
            )
            if not went:
                self._delay(stream_id)
                return
            self._settled()
        self._backlog.settle(stream_id, head)

    def _alive(self) -> None:
        if self.circuit.succeed(time.monotonic()):
            self._handover.log("memory_back", memory=self._handover.to.memory)
            self._backlog.look_now()
            self._wake.set()

    def _delay(self, stream_id: int) -> None:
        wait = backoff_s(self._backlog.fail(stream_id), self._handover.poll_s)
        self._backlog.delay(stream_id, time.monotonic() + wait)

    def _note(self, stream_id: int, fault: RetentionError) -> None:
        """Let a fault delay its session, open the circuit, or pause the memory until the user has acted."""
        now, memory = time.monotonic(), self._handover.to.memory
        if isinstance(fault, Denied | Misconfigured):
            if self.circuit.pause(now, str(fault)):
                self._handover.log("memory_paused", memory=memory, why=fault.what)
            return
        self._delay(stream_id)
        whole = fault.whole if isinstance(fault, Busy) else False
        wait = fault.retry_after_s if isinstance(fault, Busy) else None
        detail = f"{fault.what} ({fault.why})" if fault.why else fault.what
        if self.circuit.fail(now, detail, whole=whole, wait_s=wait):
            self._handover.log("memory_down", memory=memory, why=detail)
