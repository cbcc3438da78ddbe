"""Delivery: documents on their way to a server, one per session at a time, many sessions in parallel.

A row is planned, sent, accepted, polled for and completed; each step is committed before the next, and
sending again is no second operation. So whatever dies in between, the next start goes on from the row.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import anyio
from anyio.abc import TaskGroup

from retaind.db import Database
from retaind.errors import RetaindError, RetentionError
from retaind.failpoint import reach
from retaind.memory.hindsight import (
    BankMissing,
    Busy,
    Client,
    Denied,
    Misconfigured,
    OperationTaken,
    Refused,
    TooLarge,
)
from retaind.runtime import outbox
from retaind.runtime.backlog import Backlog
from retaind.runtime.circuit import Circuit, backoff_s
from retaind.runtime.missions import Missions
from retaind.runtime.outbox import Address, Delivery, Head
from retaind.runtime.survey import Starts, Survey

_TRIES: Final = 5
"""A document that fails so often while others are completed is set aside."""
_SLOWEST_POLLS: Final = 5
_TROUBLE_S: Final = 2.0

Log = Callable[..., object]


@dataclass(frozen=True, slots=True)
class Told:
    """Whom the deliverer tells: of results, and of sessions of which it is known what the server has."""

    completed: Callable[[], None]
    surveyed: Callable[[int, Starts | None], None]


class Deliverer:
    """Works off the outbox of one memory. `run` is its task; everything else may be called beside it."""

    def __init__(
        self,
        database: Database,
        client: Client,
        to: Address,
        survey: Survey,
        missions: Missions,
        told: Told,
        log: Log,
        *,
        max_parallel: int,
        poll_s: float,
    ) -> None:
        self._database = database
        self._client = client
        self._to = to
        self._survey = survey
        self._missions = missions
        self._told = told
        self._log = log
        self._max_parallel = max_parallel
        self._poll_s = poll_s
        self._backlog = Backlog()
        self._busy: set[int] = set()
        self._sending: set[int] = set()
        self._failed: dict[int, tuple[int, float]] = {}
        self._last_completed = float("-inf")
        self._wake = anyio.Event()
        self._changed = anyio.Event()
        self.circuit = Circuit(poll_s)

    def announce(self) -> None:
        """Say that there is something to do."""
        self._wake.set()

    async def run(self) -> None:
        """Deliver until cancelled. A request that is cut off is asked again at the next start."""
        async with anyio.create_task_group() as tasks:
            while True:
                self._wake = anyio.Event()
                try:
                    await self.take_in()
                except RetaindError as error:
                    self._log("outbox_unreadable", why=error.why)
                    await anyio.sleep(_TROUBLE_S)
                    continue
                if self.circuit.paused and self._client.token.refresh():
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
        open_ones = self._busy | self._survey.wanted.keys()
        if stream_ids is None:
            return not open_ones and not len(self._backlog)
        return not any(one in open_ones or one in self._backlog for one in stream_ids)

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
        newest = self._backlog.newest
        for stream_id, head in await self._database.read(
            lambda c: outbox.unsettled(c, self._to.memory, newest)
        ):
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
                waits.append(self._poll_s)
        return max(0.0, min(waits))

    async def _work(self, stream_id: int, head: Head | None) -> None:
        """Do one thing for one session; whatever fails delays this session, or the server as a whole."""
        try:
            if head is None:
                await self._look(stream_id)
            else:
                await self._deliver(stream_id, head)
        except RetentionError as fault:
            self._note(stream_id, fault)
        except RetaindError as error:
            self._log("delivery_failed", stream=stream_id, why=error.why)
            self._delay(stream_id)
        except Exception as error:  # noqa: BLE001 - one document must not take the daemon down
            self._log("delivery_failed", stream=stream_id, error=type(error).__name__)
            self._delay(stream_id)
        finally:
            self._busy.discard(stream_id)
            self._sending.discard(stream_id)
            self._wake.set()
            self._changed.set()
            self._changed = anyio.Event()

    async def _look(self, stream_id: int) -> None:
        starts = await self._survey.look(stream_id)
        self._succeed()
        self._backlog.succeed(stream_id)
        self._told.surveyed(stream_id, starts)

    async def _deliver(self, stream_id: int, head: Head) -> None:
        one = await self._database.read(lambda c: outbox.load(c, head.id))
        if one is None:
            self._backlog.settle(stream_id, head)
            return
        accepted: str | None = one.operation_id
        if one.state == "planned":
            accepted = await self._send(one)
        if accepted is not None and not await self._follow(one, accepted):
            return
        if await self._database.read(lambda c: outbox.load(c, head.id)) is None:
            self._backlog.settle(stream_id, head)

    async def _send(self, one: Delivery) -> str | None:
        """Hand a document over; returns the operation to follow, or None when it took another turn."""
        await self._missions.tell(one.bank)
        reach("deliver.before_send")
        try:
            accepted = await self._client.retain(one.bank, one.item, one.operation_id)
        except OperationTaken:
            known = await self._client.operation(one.bank, one.operation_id)
            if known.status == "not_found":
                await self._database.write(lambda c: outbox.again(c, self._to, one))
                self._delay(one.stream_id)
                return None
            accepted = one.operation_id
        except (Refused, TooLarge) as fault:
            await self._lessen(one, fault)
            return None
        reach("deliver.sent")
        self._succeed()
        await self._database.write(lambda c: outbox.accept(c, self._to.memory, one))
        reach("deliver.accepted")
        return accepted

    async def _lessen(self, one: Delivery, fault: RetentionError) -> None:
        """Put two smaller documents in the place of one that is refused; a single message is set aside."""
        self._succeed()
        if await self._database.write(lambda c: outbox.split(c, self._to, one)):
            self._log("document_split", document=one.document_id, why=fault.what)
            return
        await self._set_aside(one, fault.what)

    async def _set_aside(self, one: Delivery, why: str) -> None:
        await self._database.write(lambda c: outbox.set_aside(c, self._to.memory, one, why))
        self._log("document_set_aside", document=one.document_id, why=why)
        self._failed.pop(one.id, None)
        self._told.completed()

    async def _follow(self, one: Delivery, operation: str) -> bool:
        """Poll until the server is done; says whether the row may have been settled."""
        self._sending.discard(one.stream_id)
        polls = 0
        while True:
            found = await self._client.operation(one.bank, operation)
            self._succeed()
            if found.status == "completed":
                await self._complete(one)
                return True
            if found.status == "failed":
                return await self._go_on_after_failure(one, operation)
            if found.status == "not_found":
                await self._database.write(lambda c: outbox.unaccept(c, one))
                self._delay(one.stream_id)
                return False
            if not found.is_active:
                await self._database.write(lambda c: outbox.again(c, self._to, one))
                return False
            polls += 1
            await anyio.sleep(self._poll_s * min(1 + polls // 10, _SLOWEST_POLLS))

    async def _complete(self, one: Delivery) -> None:
        reach("deliver.before_completion")
        await self._database.write(lambda c: outbox.complete(c, self._to.memory, one))
        reach("deliver.completed")
        self._last_completed = time.monotonic()
        self._failed.pop(one.id, None)
        self._told.completed()

    async def _go_on_after_failure(self, one: Delivery, operation: str) -> bool:
        """Have the server try again; a document that alone fails again and again is set aside."""
        tries, first = self._failed.get(one.id, (0, time.monotonic()))
        if tries >= _TRIES and self._last_completed > first:
            await self._set_aside(one, f"the server failed to retain it {tries + 1} times")
            return True
        self._failed[one.id] = (tries + 1, first)
        try:
            await self._client.retry(one.bank, operation)
        except (OperationTaken, BankMissing, Refused):
            await self._database.write(lambda c: outbox.again(c, self._to, one))
        self._log("document_failed", document=one.document_id, tries=tries + 1)
        self._delay(one.stream_id)
        return False

    def _succeed(self) -> None:
        if self.circuit.succeed(time.monotonic()):
            self._log("memory_back", memory=self._to.memory)
            self._backlog.look_now()
            self._wake.set()

    def _delay(self, stream_id: int) -> None:
        wait = backoff_s(self._backlog.fail(stream_id), self._poll_s)
        self._backlog.delay(stream_id, time.monotonic() + wait)

    def _note(self, stream_id: int, fault: RetentionError) -> None:
        """Let a fault delay its session, open the circuit, or pause the memory until the user has acted."""
        now = time.monotonic()
        if isinstance(fault, Denied | Misconfigured):
            if self.circuit.pause(now, str(fault)):
                self._log("memory_paused", memory=self._to.memory, why=fault.what)
            return
        self._delay(stream_id)
        whole = fault.whole if isinstance(fault, Busy) else False
        wait = fault.retry_after_s if isinstance(fault, Busy) else None
        detail = f"{fault.what} ({fault.why})" if fault.why else fault.what
        if self.circuit.fail(now, detail, whole=whole, wait_s=wait):
            self._log("memory_down", memory=self._to.memory, why=detail)
