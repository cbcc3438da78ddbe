"""Capture: from paths that may have news to committed bytes. Knows nothing of what the bytes mean.

One round examines a batch of files on a worker thread, decides about each, reads what is new, and commits
blocks, offsets and evidence in one transaction. Whatever dies in between, the next round finds the file
and the database as they are and goes on from the committed offset.
"""

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

import anyio

from retaind.core.policy import Exclusion
from retaind.db import Connection, Database
from retaind.failpoint import reach
from retaind.runtime.admission import Admission, Admitted, is_settled, readmitted
from retaind.runtime.apply import Filled, Order, Spot, apply, is_news, store
from retaind.runtime.decide import Act, Completed
from retaind.runtime.examine import (
    ChangedWhileReadError,
    Examined,
    Failed,
    Taken,
    drain,
    examine,
    has_news,
    open_again,
    take,
)
from retaind.runtime.index import Index, Tracked, load_index
from retaind.runtime.opened import Held
from retaind.runtime.orders import sort_out
from retaind.runtime.patience import Patience
from retaind.runtime.rounds import Captured, Round, Unread
from retaind.runtime.unreadable import Unreadable
from retaind.vault import streams
from retaind.vault.streams import OpenGeneration

T = TypeVar("T")

BATCH: Final = 8
"""Files examined together; their descriptors are open at the same time."""

_READ_S: Final = 15.0
_SHORT_OF_DESCRIPTORS: Final = frozenset({"EMFILE", "ENFILE"})


class Capture:
    """Turns paths into committed bytes. One task calls `round`; counters are for `status`."""

    def __init__(self, database: Database, admission: Admission) -> None:
        self._database = database
        self.admission = admission
        self.index = Index()
        self.held = Held()
        self.counters: Counter[str] = Counter()
        self.captured_bytes = 0
        self.unreadable = Unreadable()
        self.patience = Patience()
        self._turn = anyio.Lock(fast_acquire=True)

    async def load(self) -> None:
        """Take in what the database knows; under today's rules some streams may now be off."""
        self.index, self.captured_bytes = await self._database.read(load_index)
        await self.apply_rules(self.admission.exclusion)

    async def apply_rules(self, exclusion: Exclusion) -> None:
        """Go by these rules from now on; streams that they exclude give no more bytes."""
        async with self._turn:
            self.admission = replace(self.admission, exclusion=exclusion)
            changed = readmitted(self.admission, self.index)
            if changed:
                rows = [row for _, row in changed]
                await self._database.write(lambda connection: _store_modes(connection, rows))
            for tracked, row in changed:
                self.index.replace(tracked, row)
                self.held.release(row.stream_id)

    async def round(self, spots: Sequence[Spot], scan: Completed | None) -> Round:
        """Look at a few files and commit what is new; at most `BATCH` of them.

        Raises DiskFull or StateError when the commit fails: nothing has moved then.
        """
        async with self._turn:
            result = Round()
            files = await self._examined(spots, result)
            found = sort_out(files, {s.path: s for s in spots}, self.index, scan)
            result.waiting += found.waiting
            result.claimed |= found.claimed
            for file in found.idle:
                self.unreadable.works(file.path)
                file.opened.close()
            await self._carry_out(found.orders, result)
            return result

    async def drain_held(self) -> Round:
        """Read on through held descriptors whose path leads elsewhere or nowhere by now."""
        async with self._turn:
            result = Round()
            jobs = [t for sid in self.held.stream_ids() if (t := self.index.stream(sid))]
            worked = await self.patience.work_off(
                [(t.path, t) for t in jobs if not self.patience.is_stuck(t.path)],
                lambda tracked: (tracked, has_news(self.held, tracked)),
                _let_go,
            )
            for tracked, grown in worked.results:
                while grown and await self._drain(tracked, result):
                    pass
            # A descriptor that can be read says nothing of the path: no stream counts as met by this.
            result.claimed.clear()
            return result

    async def _drain(self, tracked: Tracked, result: Round) -> bool:
        """Read and commit a part of what a held descriptor has; says whether there is more."""
        worked = await self.patience.work_off(
            [(tracked.path, tracked)], lambda one: drain(self.held, one), _let_go
        )
        taken = worked.results[0] if worked.results else None
        if taken is None or not taken.raw:
            return False
        row = tracked.row
        await self._database.write(lambda c: store(c, row, taken))
        self._settle(tracked, row, taken, result)
        return taken.more

    async def hold_recent(self) -> None:
        """Hold the files that were written last, as far as none is held for them yet."""
        async with self._turn:
            recent = self.index.recent(self.held.room)
            missing = [t for t in recent if not self.held.get(t.stream_id)]
            worked = await self.patience.work_off(
                [(t.path, t) for t in missing if not self.patience.is_stuck(t.path)],
                lambda tracked: (tracked, open_again(tracked)),
                lambda found: found[1].close() if found[1] else None,
            )
            for tracked, opened in worked.results:
                if opened is not None:
                    self.held.keep(tracked.stream_id, opened)

    async def _examined(self, spots: Sequence[Spot], result: Round) -> list[Examined]:
        worked = await self.patience.work_off(
            [(spot.path, spot) for spot in spots],
            lambda spot: examine(spot.path, self.index),
            lambda one: one.opened.close() if isinstance(one, Examined) else None,
        )
        result.again += worked.left
        for failed in worked.results:
            if isinstance(failed, Failed):
                self._note_failure(failed, result)
        return [one for one in worked.results if isinstance(one, Examined)]

    async def _carry_out(self, orders: Sequence[Order], result: Round) -> None:
        stuck = None
        try:
            worked = await self.patience.work_off(
                [(order.spot.path, order) for order in orders],
                self._fill,
                lambda one: one.order.file.opened.close(),
                _READ_S,
            )
            stuck = worked.stuck
            result.again += [order.spot for order in worked.left]
            reach("capture.read")
            await self._commit([one for one in worked.results if isinstance(one, Filled)], result)
            result.again += [
                one.order.spot for one in worked.results if isinstance(one, Unread) and one.changed
            ]
        finally:
            self._close_unheld([order for order in orders if order.spot.path != stuck])

    def _note_failure(self, failed: Failed, result: Round) -> None:
        """Something that cannot be opened now is not gone: its stream counts as seen."""
        result.failed.append(failed)
        tracked = self.index.at_path(failed.path)
        if failed.why in _SHORT_OF_DESCRIPTORS:
            self.counters["short_of_descriptors"] += 1
            self.held.close()
        if tracked is not None and failed.why != "ENOENT":
            result.claimed.add(tracked.stream_id)
        self.unreadable.judge(failed.path, failed.why)

    def _fill(self, order: Order) -> Filled | Unread:
        """Read what an order asks for, on a worker thread."""
        try:
            filled = self._fill_one(order)
        except ChangedWhileReadError:
            self.counters["changed_while_read"] += 1
            return Unread(order, changed=True)
        except OSError as error:
            self.unreadable.note(order.file.path, error)
            return Unread(order, changed=False)
        self.unreadable.works(order.file.path)
        return filled

    def _fill_one(self, order: Order) -> Filled | Unread:
        admitted = self._admit(order)
        opened, known = order.file.opened, order.known
        if self._is_forgotten(order, admitted):
            if order.decision.tracked is None:
                return Unread(order, changed=False)
            admitted = admitted._replace(mode="off")
        if admitted.mode in {"off", "listed"} or not admitted.decided:
            return Filled(order, admitted, Taken(known, opened.sight()))
        return Filled(order, admitted, take(opened, known, before=order.frontier))

    def _is_forgotten(self, order: Order, admitted: Admitted) -> bool:
        tracked, spot = order.decision.tracked, order.spot
        known = tracked is not None and is_settled(tracked)
        if known and order.decision.act is not Act.REWRITE:
            return False
        opened = order.file.opened
        return self.admission.is_forgotten(
            spot.root.host, spot.place, opened, admitted, known=known
        )

    async def forget(self, stream_ids: Iterable[int], erase: Callable[[], Awaitable[T]]) -> T:
        """Erase streams by `erase`, and know nothing of them any more once that is done."""
        async with self._turn:
            result = await erase()
            for stream_id in stream_ids:
                self.held.release(stream_id)
                gone = self.index.remove(stream_id)
                self.captured_bytes -= gone.row.evidence.captured if gone is not None else 0
            return result

    def _admit(self, order: Order) -> Admitted:
        tracked, spot = order.decision.tracked, order.spot
        if tracked is not None and spot.place.kind != "attachment" and is_settled(tracked):
            row = tracked.row
            return Admitted(row.mode, row.cwd, row.project, True, row.owner_session)
        return self.admission.admit(
            spot.root.host, spot.path, spot.place, order.file.opened, self.index
        )

    async def _commit(self, filled: Sequence[Filled], result: Round) -> None:
        changed = [one for one in filled if is_news(one)]
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


def _let_go(_: object) -> None:
    """Do nothing about a result that nobody waits for."""


def _store_modes(connection: Connection, rows: Sequence[OpenGeneration]) -> None:
    for row in rows:
        streams.pin_facts(connection, row.stream_id, row.cwd, row.project, row.mode)
