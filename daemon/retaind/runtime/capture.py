"""Capture: from paths that may have news to committed bytes. Knows nothing of what the bytes mean.

One round examines a batch of files on a worker thread, decides about each, reads what is new, and commits
blocks, offsets and evidence in one transaction. Whatever dies in between, the next round finds the file
and the database as they are and goes on from the committed offset.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import anyio
import anyio.to_thread

from retaind.core.policy import Exclusion
from retaind.db import Connection, Database
from retaind.failpoint import reach
from retaind.runtime.admission import Admission, Admitted, is_settled, readmitted
from retaind.runtime.apply import Filled, Order, Spot, append_all, apply
from retaind.runtime.decide import Act, Decision, IsAlive, decide
from retaind.runtime.examine import Examined, Failed, Progress, Taken, drain, examine, take
from retaind.runtime.index import Index, Tracked
from retaind.runtime.opened import Held
from retaind.vault import streams
from retaind.vault.streams import OpenGeneration

BATCH: Final = 8
"""Files examined together; their descriptors are open at the same time."""

_HANG_S: Final = 5.0
_BLIND: Final = frozenset({"EACCES", "EPERM", "EIO", "ENOTCONN", "ESTALE", "ETIMEDOUT"})
_SHORT_OF_DESCRIPTORS: Final = frozenset({"EMFILE", "ENFILE"})


class Captured(NamedTuple):
    """What a round committed for one generation; `raw` are the bytes that followed the old offset."""

    tracked: Tracked
    before: OpenGeneration | None
    raw: tuple[tuple[int, bytes], ...]


@dataclass(slots=True)
class Round:
    """What one round did, and which paths it leaves for later."""

    captured: list[Captured] = field(default_factory=list)
    claimed: set[int] = field(default_factory=set)
    waiting: list[Spot] = field(default_factory=list)
    again: list[Spot] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    hung: bytes | None = None


class Capture:
    """Turns paths into committed bytes. One task calls `round`; counters are for `status`."""

    def __init__(self, database: Database, admission: Admission) -> None:
        self._database = database
        self.admission = admission
        self.index = Index()
        self.held = Held()
        self.counters: Counter[str] = Counter()
        self.captured_bytes = 0
        self._workers = anyio.CapacityLimiter(4)

    async def load(self) -> None:
        """Take in what the database knows; under today's rules some streams may now be off."""
        rows = await self._database.read(streams.load_open)
        for row in rows:
            self.index.add(row)
            self.captured_bytes += row.evidence.captured
        await self.apply_rules(self.admission.exclusion)

    async def apply_rules(self, exclusion: Exclusion) -> None:
        """Go by these rules from now on; streams that they exclude give no more bytes."""
        self.admission = replace(self.admission, exclusion=exclusion)
        changed = readmitted(self.admission, self.index)
        if changed:
            rows = [row for _, row in changed]
            await self._database.write(lambda connection: _store_modes(connection, rows))
        for tracked, row in changed:
            self.index.replace(tracked, row)

    async def round(self, spots: Sequence[Spot], is_alive: IsAlive | None) -> Round:
        """Look at a few files and commit what is new; at most `BATCH` of them.

        Raises DiskFull or StateError when the commit fails: nothing has moved then.
        """
        result = Round()
        files = await self._examined(spots, result)
        orders = self._orders(files, {s.path: s for s in spots}, is_alive, result)
        try:
            filled = await anyio.to_thread.run_sync(self._fill, orders, limiter=self._workers)
            reach("capture.read")
            await self._commit(filled, result)
        finally:
            self._close_unheld(orders)
        return result

    async def drain_held(self) -> Round:
        """Read on through held descriptors whose path leads elsewhere or nowhere by now."""
        result = Round()
        jobs = [t for sid in self.held.stream_ids() if (t := self.index.stream(sid)) is not None]
        drained = await anyio.to_thread.run_sync(self._drain_all, jobs, limiter=self._workers)
        if drained:
            await self._database.write(lambda c: append_all(c, drained))
            for tracked, taken in drained:
                self._settle(tracked, tracked.row, taken, result)
        # A descriptor that can be read says nothing of the path: no stream counts as met by this.
        result.claimed.clear()
        return result

    def _drain_all(self, jobs: Sequence[Tracked]) -> list[tuple[Tracked, Taken]]:
        drained = []
        for tracked in jobs:
            try:
                taken = drain(self.held, tracked)
            except OSError:
                self.counters["unreadable"] += 1
                continue
            if taken is not None and taken.raw:
                drained.append((tracked, taken))
        return drained

    async def _examined(self, spots: Sequence[Spot], result: Round) -> list[Examined]:
        progress = Progress()
        paths = [spot.path for spot in spots]
        with anyio.move_on_after(_HANG_S) as limit:
            await anyio.to_thread.run_sync(
                examine, paths, self.index, progress, limiter=self._workers, abandon_on_cancel=True
            )
        done = list(progress.done)
        if limit.cancelled_caught:
            result.hung = progress.path
            self.counters["hung"] += 1
            seen = {one.path for one in done}
            result.again += [s for s in spots if s.path not in seen and s.path != progress.path]
        for failed in done:
            if isinstance(failed, Failed):
                self._note_failure(failed, result)
        return [one for one in done if isinstance(one, Examined)]

    def _note_failure(self, failed: Failed, result: Round) -> None:
        """Something that cannot be opened now is not gone: its stream counts as seen."""
        result.failed.append(failed)
        tracked = self.index.at_path(failed.path)
        if failed.why in _SHORT_OF_DESCRIPTORS:
            self.counters["short_of_descriptors"] += 1
            self.held.close()
        if tracked is not None and failed.why != "ENOENT":
            result.claimed.add(tracked.row.stream_id)
        if failed.why in _BLIND:
            self.counters["unreadable"] += 1

    def _orders(
        self,
        files: Sequence[Examined],
        spots: dict[bytes, Spot],
        is_alive: IsAlive | None,
        result: Round,
    ) -> list[Order]:
        orders: list[Order] = []
        taken: set[object] = set()
        for file in files:
            decision = decide(file, self.index, is_alive)
            if decision.act is Act.CREATE and file.sighting.locator in taken:
                decision = Decision(Act.ALIAS)
            if decision.act is Act.ADOPT and decision.tracked in _adopted(orders):
                decision = Decision(Act.CREATE, parent=decision.tracked)
            taken.add(file.sighting.locator)
            if decision.act is Act.WAIT:
                result.waiting.append(spots[file.path])
            if decision.tracked is not None:
                result.claimed.add(decision.tracked.row.stream_id)
            if decision.act in {Act.WAIT, Act.ALIAS}:
                file.opened.close()
            else:
                orders.append(Order(spots[file.path], file, decision))
        return orders

    def _fill(self, orders: Sequence[Order]) -> list[Filled]:
        filled = []
        for order in orders:
            try:
                filled.append(self._fill_one(order))
            except OSError:
                self.counters["unreadable"] += 1
        return filled

    def _fill_one(self, order: Order) -> Filled:
        admitted = self._admit(order)
        opened, known = order.file.opened, order.known
        if admitted.mode in {"off", "listed"} or not admitted.decided:
            return Filled(order, admitted, Taken(known, opened.sight()))
        return Filled(order, admitted, take(opened, known))

    def _admit(self, order: Order) -> Admitted:
        tracked, spot = order.decision.tracked, order.spot
        if tracked is not None and spot.place.kind != "attachment" and is_settled(tracked):
            row = tracked.row
            return Admitted(row.mode, row.cwd, row.project, True, row.owner_session)
        return self.admission.admit(
            spot.root.host, spot.path, spot.place, order.file.opened, self.index
        )

    async def _commit(self, filled: Sequence[Filled], result: Round) -> None:
        changed = [one for one in filled if self._is_news(one)]
        if not changed:
            return
        now = time.time()
        rows = await self._database.write(lambda c: [apply(c, one, now) for one in changed])
        reach("capture.committed")
        for one, row in zip(changed, rows, strict=True):
            tracked = one.order.decision.tracked
            before = tracked.row if tracked is not None else None
            if tracked is None:
                tracked = self.index.add(row)
            if one.order.decision.act is Act.REWRITE:
                self.counters["rewritten"] += 1
                self.held.release(row.stream_id)
            self._settle(tracked, row, one.taken, result, before)
            if one.taken.raw and row.mode == "full":
                self.held.keep(row.stream_id, one.order.file.opened)
            if one.taken.more:
                result.again.append(one.order.spot)

    def _is_news(self, one: Filled) -> bool:
        tracked = one.order.decision.tracked
        if tracked is None or one.order.decision.act is not Act.CONTINUE:
            return True
        row = tracked.row
        looks_same = row.sighting == one.taken.sighting and row.source_state == "present"
        facts = (row.mode, row.cwd, row.owner_session)
        facts_same = facts == (one.admitted.mode, one.admitted.cwd, one.admitted.owner_session)
        return not (
            looks_same and facts_same and row.path == one.order.spot.path and not one.taken.raw
        )

    def _settle(
        self,
        tracked: Tracked,
        row: OpenGeneration,
        taken: Taken,
        result: Round,
        before: OpenGeneration | None = None,
    ) -> None:
        self.index.replace(
            tracked,
            row._replace(evidence=taken.evidence, sighting=taken.sighting, source_state="present"),
        )
        tracked.unseen = 0
        if taken.raw:
            tracked.small_blocks += 1
            tracked.grew = before is not None
            self.captured_bytes += sum(len(data) for _, data in taken.raw)
        result.claimed.add(row.stream_id)
        result.captured.append(Captured(tracked, before, taken.raw))

    def _close_unheld(self, orders: Sequence[Order]) -> None:
        kept = {self.held.get(sid) for sid in self.held.stream_ids()}
        for order in orders:
            if order.file.opened not in kept:
                order.file.opened.close()


def _adopted(orders: Sequence[Order]) -> list[Tracked | None]:
    return [order.decision.tracked for order in orders if order.decision.act is Act.ADOPT]


def _store_modes(connection: Connection, rows: Sequence[OpenGeneration]) -> None:
    for row in rows:
        streams.pin_facts(connection, row.stream_id, row.cwd, row.project, row.mode)
