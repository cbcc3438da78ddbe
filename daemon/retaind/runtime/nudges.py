"""Nudges: a hook says where something was written; the engine looks there at once, and soon again.

At a hook the last line is often not on disk yet, hence the second look. A nudge is only a hint: what it
says is a path to look at, and a folder to watch if it is one of Claude Code's.
"""

import os
import time
from collections.abc import Awaitable, Callable, Iterable
from heapq import heappop, heappush
from typing import Final, Protocol

import anyio
import anyio.to_thread

from retaind.runtime.reported import ReportedRoots

AGAIN_S: Final = 0.5
_MOST: Final = 1000
_LONGEST_PATH: Final = 4096
_LOOK_S: Final = 2.0


class Hinted(Protocol):
    """What nudges ask of the engine."""

    def hint(self, paths: Iterable[bytes]) -> None:
        """Say that something may have happened at these paths."""

    def locate(self, path: bytes) -> object | None:
        """Return what a path below one of the roots is, or None."""

    def request_scan(self) -> None:
        """Ask for a scan soon."""


class Nudges:
    """Takes hooks' word for where to look. `refresh` has the watcher compare its folders with the roots."""

    def __init__(
        self,
        engine: Hinted,
        reported: ReportedRoots,
        refresh: Callable[[], Awaitable[None]] | None,
    ) -> None:
        self._engine = engine
        self._reported = reported
        self._refresh = refresh
        self._due: list[tuple[float, str, bool]] = []
        self._came = anyio.Event()

    def take(self, paths: Iterable[str | None]) -> None:
        """Look at these paths as soon as may be, and again in half a second; costs no time itself."""
        for path in paths:
            if path and path.startswith("/") and "\0" not in path and len(path) <= _LONGEST_PATH:
                self._put(time.monotonic(), path, again=True)

    async def run(self) -> None:
        """Look at what is due, until cancelled."""
        while True:
            self._came = anyio.Event()
            wait_s = self._due[0][0] - time.monotonic() if self._due else float("inf")
            if wait_s > 0:
                with anyio.move_on_after(wait_s):
                    await self._came.wait()
                continue
            _, path, again = heappop(self._due)
            # A path on a network mount that hangs must not hold up the others for long.
            with anyio.move_on_after(_LOOK_S):
                await self._look_at(path)
            if again:
                self._put(time.monotonic() + AGAIN_S, path, again=False)

    def _put(self, due: float, path: str, *, again: bool) -> None:
        if len(self._due) < _MOST:
            heappush(self._due, (due, path, again))
            self._came.set()

    async def _look_at(self, path: str) -> None:
        """Hint the engine at a path below a root; learn the root of one that has none yet."""
        real, is_new = await anyio.to_thread.run_sync(
            self._look, path, abandon_on_cancel=True, limiter=anyio.CapacityLimiter(1)
        )
        if is_new:
            self._engine.request_scan()
            if self._refresh is not None:
                await self._refresh()
        elif self._engine.locate(real) is not None:
            self._engine.hint([real])

    def _look(self, path: str) -> tuple[bytes, bool]:
        real = os.path.realpath(path)
        name = os.fsencode(real)
        return name, self._engine.locate(name) is None and self._reported.learn(real)
