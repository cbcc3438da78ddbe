"""Renewals in the running daemon: what a rebuild of a remote memory would cost, its beginning and its end."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import anyio

from retaind.db import Connection, Database
from retaind.errors import RetaindError
from retaind.runtime import backfill, cursors, renewal
from retaind.runtime.backfill import Ledger
from retaind.runtime.erasures import Erasures
from retaind.runtime.outbox import Address
from retaind.runtime.pending import Pending
from retaind.runtime.rebuild import Chosen, Holding, Rebuilt, chosen
from retaind.runtime.renewal import Had
from retaind.runtime.retention import Retention

_LOOK_S: Final = 0.5
_UNDER_WAY: Final = "under_way"


class Renewals:
    """Begins and ends the renewals of one memory. `run` is its task, which ends what has arrived."""

    def __init__(
        self,
        database: Database,
        to: Address,
        retention: Retention,
        erasures: Erasures,
        log: Callable[..., object],
    ) -> None:
        self._database = database
        self._to = to
        self.retention = retention
        self._erasures = erasures
        self._log = log
        self._wake = anyio.Event()
        self._changed = anyio.Event()
        self.open: frozenset[int] = frozenset()

    async def preview(self, only: Sequence[int] | None) -> Rebuilt:
        """Return what rebuilding these sessions, or all, would send; nothing is written."""
        found = Rebuilt()
        wanted = await self._database.read(lambda c: self._chosen(c, only, found))
        mine = frozenset(had.generation_id for _, generations in wanted for had in generations)
        ledger = Ledger(self._to.memory, mine)
        for one, generations in wanted:
            before = await self._database.read(lambda c, one=one: self._holding(c, one))  # type: ignore[misc]
            after = await self._database.read(
                lambda c, one=one, had=generations: self._foreseen(c, one, had, ledger)  # type: ignore[misc]
            )
            found.add(one, before, after)
        return found

    async def begin(self, only: Sequence[int] | None) -> tuple[Rebuilt, dict[Chosen, Holding]]:
        """Begin these sessions anew, or all; returns what is left as it is, and what those had."""
        found = Rebuilt(complete=False)
        begun = {}
        policy = self.retention.policy_hash
        for one, _ in await self._database.read(lambda c: self._chosen(c, only, found)):
            before = await self._database.read(lambda c, one=one: self._holding(c, one))  # type: ignore[misc]
            if await self._database.write(
                lambda c, one=one: renewal.begin(c, self._to, one.id, policy)  # type: ignore[misc]
            ):
                begun[one] = before
            else:
                found.skip(_UNDER_WAY)
        self.open |= {one.id for one in begun}
        self._wake.set()
        return found, begun

    async def end(self, found: Rebuilt, begun: Mapping[Chosen, Holding]) -> None:
        """Wait until these sessions have arrived, and account for what the memory has of them now."""
        wanted = {one.id for one in begun}
        while wanted & self.open:
            await self._changed.wait()
        for one, before in begun.items():
            after = await self._database.read(lambda c, one=one: self._holding(c, one))  # type: ignore[misc]
            found.add(one, before, after)
        found.complete = True

    async def run(self) -> None:
        """End renewals as they arrive, until cancelled; those of an earlier process too."""
        while True:
            self._wake = anyio.Event()
            try:
                await self._settle()
            except RetaindError as error:
                self._log("renewal_waits", why=error.why)
            with anyio.move_on_after(_LOOK_S if self.open else float("inf")):
                await self._wake.wait()

    async def _settle(self) -> None:
        memory = self._to.memory
        before = self.open
        there = await self._database.read(lambda c: renewal.under_way(c, memory))
        self.open = frozenset(one.stream_id for one in there)
        for one in there:
            if await self._database.write(lambda c, one=one: renewal.settle(c, memory, one)):  # type: ignore[misc]
                self.open -= {one.stream_id}
                self._erasures.announce()
                self._log("renewed", stream=one.stream_id)
        if self.open != before:  # those of sessions that were forgotten have ended, too
            self._changed.set()
            self._changed = anyio.Event()

    def _chosen(
        self, connection: Connection, only: Sequence[int] | None, found: Rebuilt
    ) -> list[tuple[Chosen, list[Had]]]:
        """Return the sessions of which something was retained, each behind what it was copied from."""
        kept = []
        for one in chosen(connection, only):
            generations = renewal.had(connection, self._to.memory, one.id)
            if not any(had.start < had.offset for had in generations):
                continue
            if one.why_not is None:
                kept.append((one, generations))
            else:
                found.skip(one.why_not)
        return kept

    def _holding(self, connection: Connection, one: Chosen) -> Holding:
        """Return what the memory has of a session."""
        records, retained = cursors.accounted(connection, self._to.memory, one.id)
        tokens = connection.execute(
            "SELECT coalesce(sum(tokens), 0) FROM delivery"
            " WHERE memory = ? AND stream_id = ? AND state = 'completed'",
            (self._to.memory, one.id),
        ).fetchone()[0]
        return Holding(records, retained, tokens)

    def _foreseen(
        self, connection: Connection, one: Chosen, generations: Sequence[Had], ledger: Ledger
    ) -> Holding:
        """Return what the memory would have of the same bytes."""
        host, kind = connection.execute(
            "SELECT host, kind FROM stream WHERE id = ?", (one.id,)
        ).fetchone()
        reader, policy = self.retention.hosts[host], self.retention.policy
        records = retained = tokens = 0
        for had in generations:
            pending = Pending.known(
                one.id, had.generation_id, had.n, had.start, had.offset, closed=had.closed
            )
            made = backfill.foresee(connection, pending, reader, kind, policy, ledger)
            records += made.records + had.passed_over
            retained += made.retained
            tokens += made.tokens
        return Holding(records, retained, tokens)
