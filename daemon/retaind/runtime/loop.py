"""The loop that drives the engine: paces commits, serves flush requests, and ends in order."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from retaind.errors import RetaindError, StateDamaged
from retaind.runtime.engine import Engine
from retaind.runtime.logs import logger
from retaind.runtime.retainers import Retainers

_QUIET_S: Final = 0.2
_GROUP_S: Final = 0.1
_LAST_S: Final = 1.8


@dataclass(slots=True)
class FlushJob:
    """Somebody waits until everything visible now is captured and retained."""

    stream_ids: frozenset[int] | None
    done: anyio.Event = field(default_factory=anyio.Event)
    error: RetaindError | None = None


@dataclass(slots=True)
class Errand:
    """Work that must not meet a step of the engine's; it ends early once `stopped` says so."""

    work: Callable[[Callable[[], bool]], Awaitable[object]]
    done: anyio.Event = field(default_factory=anyio.Event)
    result: object = None
    error: RetaindError | None = None

    async def run(self, stopped: Callable[[], bool]) -> None:
        """Do the work; an error of ours is for whoever waits."""
        try:
            self.result = await self.work(stopped)
        except RetaindError as error:
            self.error = error
        except Exception as error:  # noqa: BLE001 - one errand must not take the daemon down
            logger().exception("errand_failed")
            self.error = RetaindError("the daemon failed", why=type(error).__name__)
        self.done.set()


class Loop:
    """Runs the engine's steps one after the other, so that nothing is ever cut in its middle."""

    def __init__(self, engine: Engine, retainers: Retainers) -> None:
        self._engine = engine
        self._retainers = retainers
        self._jobs: list[FlushJob] = []
        self._errands: list[Errand] = []
        self._stopping = False
        self._trouble: str | None = None

    def stop(self) -> None:
        """End the loop after the step under way."""
        self._stopping = True
        self._engine.poke()

    def submit(self, job: FlushJob) -> None:
        """Ask for a flush; its event is set when it is done."""
        self._jobs.append(job)
        self._engine.poke()

    async def between_steps(self, work: Callable[[Callable[[], bool]], Awaitable[object]]) -> Any:
        """Do something between two steps and return what it returned; raises what it raised.

        Nothing else is done meanwhile, unless the work itself takes steps.
        """
        errand = Errand(work)
        self._errands.append(errand)
        self._engine.poke()
        await errand.done.wait()
        if errand.error is not None:
            raise errand.error
        return errand.result

    async def run(self) -> None:
        """Work until stopped."""
        while not self._stopping:
            before = self._engine.last_commit
            busy = await self._engine.step()
            self._log_trouble(self._engine.last_error)
            if isinstance(self._engine.last_error, StateDamaged):
                raise self._engine.last_error
            if self._jobs:
                await self._flush(self._jobs.pop(0))
                continue
            if self._errands:
                await self._errands.pop(0).run(lambda: self._stopping)
                continue
            if not busy:
                await self._engine.wait()
            await self._pace(before)

    def _log_trouble(self, error: RetaindError | None) -> None:
        """Log a trouble once when it begins and once when it ends, however often it is met."""
        what = None if error is None else error.what
        if what == self._trouble:
            return
        if error is not None:
            logger().error("trouble_began", error=str(error))
        else:
            logger().info("trouble_ended", error=self._trouble)
        self._trouble = what

    async def _pace(self, before: float) -> None:
        """Group commits: the first after a quiet spell goes at once, later ones wait a little."""
        if self._engine.is_importing() or self._stopping:
            return
        since = time.monotonic() - self._engine.last_commit
        followed_quickly = self._engine.last_commit - before < _QUIET_S
        if followed_quickly and since < _GROUP_S:
            await anyio.sleep(_GROUP_S - since)

    async def _flush(self, job: FlushJob) -> None:
        try:
            await self._engine.settle(retain=job.stream_ids is None, stopped=lambda: self._stopping)
            self._retainers.force(job.stream_ids)
            while not self._stopping and await self._retainers.step():
                pass
        except RetaindError as error:
            job.error = error
        if not self._stopping:
            job.done.set()

    async def finish(self) -> int:
        """Take what can still be taken within two seconds; returns the bytes left for the next start."""
        started = time.monotonic()
        try:
            await self._engine.settle(until=started + _LAST_S, retain=True)
            self._retainers.force_all()
            while time.monotonic() < started + _LAST_S and await self._retainers.step():
                pass
        except StateDamaged:
            raise
        except RetaindError as error:
            self._engine.last_error = error  # the next start goes on from what is committed
        for job in self._jobs:
            job.done.set()
        return self._retainers.pending_bytes()
