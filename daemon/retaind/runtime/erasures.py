"""Documents of forgotten sessions leave a remote memory, too: durably, and after whatever is under way.

A delivery that was on its way when its session was forgotten may still arrive. Its document is erased once
the server is done with it, or has never heard of it for longer than a request can take.
"""

import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

import anyio

from retaind.db import Connection, Database
from retaind.errors import RetaindError
from retaind.memory.hindsight import Client
from retaind.runtime.circuit import backoff_s

_LONGEST_SLEEP_S: Final = 3600.0
_ARRIVES_S: Final = 60.0
"""A document that the server does not know so long after it was forgotten is not on its way any more."""


class Erasure(NamedTuple):
    """A document to erase; `operation_id` is that of a delivery that must end first. See the schema."""

    id: int
    bank: str
    document_id: str
    operation_id: str | None
    created: float


class Erasures:
    """Works off what one memory is to erase. `run` is its task.

    `under_way` has the operations that this process is sending or following right now.
    """

    def __init__(
        self,
        database: Database,
        client: Client,
        memory: str,
        under_way: AbstractSet[str],
        log: Callable[..., object],
        poll_s: float,
    ) -> None:
        self._database = database
        self._client = client
        self._memory = memory
        self._under_way = under_way
        self._log = log
        self._poll_s = poll_s
        self._wake = anyio.Event()

    def announce(self) -> None:
        """Say that there is something to erase."""
        self._wake.set()

    async def run(self) -> None:
        """Erase until cancelled; a server that fails is asked again, later each time."""
        failures = 0
        while True:
            self._wake = anyio.Event()
            waits = _LONGEST_SLEEP_S
            try:
                if await self._work_off():
                    waits = self._poll_s
                failures = 0
            except RetaindError as error:
                failures += 1
                waits = backoff_s(failures, self._poll_s)
                self._log("remote_erasure_failed", why=error.what)
            with anyio.move_on_after(waits):
                await self._wake.wait()

    async def _work_off(self) -> bool:
        """Erase what can be erased now; says whether something is left."""
        left = False
        for one in await self._database.read(lambda c: _rows(c, self._memory, self._client.url)):
            if await self._is_under_way(one):
                left = True
                continue
            await self._client.forget(one.bank, one.document_id)
            await self._database.write(lambda c, one=one: _settle(c, one))  # type: ignore[misc]
        return left

    async def _is_under_way(self, one: Erasure) -> bool:
        if one.operation_id is None:
            return False
        if one.operation_id in self._under_way:
            return True
        operation = await self._client.operation(one.bank, one.operation_id)
        if operation.status == "not_found":
            return time.time() < one.created + _ARRIVES_S
        return operation.is_active


def waiting(connection: Connection, memory: str) -> int:
    """Return how many documents a memory is still to erase, at whatever address."""
    row = connection.execute(
        "SELECT count(*) FROM remote_erasure WHERE memory = ?", (memory,)
    ).fetchone()
    return int(row[0])


def _rows(connection: Connection, memory: str, url: str) -> list[Erasure]:
    rows = connection.execute(
        "SELECT id, bank, document_id, operation_id, created FROM remote_erasure"
        " WHERE memory = ? AND url = ? ORDER BY id",
        (memory, url),
    )
    return [Erasure._make(row) for row in rows.fetchall()]


def _settle(connection: Connection, one: Erasure) -> None:
    """Forget the erasure itself, and what a delivery that ended meanwhile has left of the document."""
    connection.execute("DELETE FROM remote_erasure WHERE id = ?", (one.id,))
    connection.execute(
        "DELETE FROM result WHERE json_extract(body, '$.document_ids[0]') = ?", (one.document_id,)
    )
