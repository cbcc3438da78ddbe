"""The watcher: hints about where to look. Everything stays correct without it, only later.

One wake-up per step is the watcher's price, so the step is long while nothing happens and short for
some seconds after a write. What the watcher cannot do (limits, odd names, lost events) the scan does.
"""

import os
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, Literal

import anyio
import anyio.to_thread
import msgspec
from watchfiles._rust_notify import RustNotify

_QUIET_STEP_MS: Final = 300
_ACTIVE_STEP_MS: Final = 50
_DEBOUNCE_MS: Final = 200
_ACTIVE_MS: Final = 4_000
_QUIET_TIMEOUT_MS: Final = 30_000
_RETRY_S: Final = 1.0
_RETRY_MOST_S: Final = 30.0
_LASTED_S: Final = 60.0
"""Watching that went well for this long is tried again soon when it ends."""

_MISSING_S: Final = 1.0

WatchState = Literal["watching", "waiting", "scanning"]


class StopFlag:
    """What the watcher's thread looks at to know that it should return."""

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        """Ask the thread to return at its next step."""
        self._set = True

    def is_set(self) -> bool:
        """Whether it was asked to return."""
        return self._set


class Watched(msgspec.Struct, frozen=True):
    """The folders that are watched, with their identity, so that one made again is noticed."""

    folders: tuple[tuple[bytes, int, int], ...]


def existing(folders: Iterable[bytes]) -> Watched:
    """Return those of the folders that exist, by their real paths."""
    found = []
    for folder in folders:
        try:
            status = os.stat(folder)
        except OSError:
            continue
        found.append((os.path.realpath(folder), status.st_dev, status.st_ino))
    return Watched(tuple(found))


class Watcher:
    """Feeds hints to the engine until it is stopped."""

    def __init__(
        self,
        folders: Callable[[], Iterable[bytes]],
        hint: Callable[[Iterable[bytes]], None],
        request_scan: Callable[[], None],
        log: Callable[..., object],
    ) -> None:
        self._folders = folders
        self._hint = hint
        self._request_scan = request_scan
        self._log = log
        self._stop = StopFlag()
        self._renew = StopFlag()
        self._changed = anyio.Event()
        self._watched = Watched(())
        self.state: WatchState = "waiting"
        self.trouble = ""
        self._limiter = anyio.CapacityLimiter(1)
        self._retry_s = _RETRY_S
        self._began = 0.0

    def stop(self) -> None:
        """Make the watcher's thread return at its next step."""
        self._stop.set()
        self._begin_again()

    async def refresh(self) -> None:
        """Compare what is watched with what is there now; begin again when they differ.

        So it does when a folder could not be watched: it may be open by now.
        """
        there = await anyio.to_thread.run_sync(existing, self._folders())
        if there != self._watched or (self.trouble and self.state == "watching"):
            self._begin_again()

    def _begin_again(self) -> None:
        self._renew.set()
        self._changed.set()

    async def run(self) -> None:
        """Watch until stopped. Trouble is noted and tried again later; scans carry on meanwhile."""
        while not self._stop.is_set():
            self._renew, self._changed = StopFlag(), anyio.Event()
            self._watched = await anyio.to_thread.run_sync(existing, self._folders())
            if not self._watched.folders:
                self.state = "waiting"
                await self._pause(_MISSING_S)
                continue
            await self._watch_once()

    async def _watch_once(self) -> None:
        self._began = time.monotonic()
        paths = [os.fsdecode(folder) for folder, _, _ in self._watched.folders]
        try:
            notifier = await self._notifier(paths)
        except (OSError, RuntimeError) as error:
            await self._give_way(error)
            return
        self.state = "watching"
        self._request_scan()
        try:
            with notifier:
                await self._listen(notifier)
        except (OSError, RuntimeError, UnicodeError) as error:
            await self._give_way(error)

    async def _notifier(self, paths: list[str]) -> RustNotify:
        """Begin to watch. Raises OSError or RuntimeError where a limit of the system stands in the way.

        Being told to pass over closed folders, the watcher also passes over that limit without a word; so
        it is told so only once it has met one.
        """
        begin = partial(RustNotify, paths, False, False, 0, True)
        self.trouble = ""
        try:
            return await anyio.to_thread.run_sync(begin, False, limiter=self._limiter)
        except PermissionError:
            self.trouble = "no permission to watch a folder in there; scans go on"
            return await anyio.to_thread.run_sync(begin, True, limiter=self._limiter)

    async def _listen(self, notifier: RustNotify) -> None:
        active = False
        while not self._renew.is_set():
            step = _ACTIVE_STEP_MS if active else _QUIET_STEP_MS
            timeout = _ACTIVE_MS if active else _QUIET_TIMEOUT_MS
            found = await anyio.to_thread.run_sync(
                notifier.watch, _DEBOUNCE_MS, step, timeout, self._renew, limiter=self._limiter
            )
            if isinstance(found, set):
                active = True
                self._hint(os.fsencode(path) for _, path in found)
            elif found == "timeout":
                active = False
            else:
                return

    async def _give_way(self, error: Exception) -> None:
        self.state = "scanning"
        self.trouble = f"watching failed ({type(error).__name__}); scans go on"
        self._log("watch_failed", error=type(error).__name__)
        self._request_scan()
        if time.monotonic() - self._began > _LASTED_S:
            self._retry_s = _RETRY_S
        await self._pause(self._retry_s)
        self._retry_s = min(self._retry_s * 2, _RETRY_MOST_S)

    async def _pause(self, seconds: float) -> None:
        """Sleep, but not past a stop or a change of the folders."""
        with anyio.move_on_after(seconds):
            await self._changed.wait()
