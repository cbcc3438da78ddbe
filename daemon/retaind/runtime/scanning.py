"""A scan whose findings are being worked off: what is queued, what was met, what waits for its end."""

import os
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from retaind.runtime.apply import Spot
from retaind.runtime.index import Index, Tracked
from retaind.runtime.scan import Entry, Root, Scan, scan
from retaind.vault.identity import Locator


@dataclass(slots=True)
class ScanRun:
    """One scan under way. `claimed` are the streams whose files it has met."""

    seen: Scan
    queue: deque[Spot]
    total: int
    claimed: set[int]
    waiting: list[Spot] = field(default_factory=list)
    _met: dict[bytes, Locator] = field(default_factory=dict)

    def is_alive(self, tracked: Tracked) -> bool:
        """Whether this scan met the file of a stream, or could not have met it."""
        return self.has_met(tracked) or not self.seen.can_see(tracked.path)

    def has_met(self, tracked: Tracked) -> bool:
        """Whether this scan met the file of a stream."""
        return tracked.stream_id in self.claimed

    def shows(self, path: bytes, where: Locator) -> bool:
        """Whether this is the file that the scan met at the path. Of a settled one nobody asks."""
        if not self._met:
            self._met = {entry.path: entry.locator for entry in self.seen.entries}
        return self._met.get(path) == where

    def next_batch(self, size: int) -> list[Spot]:
        """Take the next spots from the queue."""
        return [self.queue.popleft() for _ in range(min(size, len(self.queue)))]

    def put_back(self, spots: Iterable[Spot]) -> None:
        """Return spots that could not be worked off."""
        self.queue.extendleft(spots)


def look_around(roots: Sequence[Root], index: Index) -> tuple[list[tuple[Root, bytes]], ScanRun]:
    """Scan, and return with it the real path of each root as it is now.

    What is new or changed is queued; what is settled counts as met.
    """
    real = [(root, os.path.realpath(root.path)) for root in roots]
    seen = scan(roots, partial(_settled, index))
    queue = deque(Spot(entry.path, entry.root, entry.place) for entry in seen.entries)
    return real, ScanRun(seen, queue, len(queue), set(seen.settled.values()))


def _settled(index: Index, entry: Entry) -> Tracked | None:
    """Return the stream of a file that is as it was at the last look, with nothing left to capture."""
    tracked = index.at_locator(entry.locator)
    if tracked is None or tracked.path != entry.path:
        return None
    row = tracked.row
    if row.sighting[2:] != (entry.size, entry.mtime_ns, entry.ctime_ns):
        return None
    unread = row.mode in {"full", "metadata", "held"} and entry.size != row.evidence.captured
    return None if unread or row.source_state != "present" else tracked
