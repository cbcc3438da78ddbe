"""When the next scan is due: at an interval, or soon when it is wanted, but never too much of the time."""

import time
from typing import Final

_SPACING_S: Final = 0.25
_SHARE: Final = 20
"""Scans on demand take at most this fraction of the time: 1 part in 20."""


class Schedule:
    """Remembers when scans ended and what they took. Times are of the monotonic clock."""

    def __init__(self, interval_s: float) -> None:
        self.interval_s = interval_s
        self.done = 0
        self._wanted = True
        self._ended = 0.0
        self._took_s = 0.0

    def want(self) -> None:
        """Ask for a scan as soon as the spacing between scans allows it."""
        self._wanted = True

    def hurry(self) -> None:
        """Ask for a scan at once."""
        self._wanted = True
        self._ended = self._took_s = 0.0

    def due_in_s(self, now: float) -> float:
        """Return in how many seconds the next scan is due; 0 or less is now."""
        if not self._wanted:
            return self._ended + self.interval_s - now
        spacing = max(_SPACING_S, self._took_s * _SHARE) if self.done else 0.0
        return self._ended + spacing - now

    def begin(self) -> None:
        """Note that a scan begins: whatever asked for it is answered by it."""
        self._wanted = False

    def looked(self, started: float) -> None:
        """Note that the looking of a scan, begun at `started`, is over."""
        self._took_s = time.monotonic() - started

    def end(self) -> None:
        """Note that a scan's findings are worked off."""
        self._ended = time.monotonic()
        self.done += 1
