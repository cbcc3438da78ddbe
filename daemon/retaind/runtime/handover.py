"""The handover of one document: send, accept, poll, complete; each step committed before the next.

Sending again is no second operation, so whatever dies in between, the next start goes on from the row.
"""

import time
from collections.abc import Callable
from typing import Final

import anyio

from retaind.db import Database
from retaind.errors import RetentionError
from retaind.failpoint import reach
from retaind.memory.hindsight import (
    BankMissing,
    Client,
    OperationTaken,
    Refused,
    TooLarge,
)
from retaind.runtime import outbox
from retaind.runtime.missions import Missions
from retaind.runtime.outbox import Address, Delivery

_TRIES: Final = 5
"""A document that fails so often while others are completed is set aside."""
_POLLS_PER_STEP: Final = 10
_SLOWEST_POLLS: Final = 5

Log = Callable[..., object]
Alive = Callable[[], None]
"""Called whenever the server has answered what was asked."""


class Handover:
    """Takes documents through the protocol. Raises the client's faults; the row says where it stands."""

    def __init__(
        self,
        database: Database,
        client: Client,
        to: Address,
        missions: Missions,
        log: Log,
        poll_s: float,
    ) -> None:
        self._database = database
        self.client = client
        self.to = to
        self._missions = missions
        self.log = log
        self.poll_s = poll_s
        self.under_way: set[str] = set()
        self._failed: dict[int, tuple[int, float]] = {}
        self._last_completed = float("-inf")

    async def carry(self, one: Delivery, alive: Alive, accepted: Alive) -> bool:
        """Take a document as far as it goes; False when it is to be tried again after a while.

        `accepted` is called once nothing is left to do but to wait for the server.
        """
        self.under_way.add(one.operation_id)
        try:
            operation = one.operation_id
            if one.state == "planned":
                sent = await self._send(one, alive)
                if isinstance(sent, bool):
                    return sent
                operation = sent
            accepted()
            return await self._follow(one, operation, alive)
        finally:
            self.under_way.discard(one.operation_id)

    async def _send(self, one: Delivery, alive: Alive) -> str | bool:
        """Hand a document over; returns the operation to follow, or what `carry` is to return."""
        await self._missions.tell(one.bank)
        reach("deliver.before_send")
        try:
            operation = await self.client.retain(one.bank, one.item, one.operation_id)
        except OperationTaken:
            known = await self.client.operation(one.bank, one.operation_id)
            if known.status == "not_found":
                await self._database.write(lambda c: outbox.again(c, self.to, one))
                return False
            operation = one.operation_id
        except (Refused, TooLarge) as fault:
            alive()
            await self._lessen(one, fault)
            return True
        reach("deliver.sent")
        alive()
        await self._database.write(lambda c: outbox.accept(c, self.to.memory, one))
        reach("deliver.accepted")
        return operation

    async def _lessen(self, one: Delivery, fault: RetentionError) -> None:
        """Put two smaller documents in the place of one that is refused; a single message is set aside."""
        if await self._database.write(lambda c: outbox.split(c, self.to, one)):
            self.log("document_split", document=one.document_id, why=fault.what)
        else:
            await self._set_aside(one, fault.what)

    async def _set_aside(self, one: Delivery, why: str) -> None:
        await self._database.write(lambda c: outbox.set_aside(c, self.to.memory, one, why))
        self._failed.pop(one.id, None)
        self.log("document_set_aside", document=one.document_id, why=why)

    async def _follow(self, one: Delivery, operation: str, alive: Alive) -> bool:
        """Poll until the server is done, less often the longer it takes."""
        polls = 0
        while True:
            found = await self.client.operation(one.bank, operation)
            alive()
            if found.status == "completed":
                await self._complete(one)
                return True
            if found.status == "failed":
                return await self._after_failure(one, operation)
            if found.status == "not_found":
                await self._database.write(lambda c: outbox.unaccept(c, one))
                return False
            if not found.is_active:
                await self._database.write(lambda c: outbox.again(c, self.to, one))
                return False
            polls += 1
            await anyio.sleep(self.poll_s * min(1 + polls // _POLLS_PER_STEP, _SLOWEST_POLLS))

    async def _complete(self, one: Delivery) -> None:
        reach("deliver.before_completion")
        await self._database.write(lambda c: outbox.complete(c, self.to.memory, one))
        reach("deliver.completed")
        self._last_completed = time.monotonic()
        self._failed.pop(one.id, None)

    async def _after_failure(self, one: Delivery, operation: str) -> bool:
        """Have the server try again; a document that alone fails again and again is set aside."""
        tries, first = self._failed.get(one.id, (0, time.monotonic()))
        if tries >= _TRIES and self._last_completed > first:
            await self._set_aside(one, f"the server failed to retain it {tries + 1} times")
            return True
        self._failed[one.id] = (tries + 1, first)
        self.log("document_failed", document=one.document_id, tries=tries + 1)
        try:
            await self.client.retry(one.bank, operation)
        except (OperationTaken, BankMissing, Refused):
            await self._database.write(lambda c: outbox.again(c, self.to, one))
        return False
