"""A scan whose findings are being worked off: what is queued, what was met, what waits for its end."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from retaind.runtime.apply import Spot
from retaind.runtime.index import Index, Tracked
from retaind.runtime.scan import Entry, Scan
from retaind.vault.identity import Locator


@dataclass(slots=True)
class ScanRun:
    """One scan under way. `claimed` are the streams whose files it has met."""

    seen: Scan
    queue: deque[Spot]
    total: int
    total_bytes: int
    claimed: set[int] = field(default_factory=set)
    waiting: list[Spot] = field(default_factory=list)
    _met: dict[bytes, Locator] = field(default_factory=dict)

    @classmethod
    def begin(cls, seen: Scan, index: Index) -> "ScanRun":
        """Queue what is new or changed; what is as it was counts as met."""
        run = cls(seen, deque(), 0, 0)
        for entry in seen.entries:
            tracked = _settled(entry, index)
            if tracked is None:
                run.queue.append(Spot(entry.path, entry.root, entry.place))
                run.total_bytes += entry.size
            else:
                run.claimed.add(tracked.row.stream_id)
        run.total = len(run.queue)
        return run

    def is_alive(self, tracked: Tracked) -> bool:
        """Whether this scan met the file of a stream, or could not have met it."""
        return self.has_met(tracked) or not self.seen.can_see(tracked.row.path)

    def has_met(self, tracked: Tracked) -> bool:
        """Whether this scan met the file of a stream."""
        return tracked.row.stream_id in self.claimed

    def shows(self, path: bytes, where: Locator) -> bool:
        """Whether this is the file that the scan met at the path."""
        if not self._met:
            self._met = {entry.path: entry.locator for entry in self.seen.entries}
        return self._met.get(path) == where

    def next_batch(self, size: int) -> list[Spot]:
        """Take the next spots from the queue."""
        return [self.queue.popleft() for _ in range(min(size, len(self.queue)))]

    def put_back(self, spots: Iterable[Spot]) -> None:
        """Return spots that could not be worked off."""
        self.queue.extendleft(spots)


def _settled(entry: Entry, index: Index) -> Tracked | None:
    """Return the stream of a file that is as it was at the last look, with nothing left to capture."""
    tracked = index.at_locator(entry.locator)
    if tracked is None or tracked.row.path != entry.path:
        return None
    row = tracked.row
    if row.sighting[2:] != (entry.size, entry.mtime_ns, entry.ctime_ns):
        return None
    unread = row.mode in {"full", "metadata", "held"} and entry.size != row.evidence.captured
    return None if unread or row.source_state != "present" else tracked
