"""The engine: from hints and scans to committed bytes and retained windows, one bounded step at a time.

A step never takes long, so that nothing starves: first the files that were hinted at, then a part of
the scan under way, then a part of what is due to be retained. The engine is correct with no hint at all.
"""

import os
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import anyio
import anyio.to_thread

from retaind.db import Connection, Database
from retaind.errors import RetaindError
from retaind.runtime.apply import Spot
from retaind.runtime.capture import BATCH, Capture, Captured, Round
from retaind.runtime.examine import is_there
from retaind.runtime.index import Tracked
from retaind.runtime.scan import Entry, Root, Scan, scan
from retaind.vault import streams

_SCAN_SPACING_S: Final = 0.25
_SCAN_SHARE: Final = 20
"""Scans on demand take at most this fraction of the time: 1 part in 20."""
_HUNG_RETRY_S: Final = 60.0
_UNSEEN_IS_GONE: Final = 2
_RETRY_S: Final = 2.0


class Retaining(Protocol):
    """What the engine asks of retention."""

    def note(self, captured: Captured) -> None:
        """Take notice of bytes that were just committed."""

    async def step(self) -> bool:
        """Do a bounded piece of what is due; says whether more is due now."""

    def next_due_s(self) -> float | None:
        """Return in how many seconds something falls due, or None."""


@dataclass(slots=True)
class _ScanRun:
    """A scan whose findings are being worked off."""

    seen: Scan
    queue: deque[Spot]
    total: int
    claimed: set[int] = field(default_factory=set)
    waiting: list[Spot] = field(default_factory=list)

    def is_alive(self, tracked: Tracked) -> bool:
        """Whether this scan met the file of a stream, or could not have met it."""
        return tracked.row.stream_id in self.claimed or not self.seen.can_see(tracked.row.path)


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
        self._interval_s = scan_interval_s
        self._hints: dict[bytes, Spot] = {}
        self._run: _ScanRun | None = None
        self._hung: dict[bytes, float] = {}
        self._scan_wanted = True
        self._scan_ended = 0.0
        self._scan_took_s = 0.0
        self._retry_at = 0.0
        self._wake = anyio.Event()
        self._real_roots: list[tuple[Root, bytes]] = []
        self.scans = 0
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
                self._scan_wanted = True
        self._wake.set()

    def request_scan(self) -> None:
        """Ask for a scan as soon as the spacing between scans allows it."""
        self._scan_wanted = True
        self._wake.set()

    def locate(self, path: bytes) -> Spot | None:
        """Return what a path below one of the roots is, or None when it is nothing to capture."""
        for root, real in self._real_roots:
            if path.startswith(real + b"/"):
                place = root.host.place(path[len(real) + 1 :])
                return Spot(path, root, place) if place is not None else None
        return None

    def import_progress(self) -> tuple[int, int] | None:
        """Return (files worked off, files found) while a scan's findings are being captured."""
        if self._run is None or not self._run.total:
            return None
        return self._run.total - len(self._run.queue), self._run.total

    async def wait(self) -> None:
        """Sleep until there is something to do."""
        with anyio.move_on_after(self._sleep_s()):
            await self._wake.wait()

    def _sleep_s(self) -> float:
        now = time.monotonic()
        if now < self._retry_at:
            return self._retry_at - now
        if self._hints or self._run is not None:
            return 0.0
        due = self._scan_due_in_s(now)
        retain = self._retaining.next_due_s()
        return max(0.0, due if retain is None else min(due, retain))

    def _scan_due_in_s(self, now: float) -> float:
        if not self._scan_wanted:
            return self._scan_ended + self._interval_s - now
        spacing = max(_SCAN_SPACING_S, self._scan_took_s * _SCAN_SHARE) if self.scans else 0.0
        return self._scan_ended + spacing - now

    async def step(self) -> bool:
        """Do one bounded piece of work; says whether there is more to do at once.

        A full disk or a database that cannot be used is noted and tried again; nothing has moved then.
        """
        self._wake = anyio.Event()
        self.progress_ticks += 1
        try:
            busy = await self._capture_some()
            busy = await self._retaining.step() or busy
        except RetaindError as error:
            self.last_error = error
            self._retry_at = time.monotonic() + _RETRY_S
            return False
        self.last_error = None
        return busy

    async def _capture_some(self) -> bool:
        if self._hints:
            spots = [self._hints.pop(path) for path in list(self._hints)[:BATCH]]
            if (await self._round(spots)).waiting:
                self._scan_wanted = True
        if self._run is not None:
            await self._go_on_with_scan(self._run)
        elif self._scan_due_in_s(time.monotonic()) <= 0:
            await self._begin_scan()
        return bool(self._hints) or self._run is not None

    async def settle(self) -> None:
        """Work until nothing is left to do: every byte that can be seen is captured."""
        self._scan_wanted = True
        self._scan_ended = self._scan_took_s = 0.0
        seen = self.scans
        while self.scans == seen or self._hints or self._run is not None:
            await self._capture_some()

    async def _round(self, spots: Sequence[Spot]) -> Round:
        """Capture a batch outside of a scan's verdict."""
        now = time.monotonic()
        ready = [spot for spot in spots if self._hung.get(spot.path, 0.0) <= now]
        try:
            result = await self.capture.round(ready, None)
        except RetaindError:
            self._hints.update((spot.path, spot) for spot in ready)
            raise
        self._absorb(result)
        if any(failed.why == "ENOENT" for failed in result.failed):
            self._absorb(await self.capture.drain_held())
        return result

    def _absorb(self, result: Round) -> None:
        if result.hung is not None:
            self._hung[result.hung] = time.monotonic() + _HUNG_RETRY_S
        for captured in result.captured:
            self.last_commit = time.monotonic()
            self._retaining.note(captured)
        self._hints.update((spot.path, spot) for spot in result.again)
        if self._run is not None:
            self._run.claimed |= result.claimed

    async def _begin_scan(self) -> None:
        started = time.monotonic()
        self._scan_wanted = False
        roots = self._roots()
        self._real_roots = [(root, os.path.realpath(root.path)) for root in roots]
        seen = await anyio.to_thread.run_sync(scan, roots)
        self.last_scan = seen
        run = _ScanRun(seen, deque(), 0)
        for entry in seen.entries:
            if self._is_settled(entry, run):
                continue
            run.queue.append(Spot(entry.path, entry.root, entry.place))
        run.total = len(run.queue)
        self._run = run
        self._scan_took_s = time.monotonic() - started
        self._absorb(await self.capture.drain_held())

    def _is_settled(self, entry: Entry, run: _ScanRun) -> bool:
        """Whether a file is as it was at the last look, with nothing left to capture."""
        tracked = self.capture.index.at_locator(entry.locator)
        if tracked is None or tracked.row.path != entry.path:
            return False
        row = tracked.row
        if row.sighting[2:] != (entry.size, entry.mtime_ns, entry.ctime_ns):
            return False
        unread = row.mode in {"full", "metadata"} and entry.size != row.evidence.captured
        if unread or row.source_state != "present":
            return False
        run.claimed.add(row.stream_id)
        return True

    async def _go_on_with_scan(self, run: _ScanRun) -> None:
        if run.queue:
            spots = [run.queue.popleft() for _ in range(min(BATCH, len(run.queue)))]
            try:
                result = await self._round(spots)
            except RetaindError:
                run.queue.extendleft(spots)
                raise
            run.waiting += result.waiting
            return
        await self._end_scan(run)

    async def _end_scan(self, run: _ScanRun) -> None:
        while run.waiting:
            batch = run.waiting[:BATCH]
            self._absorb(await self.capture.round(batch, run.is_alive))
            del run.waiting[:BATCH]
        await self._note_absent(run)
        self._run = None
        self._scan_ended = time.monotonic()
        self.scans += 1

    async def _note_absent(self, run: _ScanRun) -> None:
        """Count the clean scans that missed a file; the second one, and a look, make it gone."""
        gone = []
        for tracked in self.capture.index:
            if run.is_alive(tracked) or tracked.row.source_state == "gone":
                continue
            tracked.unseen += 1
            if tracked.unseen < _UNSEEN_IS_GONE:
                self._scan_wanted = True
            elif is_there(tracked.row.path) is False:
                gone.append(tracked)
        if not gone:
            return
        ids = [tracked.row.stream_id for tracked in gone]

        def mark(connection: Connection) -> None:
            for stream_id in ids:
                streams.mark_source(connection, stream_id, "gone")

        await self._database.write(mark)
        for tracked in gone:
            self.capture.index.replace(tracked, tracked.row._replace(source_state="gone"))
            self.capture.held.release(tracked.row.stream_id)

    def oddities(self) -> Counter[str]:
        """Return what scans and rounds have counted: links, things that are no files, unreadable files."""
        counted = Counter(self.capture.counters)
        if self.last_scan is not None:
            counted.update(self.last_scan.oddities)
        return counted
