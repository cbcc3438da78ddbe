"""The remote memory in the running daemon: retention, deliveries and their state, as one part."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import anyio

from retaind.config import Settings
from retaind.db import Connection, Database
from retaind.errors import MemoryDown, RetentionError
from retaind.memory.hindsight import NAME, Client
from retaind.memory.port import RetainResult
from retaind.runtime import backfill, deliveries, manual, outbox, remote_recall, texts
from retaind.runtime.circuit import backoff_s
from retaind.runtime.controls import Facts, RecallRequest, RetainRequest
from retaind.runtime.deliver import Deliverer
from retaind.runtime.erasures import Erasures, waiting
from retaind.runtime.outbox import Address, Head
from retaind.runtime.outgoing import Outgoing
from retaind.runtime.rebuild import Chosen, Holding, Rebuilt
from retaind.runtime.renewals import Renewals
from retaind.runtime.retain import Retainer
from retaind.runtime.survey import Starts, Survey

_OLDEST: Final = (0, 8, 6)
"""From this version on a server knows an operation by the id that it is given."""
_FINISH_POLL_S: Final = 0.1
_TEXT_S: Final = 100.0
"""So long a text's result is waited for; afterwards it is on its way."""


@dataclass(slots=True)
class Remote:
    """Everything that exists only because the user named a server."""

    database: Database
    settings: Settings
    client: Client
    outgoing: Outgoing
    survey: Survey
    retainer: Retainer
    deliverer: Deliverer
    erasures: Erasures
    renewals: Renewals
    poke: Callable[[], None] = lambda: None
    version: str | None = None

    @property
    def to(self) -> Address:
        """Return whose deliveries these are, and where they go."""
        return self.outgoing.to

    async def run(self) -> None:
        """Deliver until cancelled."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.deliverer.run)
            tasks.start_soon(self._ask_version)
            tasks.start_soon(self.erasures.run)
            tasks.start_soon(self.renewals.run)

    async def _ask_version(self) -> None:
        failures = 0
        while self.version is None:
            try:
                self.version = await self.client.version()
            except RetentionError:
                failures += 1
                await anyio.sleep(backoff_s(failures, self.settings.hindsight.poll_s))

    def admit(self, stream_id: int, starts: Starts | None) -> None:
        """Go on with a session, now that it is known what the server has of it."""
        self.retainer.admit(stream_id, starts)
        self.poke()

    async def finish(self, until: float) -> None:
        """Send what can be sent until the monotonic time `until`; the rest goes on at the next start."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.deliverer.run)
            with anyio.move_on_after(max(0.0, until - time.monotonic())):
                while not await self._is_at_rest():
                    with anyio.move_on_after(_FINISH_POLL_S):
                        await self.deliverer.changed()
            tasks.cancel_scope.cancel()
        await self.client.close()

    async def _is_at_rest(self) -> bool:
        while await self.retainer.step():
            pass
        await self.deliverer.take_in()
        return self.deliverer.is_at_rest()

    async def settle(self, stream_ids: frozenset[int] | None) -> None:
        """Plan all that is captured of these sessions, or of any, and wait until it is delivered."""
        self.retainer.force(stream_ids)
        self.poke()
        self.deliverer.look_now()
        while not await self._is_settled(stream_ids):
            with anyio.move_on_after(_FINISH_POLL_S):
                await self.deliverer.changed()

    async def _is_settled(self, stream_ids: frozenset[int] | None) -> bool:
        waiting = self.retainer.queue.all()
        if any(one.forced for one in waiting if stream_ids is None or one.stream_id in stream_ids):
            return False
        await self.deliverer.take_in()
        return self.deliverer.is_settled(stream_ids)

    async def retry(self, delivery_ids: tuple[int, ...]) -> int:
        """Deliver again what was set aside; returns how many documents that is."""

        def work(connection: Connection) -> tuple[int, list[tuple[int, Head]]]:
            before = deliveries.set_aside_rows(connection, NAME, delivery_ids)
            return deliveries.retry(connection, self.to, [head.id for _, head in before]), before

        done, rows = await self.database.write(work)
        self.deliverer.put_back(rows)
        return done

    async def backfill(self, stream_id: int | None) -> dict[str, int]:
        """Retain a session, or all, from the beginning; what the server has of it is not sent again.

        A session of which documents are on their way has to wait until they have arrived.
        """
        found = await self.database.read(lambda c: backfill.skipped(c, NAME, stream_id))
        begun = dict.fromkeys(one.stream_id for one in found if not one.waits)
        for one in begun:
            await self.database.write(partial(backfill.begin, memory=NAME, stream_id=one))
            self.survey.ask_again(one)
            await self.retainer.load_stream(one)
        self.poke()
        return {"sessions": len(begun), "waiting": len({o.stream_id for o in found if o.waits})}

    async def rebuild(self, only: Sequence[int] | None, *, dry_run: bool) -> Rebuilt:
        """Retain sessions anew, and wait until they have arrived; or say what that would send.

        What was passed over as older than the memory stays so.
        """
        if dry_run:
            return await self.renewals.preview(only)
        found, begun = await self.renew(only)
        await self.settle(frozenset(one.id for one in begun))
        await self.renewals.end(found, begun)
        return found

    async def renew(self, only: Sequence[int] | None) -> tuple[Rebuilt, Mapping[Chosen, Holding]]:
        """Begin sessions anew; see `Renewals.begin`. They go on by themselves."""
        found, begun = await self.renewals.begin(only)
        for one in begun:
            self.survey.look_again(one.id)
            await self.retainer.load_stream(one.id)
        self.poke()
        return found, begun

    async def retain(self, request: RetainRequest) -> RetainResult:
        """Hand over a text of the user's own, and wait a while for the server to be done with it."""
        one = await self.database.write(lambda c: texts.put(c, request, self.outgoing))
        self.deliverer.announce()
        with anyio.move_on_after(_TEXT_S):
            while await self.database.read(lambda c: outbox.load(c, one)) is not None:
                with anyio.move_on_after(_FINISH_POLL_S):
                    await self.deliverer.changed()
        return await self.database.read(lambda c: texts.result(c, NAME, one))

    async def pass_over_manual(self) -> None:
        """Account for texts that were given to another memory."""
        await self.database.write(lambda c: manual.pass_over(c, NAME))

    async def recall(self, request: RecallRequest, settings: Settings) -> Facts:
        """Answer as `recall --json`. Raises RetentionError when the server does not answer in time."""
        circuit = self.deliverer.circuit
        if circuit.state(time.monotonic()) == "open":
            raise MemoryDown(f"{NAME} is {'paused' if circuit.paused else 'down'}")
        return await remote_recall.answer(
            self.database, self.client, self.outgoing, request, settings
        )

    async def state(self) -> dict[str, Any]:
        """Return what `status` says of this memory."""
        counts = await self.database.read(
            lambda c: deliveries.counts(c, NAME) | {"to_erase": waiting(c, NAME)}
        )
        now = time.monotonic()
        circuit = self.deliverer.circuit
        found: dict[str, Any] = {
            "url": self.client.url,
            "server_version": self.version,
            "circuit": circuit.state(now),
            "retry_in_s": round(max(0.0, circuit.until - now), 1) if circuit.until else None,
            "detail": circuit.detail or None,
            "documents": counts,
            "rebuilding": len(self.renewals.open),
        }
        if circuit.paused:
            found["state"] = "paused"
        elif circuit.until:
            found["state"] = "degraded"
        return found

    def troubles(self) -> list[str]:
        """Say in plain words what is wrong."""
        found = []
        circuit = self.deliverer.circuit
        if circuit.paused:
            found.append(f"{NAME} is paused: {circuit.paused}")
        elif circuit.until:
            found.append(f"{NAME} is down: {circuit.detail}; what is pending is kept")
        if self.version is not None and _is_old(self.version):
            found.append(
                f"the Hindsight server is version {self.version}: before 0.8.6 a lost answer can cost a"
                " second extraction"
            )
        return found


def _is_old(version: str) -> bool:
    parts = version.split(".")[: len(_OLDEST)]
    return all(part.isdecimal() for part in parts) and tuple(map(int, parts)) < _OLDEST
