"""Merging of small blocks: at 64 of them, or at 8 once a session has gone quiet."""

import time
from typing import Final

from retaind.db import Connection, Database
from retaind.failpoint import reach
from retaind.runtime.index import Tracked
from retaind.vault import compaction
from retaind.vault.blocks import BlockDamaged

_BUSY: Final = 64
_QUIET: Final = 8
_QUIET_S: Final = 5.0


class Merger:
    """Knows which generations have gathered small blocks, and merges one run at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._candidates: dict[int, tuple[Tracked, float]] = {}

    def note(self, tracked: Tracked) -> None:
        """Take notice of an append."""
        if tracked.small_blocks >= _QUIET:
            self._candidates[tracked.row.generation_id] = (tracked, time.monotonic())

    def next_due_s(self) -> float | None:
        """Return in how many seconds something should be merged, or None."""
        now = time.monotonic()
        due = [self._due_at(tracked, last) for tracked, last in self._candidates.values()]
        return max(0.0, min(due) - now) if due else None

    def _due_at(self, tracked: Tracked, last: float) -> float:
        return last if tracked.small_blocks >= _BUSY else last + _QUIET_S

    async def step(self) -> bool:
        """Merge one run if one is due; says whether it did."""
        now = time.monotonic()
        for generation_id, (tracked, last) in self._candidates.items():
            if self._due_at(tracked, last) > now:
                continue
            idle = tracked.small_blocks < _BUSY
            if not await self._merge(generation_id, idle=idle):
                tracked.small_blocks = 0
                del self._candidates[generation_id]
            return True
        return False

    async def _merge(self, generation_id: int, *, idle: bool) -> bool:
        """Merge one run; a block that cannot be read stays as it is, for `verify` to name."""

        def merge(connection: Connection) -> bool:
            merged = compaction.merge_small(connection, generation_id, idle=idle)
            reach("merge.stored")
            return merged

        try:
            return await self._database.write(merge)
        except BlockDamaged:
            return False
