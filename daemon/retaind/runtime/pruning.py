"""How long the vault keeps bytes (`vault.keep`): what may be given up, and giving it up bit by bit.

Nothing is given up that a memory in use has not completed or dropped, whatever its age.
"""

import json
import time
from collections.abc import Callable, Sequence
from typing import Final, Literal

import anyio

from retaind.db import Connection, Database
from retaind.errors import RetaindError
from retaind.failpoint import reach
from retaind.vault.blocks import BlockDamaged
from retaind.vault.pruning import prune

Keep = Literal["forever", "retained"] | int

_DAY_S: Final = 86_400.0
_QUIET_S: Final = 3600.0
"""A session that is kept until it is retained is left alone for so long: it may be asked about."""
_FIRST_S: Final = 2.0
_EVERY_S: Final = 900.0
_BLOCKS_AT_ONCE: Final = 16

_OPEN: Final = (
    "SELECT min(d.start) FROM delivery d WHERE d.stream_id = s.id AND d.generation_id = g.id"
    " AND d.state != 'completed' AND d.memory IN (SELECT value FROM json_each(:memories))"
)
_BEHIND: Final = (
    "SELECT min(coalesce((SELECT c.offset FROM cursor c"
    "  WHERE c.memory = m.value AND c.generation_id = g.id), 0)) FROM json_each(:memories) m"
)
_PRUNABLE: Final = (
    "SELECT id, upto FROM ("  # noqa: S608 - our own words
    " SELECT g.id, min(g.captured,"
    f"  CASE s.kind WHEN 'attachment' THEN g.captured ELSE coalesce(({_BEHIND}), g.captured) END,"
    f"  coalesce(({_OPEN}), g.captured)) AS upto"
    " FROM generation g JOIN stream s ON s.id = g.stream_id"
    " WHERE s.last_activity < :before AND (:attachments OR s.kind != 'attachment')"
    ") WHERE EXISTS (SELECT 1 FROM block b WHERE b.generation_id = id AND b.data IS NOT NULL"
    "  AND b.start + b.length <= upto)"
)

Log = Callable[..., object]


class Pruner:
    """Gives up what the user does not want to be kept. `memories` are those in use."""

    def __init__(self, database: Database, keep: Keep, memories: Sequence[str], log: Log) -> None:
        self._database = database
        self._keep: Keep = keep
        self._memories = tuple(memories)
        self._log = log
        self._damaged: set[int] = set()

    async def run(self) -> None:
        """Prune now and then, until cancelled."""
        if self._keep == "forever" or (self._keep == "retained" and not self._memories):
            return
        await anyio.sleep(_FIRST_S)
        while True:
            try:
                await self._pass()
            except RetaindError as error:
                self._log("prune_failed", error=str(error))
            await anyio.sleep(_EVERY_S)

    async def _pass(self) -> None:
        found = await self._database.read(lambda c: self._prunable(c, time.time()))
        for generation_id, upto in found:
            while generation_id not in self._damaged and await self._step(generation_id, upto):
                pass

    def _prunable(self, connection: Connection, now: float) -> list[tuple[int, int]]:
        """Return (generation, offset up to which it may be given up) of what may be given up.

        Where the clock is far ahead of all activity, age is counted from the last activity instead.
        """
        newest = connection.execute("SELECT max(last_activity) FROM stream").fetchone()[0]
        age_s = self._keep * _DAY_S if isinstance(self._keep, int) else _QUIET_S
        values = {
            "before": min(now, (newest or 0.0) + _DAY_S) - age_s,
            "memories": json.dumps(self._memories),
            "attachments": isinstance(self._keep, int),
        }
        return connection.execute(_PRUNABLE, values).fetchall()

    async def _step(self, generation_id: int, upto: int) -> bool:
        """Give up a few blocks in a transaction of their own; says whether there were any."""

        def work(connection: Connection) -> int:
            given_up = prune(connection, generation_id, upto, _BLOCKS_AT_ONCE)
            reach("vault.pruned")
            return given_up

        try:
            return await self._database.write(work) > 0
        except BlockDamaged:
            self._damaged.add(generation_id)  # `verify` names it
            return False
