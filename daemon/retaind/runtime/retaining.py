"""What the engine asks of retention; implemented for one memory, and for several together."""

from typing import Protocol

from retaind.runtime.rounds import Captured


class Retaining(Protocol):
    """What the engine asks of retention."""

    def note(self, captured: Captured) -> None:
        """Take notice of bytes that were just committed."""

    async def step(self) -> bool:
        """Do a bounded piece of what is due; says whether more is due now."""

    def next_due_s(self) -> float | None:
        """Return in how many seconds something falls due, or None."""

    def is_far_behind(self) -> bool:
        """Whether more raw content should wait until some of what is at hand is retained."""

    def force(self, stream_ids: frozenset[int] | None) -> None:
        """Make all that is pending due now, of some streams or of all."""
