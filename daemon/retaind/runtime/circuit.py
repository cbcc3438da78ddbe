"""The circuit to a server: whether to ask it now, and how long to leave it alone after it failed."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

_TRIES: Final = 3
"""So many failures of single requests in a row say that the server as a whole is in trouble."""
_CAP_POLLS: Final = 150
_PAUSE_POLLS: Final = 30
_DOUBLINGS: Final = 12
_PAST: Final = 1e-9

State = Literal["closed", "open", "half_open"]


def backoff_s(failures: int, base_s: float, dice: Callable[[], float] = random.random) -> float:
    """Return how long to wait after the n-th failure in a row: doubled each time, capped, with jitter."""
    longest = min(base_s * 2.0 ** min(failures - 1, _DOUBLINGS), base_s * _CAP_POLLS)
    return longest * (0.5 + dice() / 2)


@dataclass(slots=True)
class Circuit:
    """Closed: ask. Open until `until`: do not. Half open: one question shows how things are.

    `allowed_at` is how long the server itself has asked to be left alone.
    `paused` names what only the user can mend; it is looked at again from time to time. Times are of
    the monotonic clock, `poll_s` is what the waiting is measured in.
    """

    poll_s: float
    failures: int = 0
    until: float = 0.0
    allowed_at: float = 0.0
    paused: str = ""
    detail: str = ""

    def state(self, now: float) -> State:
        """Say how the circuit is."""
        if not self.until:
            return "closed"
        return "open" if now < self.until else "half_open"

    def permits(self, now: float, under_way: int) -> bool:
        """Whether one more request may be sent, with so many under way."""
        state = self.state(now)
        return state == "closed" or (state == "half_open" and not under_way)

    def succeed(self, now: float) -> bool:
        """Close, unless it is to stay open for a while yet; says whether that is news.

        What was asked before it opened says nothing about how long the server wants to be left alone.
        """
        if self.state(now) == "open":
            return False
        was_open = bool(self.until)
        self.failures, self.until, self.paused, self.detail = 0, 0.0, "", ""
        return was_open

    def fail(self, now: float, detail: str, *, whole: bool, wait_s: float | None) -> bool:
        """Note a failure, of the server as a whole or of one request; says whether that opens it."""
        was_open = bool(self.until)
        self.failures += 1
        self.detail = detail
        if not (whole or was_open or self.failures >= _TRIES):
            return False
        if wait_s is not None:
            self.allowed_at = max(self.allowed_at, now + wait_s)
        wait = backoff_s(self.failures, self.poll_s) if wait_s is None else wait_s
        self.until = max(self.until, now + wait)
        return not was_open

    def pause(self, now: float, why: str) -> bool:
        """Stop asking until the user has mended something; says whether that is news."""
        news = self.paused != why
        self.paused = self.detail = why
        self.until = now + self.poll_s * _PAUSE_POLLS
        return news

    def look_now(self) -> None:
        """Ask at the next opportunity, because something has changed; but not before the server allows it."""
        if self.until:
            self.until = max(self.allowed_at, _PAST)
