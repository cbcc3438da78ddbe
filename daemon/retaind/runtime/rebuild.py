"""Rebuilding a memory from the vault: under today's policy, parser and extractor.

Sessions are begun anew one after the other, those that were copied before their copies, so that each
record finds its owner again. What a session had stays until its bytes are retained anew; a process that
dies in between goes on with that session at its next start.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, NamedTuple

import anyio

from retaind.db import Connection, Database
from retaind.memory.local import leaving
from retaind.runtime import cursors
from retaind.runtime.pending import Fresh, Pending
from retaind.runtime.retain import Retainer
from retaind.runtime.retention import Retention
from retaind.runtime.window import retain_window

_IDLE_S: Final = 0.05

Step = Callable[[], Awaitable[bool]]
"""The engine's step: so capture goes on meanwhile."""


class Holding(NamedTuple):
    """What a memory has of a session: records accounted for, and those retained; tokens of its documents."""

    records: int
    retained: int
    tokens: int


_NOTHING: Final = Holding(0, 0, 0)


@dataclass(slots=True)
class Rebuilt:
    """What a rebuild did, or would do. `skipped` counts by reason the sessions that stay as they are."""

    sessions: int = 0
    before: Holding = _NOTHING
    after: Holding = _NOTHING
    changed: list[dict[str, Any]] = field(default_factory=list)
    skipped: dict[str, int] = field(default_factory=dict)
    complete: bool = True

    def add(self, stream: "Chosen", before: Holding, after: Holding) -> None:
        """Take one session into the sums, and list it when its numbers change."""
        self.sessions += 1
        self.before = _sum(self.before, before)
        self.after = _sum(self.after, after)
        if before != after:
            facts = {"id": stream.public_id, "session_id": stream.session_id}
            self.changed.append(facts | {"before": before._asdict(), "after": after._asdict()})

    def skip(self, why: str) -> None:
        """Count a session that stays as it is."""
        self.skipped[why] = self.skipped.get(why, 0) + 1

    def facts(self) -> dict[str, Any]:
        """Return it as `rebuild --json` prints it."""
        return asdict(self) | {"before": self.before._asdict(), "after": self.after._asdict()}


class Chosen(NamedTuple):
    """A session that is to be rebuilt; `why_not` says why it cannot be."""

    id: int
    public_id: str
    session_id: str
    why_not: str | None


class Rebuilder:
    """Rebuilds the local memory. Its methods are called between the engine's steps."""

    def __init__(
        self, database: Database, retention: Retention, retainer: Retainer, step: Step
    ) -> None:
        self._database = database
        self._retention = retention
        self._retainer = retainer
        self._step = step

    async def preview(self, only: Sequence[int] | None) -> Rebuilt:
        """Return what a rebuild would do: each session is rebuilt, and the transaction undone."""
        found = Rebuilt()
        for one in await self._database.read(lambda c: chosen(c, only)):
            if _skips(found, one):
                continue
            try:
                await self._database.write(lambda c, one=one: self._try(c, one))  # type: ignore[misc]
            except _UndoneError as undone:
                found.add(one, undone.before, undone.after)
        return found

    async def run(self, only: Sequence[int] | None, stopped: Callable[[], bool]) -> Rebuilt:
        """Rebuild these sessions, or all; ends early, between two windows, once `stopped` says so."""
        found = Rebuilt()
        for one in await self._database.read(lambda c: chosen(c, only)):
            if _skips(found, one):
                continue
            before = await self._database.write(lambda c, one=one: self._begin(c, one))  # type: ignore[misc]
            await self._retainer.load_stream(one.id)
            if not await self._work_off(one.id, one.public_id, stopped):
                found.complete = False
                break
            after = await self._database.read(lambda c, one=one: self._holding(c, one))  # type: ignore[misc]
            found.add(one, before, after)
        return found

    async def resume(self, stopped: Callable[[], bool]) -> None:
        """Finish what an earlier process has left half done; retention itself has gone on by then."""
        for public_id in await self._database.read(leaving.unfinished):
            row = await self._database.read(lambda c, name=public_id: _id_of(c, name))  # type: ignore[misc]
            if row is not None and not await self._work_off(row, public_id, stopped):
                return

    async def _work_off(self, stream_id: int, public_id: str, stopped: Callable[[], bool]) -> bool:
        """Retain all of a session; then its old documents are gone. False when it was stopped."""
        while self._is_due(stream_id):
            if stopped():
                return False
            if not await self._step():
                await anyio.sleep(_IDLE_S)  # a full disk, say, is tried again after a while
        await self._database.write(lambda c: leaving.finish(c, public_id))
        return True

    def _is_due(self, stream_id: int) -> bool:
        return any(
            one.forced and not one.failures
            for one in self._retainer.queue.all()
            if one.stream_id == stream_id
        )

    def _begin(self, connection: Connection, one: Chosen) -> Holding:
        before = self._holding(connection, one)
        leaving.begin(connection, one.public_id)
        cursors.begin_anew(connection, self._retention.memory, one.id)
        return before

    def _try(self, connection: Connection, one: Chosen) -> None:
        before = self._begin(connection, one)
        for row in cursors.behind(connection, self._retention.memory, one.id):
            pending = Pending.known(*row[:5], closed=bool(row.closed), forced=True)
            nothing = Fresh(limit=0)
            outcome = retain_window(connection, self._retention, nothing, pending)
            while outcome.offset > pending.offset:
                outcome = retain_window(connection, self._retention, nothing, pending)
        leaving.finish(connection, one.public_id)
        raise _UndoneError(before, self._holding(connection, one))

    def _holding(self, connection: Connection, one: Chosen) -> Holding:
        records, retained = cursors.accounted(connection, self._retention.memory, one.id)
        tokens = connection.execute(
            "SELECT coalesce(sum(d.tokens), 0) FROM local_document d"
            " JOIN local_source s ON s.id = d.source_id WHERE s.stream = ?",
            (one.public_id,),
        ).fetchone()[0]
        return Holding(records, retained, tokens)


class _UndoneError(Exception):
    """Undoes a transaction in which a rebuild was tried, and carries out what it came to."""

    def __init__(self, before: Holding, after: Holding) -> None:
        super().__init__()
        self.before = before
        self.after = after


def chosen(connection: Connection, only: Sequence[int] | None) -> list[Chosen]:
    """Return the sessions, or those wanted, each behind what it was copied from."""
    rows = connection.execute(
        "SELECT s.id, s.public_id, s.session_id, s.mode, s.parent_id, EXISTS ("
        "  SELECT 1 FROM block b JOIN generation g ON g.id = b.generation_id"
        "  WHERE g.stream_id = s.id AND b.data IS NULL)"
        " FROM stream s WHERE s.kind NOT IN ('attachment', 'manual') ORDER BY s.id"
    ).fetchall()
    parents = {row[0]: row[4] for row in rows}
    wanted = None if only is None else set(only)
    by_id = {
        id_: Chosen(id_, public_id, session_id, _why_not(mode, pruned=bool(pruned)))
        for id_, public_id, session_id, mode, _, pruned in rows
    }
    return [by_id[id_] for id_ in _parents_first(parents) if wanted is None or id_ in wanted]


def _why_not(mode: str, *, pruned: bool) -> str | None:
    if mode != "full":
        return mode
    return "pruned" if pruned else None


def _parents_first(parents: dict[int, int | None]) -> Iterable[int]:
    done: dict[int, None] = {}
    for one in parents:
        line = []
        at: int | None = one
        while at is not None and at in parents and at not in done and at not in line:
            line.append(at)
            at = parents[at]
        done.update(dict.fromkeys(reversed(line)))
    return done


def _skips(found: Rebuilt, one: Chosen) -> bool:
    if one.why_not is None:
        return False
    found.skip(one.why_not)
    return True


def _sum(one: Holding, other: Holding) -> Holding:
    return Holding(*(a + b for a, b in zip(one, other, strict=True)))


def _id_of(connection: Connection, public_id: str) -> int | None:
    row = connection.execute("SELECT id FROM stream WHERE public_id = ?", (public_id,)).fetchone()
    return row[0] if row else None
