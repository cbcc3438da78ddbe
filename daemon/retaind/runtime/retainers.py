"""Several memories, each with a retainer of its own, as the one that the engine and its loop know."""

from collections.abc import Collection, Mapping
from typing import Final

from retaind.runtime.retain import Retainer
from retaind.runtime.rounds import Captured

PROMPT: Final = frozenset({"local"})
"""The memories that keep up at once; the others are asked by name."""


class Retainers:
    """Notices for all, steps of each in turn; those that are not `PROMPT` are forced by name only."""

    def __init__(self, retainers: Mapping[str, Retainer]) -> None:
        self._retainers = retainers

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the memories."""
        return tuple(self._retainers)

    async def load(self) -> None:
        """Find what each has to catch up with."""
        for retainer in self._retainers.values():
            await retainer.load()

    def note(self, captured: Captured) -> None:
        """Take notice of bytes that were just committed."""
        for retainer in self._retainers.values():
            retainer.note(captured)

    async def step(self) -> bool:
        """Do a bounded piece of what is due in each; says whether more is due now in any."""
        busy = False
        for retainer in self._retainers.values():
            busy = await retainer.step() or busy
        return busy

    def has(self, memory: str) -> bool:
        """Whether a memory is in use."""
        return memory in self._retainers

    def drop_stream(self, stream_id: int) -> None:
        """Let go of a stream that is gone, everywhere."""
        for retainer in self._retainers.values():
            retainer.drop_stream(stream_id)

    def next_due_s(self) -> float | None:
        """Return in how many seconds something falls due, or None."""
        dues = [retainer.next_due_s() for retainer in self._retainers.values()]
        return min((due for due in dues if due is not None), default=None)

    def is_far_behind(self) -> bool:
        """Whether any has so much at hand that more of it should wait."""
        return any(retainer.is_far_behind() for retainer in self._retainers.values())

    def force(self, stream_ids: frozenset[int] | None, names: Collection[str] = PROMPT) -> None:
        """Make all that is pending due now, of some streams or of all, in the memories named."""
        for name, retainer in self._retainers.items():
            if name in names:
                retainer.force(stream_ids)

    def force_all(self) -> None:
        """Make everything due now, everywhere."""
        self.force(None, self._retainers.keys())

    def pending_bytes(self) -> int:
        """Return how many captured bytes wait in the memory that is furthest behind."""
        return max((retainer.queue.bytes() for retainer in self._retainers.values()), default=0)
