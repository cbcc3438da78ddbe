"""The engine: from hints and scans to committed bytes and retained windows, one bounded step at a time.

A step never takes long, so that nothing starves: first the files that were hinted at, then a part of
the scan under way, then a part of what is due to be retained. The engine is correct with no hint at all.
"""

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import anyio
import anyio.to_thread

from retaind.core.policy import Exclusion
from retaind.db import Database
from retaind.errors import RetaindError, StateError
from retaind.runtime.absence import note_absent
from retaind.runtime.apply import Spot
from retaind.runtime.capture import BATCH, Capture
from retaind.runtime.merging import Merger
from retaind.runtime.retaining import Retaining
from retaind.runtime.rounds import Round
from retaind.runtime.scan import Root, Scan, real_paths
from retaind.runtime.scanning import ScanRun, look_around
from retaind.runtime.schedule import Schedule

_RETRY_S: Final = 2.0


class Engine:
    """Owns the work that is outstanding. One task calls `step`; hints may come from others."""

    def __init__(
        self,
        database: Database,
        capture: Capture,
        roots: Callable[[], Sequence[Root]],
        retaining: Retaining,
        scan_interval_s: float,
    ) -> None:
        self._database = database
        self.capture = capture
        self._roots = roots
        self._retaining = retaining
        self._merger = Merger(database)
        self._schedule = Schedule(scan_interval_s)
        self._hints: dict[bytes, Spot] = {}
        self._strange: set[bytes] = set()
        self._waiting = False
        self._run: ScanRun | None = None
        self._retry_at = 0.0
        self._wake = anyio.Event()
        self._real_roots: list[tuple[Root, bytes]] = []
        self.last_scan: Scan | None = None
        self.last_error: RetaindError | None = None
        self.last_commit = 0.0
        self.progress_ticks = 0

    def hint(self, paths: Iterable[bytes]) -> None:
        """Say that something may have happened at these paths."""
        for path in paths:
            spot = self.locate(path)
            if spot is not None:
                self._hints[path] = spot
            else:
                self._strange.add(path)
        self._wake.set()

    def request_scan(self) -> None:
        """Ask for a scan as soon as the spacing between scans allows it."""
        self._schedule.want()
        self._wake.set()

    def locate(self, path: bytes) -> Spot | None:
        """Return what a path below one of the roots is, or None when it is nothing to capture."""
        for root, real in self._real_roots:
            if path.startswith(real + b"/"):
                place = root.host.place(path[len(real) + 1 :])
                return Spot(path, root, place) if place is not None else None
        return None

    @property
    def scans(self) -> int:
        """How many scans have been worked off."""
        return self._schedule.done

    def import_progress(self) -> tuple[int, int] | None:
        """Return (files worked off, files found) while a scan's findings are being captured."""
        if self._run is None or not self._run.total:
            return None
        return self._run.total - len(self._run.queue), self._run.total

    def outstanding(self) -> set[bytes]:
        """Return the paths that are still to be looked at."""
        left = () if self._run is None else (*self._run.queue, *self._run.waiting)
        return {*self._hints, *(spot.path for spot in left)}

    def is_importing(self) -> bool:
        """Whether a scan has left files to be worked off."""
        return self._run is not None and bool(self._run.queue)

    def is_quiet(self) -> bool:
        """Whether nothing is to be done right now."""
        return not self._hints and self._run is None and self._sleep_s() > 1.0

    async def apply_rules(self, exclusion: Exclusion, scan_interval_s: float) -> None:
        """Go by other rules from now on; streams that they exclude give no more bytes."""
        self._schedule.interval_s = scan_interval_s
        await self.capture.apply_rules(exclusion)
        self.request_scan()

    def poke(self) -> None:
        """Wake the loop, so that it shows that it lives."""
        self._wake.set()

    async def wait(self) -> None:
        """Sleep until there is something to do."""
        with anyio.move_on_after(self._sleep_s()):
            await self._wake.wait()

    def _sleep_s(self) -> float:
        now = time.monotonic()
        if now < self._retry_at:
            return self._retry_at - now
        if self._hints or self._strange or self._run is not None:
            return 0.0
        others = (self._retaining.next_due_s(), self._merger.next_due_s())
        dues = [self._schedule.due_in_s(now), *(due for due in others if due is not None)]
        return max(0.0, min(dues))

    async def step(self) -> bool:
        """Do one bounded piece of work; says whether there is more to do at once.

        A full disk or a database that cannot be used is noted and tried again; nothing has moved then.
        """
        self._wake = anyio.Event()
        self.progress_ticks += 1
        try:
            busy = await self._capture_some()
            busy = await self._retain_some() or busy
            busy = await self._merger.step() or busy
        except RetaindError as error:
            self._try_later(error)
            return False
        except sqlite3.Error as error:
            await self._load_again(error)
            return False
        self.last_error = None
        return busy

    def _try_later(self, error: RetaindError) -> None:
        self.last_error = error
        self._retry_at = time.monotonic() + _RETRY_S

    async def _load_again(self, error: sqlite3.Error) -> None:
        """Go by what the database says: what is in memory may have come to differ from it."""
        why = getattr(error, "sqlite_errorname", type(error).__name__)
        self._try_later(StateError("the database refused what was captured", why=why))
        try:
            await self.capture.load()
        except RetaindError as worse:
            self._try_later(worse)

    async def _retain_some(self) -> bool:
        """Retain a part of what is due; more of it while an import brings more than is retained."""
        busy = await self._retaining.step()
        while busy and self._retaining.is_far_behind() and not self._hints:
            busy = await self._retaining.step()
        return busy

    async def _capture_some(self) -> bool:
        if self.capture.patience.freed():
            self._schedule.want()
        if self._strange:
            strange, self._strange = self._strange, set()
            real, leads_further = await anyio.to_thread.run_sync(real_paths, strange)
            self._hints.update((spot.path, spot) for p in real if (spot := self.locate(p)))
            if leads_further:
                self._schedule.want()
        if self._hints:
            spots = [self._hints.pop(path) for path in list(self._hints)[:BATCH]]
            if (await self._round(spots)).waiting:
                self._waiting = True
                self._schedule.want()
        if self._run is not None:
            await self._go_on_with_scan(self._run)
        elif self._schedule.due_in_s(time.monotonic()) <= 0:
            await self._begin_scan()
        return bool(self._hints) or self._run is not None

    async def settle(
        self,
        until: float = float("inf"),
        *,
        retain: bool = False,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        """Work until every byte that can be seen is captured, or until the monotonic time `until`.

        With `retain`, what is captured is retained on the way, while its bytes are at hand. It ends
        early once `stopped` says so.
        """
        self._schedule.hurry()
        seen = self.scans + (1 if self._run is None else 2)
        while self.scans < seen or self._hints or self._waiting:
            if self._waiting:
                self._schedule.hurry()
            await self._capture_some()
            if retain:
                self._retaining.force(None)
                await self._retain_some()
            if time.monotonic() >= until or stopped():
                return

    async def _round(self, spots: Sequence[Spot]) -> Round:
        """Capture a batch outside of a scan's verdict. A file at which a thread is stuck counts as met."""
        stuck = self.capture.patience.is_stuck
        ready = [spot for spot in spots if not stuck(spot.path)]
        try:
            result = await self.capture.round(ready, None)
        except RetaindError:
            self._hints.update((spot.path, spot) for spot in ready)
            raise
        for spot in spots:
            if stuck(spot.path) and (tracked := self.capture.index.at_path(spot.path)):
                result.claimed.add(tracked.stream_id)
        self._absorb(result)
        missing = [failed.path for failed in result.failed if failed.why == "ENOENT"]
        if missing:
            self._absorb(await self.capture.drain_held())
        if any(self.capture.index.at_path(path) for path in missing):
            self._schedule.want()  # only scans can say that it is gone
        return result

    def _absorb(self, result: Round) -> None:
        for captured in result.captured:
            self.last_commit = time.monotonic()
            self._retaining.note(captured)
            self._merger.note(captured.tracked)
        self._hints.update((spot.path, spot) for spot in result.again)
        if self._run is not None:
            self._run.claimed |= result.claimed

    async def _begin_scan(self) -> None:
        started = time.monotonic()
        self._waiting = False
        self._schedule.begin()
        self._real_roots, run = await anyio.to_thread.run_sync(
            look_around, self._roots(), self.capture.index
        )
        self._run, self.last_scan = run, run.seen
        self._schedule.looked(started)
        self._absorb(await self.capture.drain_held())

    async def _go_on_with_scan(self, run: ScanRun) -> None:
        if run.queue:
            spots = run.next_batch(BATCH)
            try:
                result = await self._round(spots)
            except RetaindError:
                run.put_back(spots)
                raise
            run.waiting += result.waiting
            return
        await self._end_scan(run)

    async def _end_scan(self, run: ScanRun) -> None:
        if run.waiting:  # what replaces a file must not come before the file's last bytes
            self._absorb(await self.capture.drain_held())
        while run.waiting:
            stuck = self.capture.patience.is_stuck
            batch = [spot for spot in run.waiting[:BATCH] if not stuck(spot.path)]
            result = await self.capture.round(batch, run)
            self._absorb(result)
            if result.waiting:  # something moved since the listing: the next one judges
                self._waiting = True
                self._schedule.want()
            del run.waiting[:BATCH]
        if await note_absent(self._database, self.capture, run, self._absorb):
            self._schedule.want()
        self._run = None
        self.capture.unreadable.drop_absent(run.seen)
        run.seen.forget_files()
        if not self.scans:
            await self.capture.hold_recent()
        self._schedule.end()

    def oddities(self) -> Counter[str]:
        """Return what scans and rounds have counted: links, things that are no files, unreadable files."""
        counted = Counter(self.capture.counters)
        if self.capture.unreadable:
            counted["unreadable"] = len(self.capture.unreadable)
        if self.capture.patience.hangs:
            counted["hung"] = self.capture.patience.hangs
        if self.last_scan is not None:
            counted.update(self.last_scan.oddities)
        return counted
