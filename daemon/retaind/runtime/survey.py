"""What a server has already: asked once per session and process, before anything of it is planned.

So a state that is new, restored or rebuilt doubles nothing: a cursor advances over what is there.
"""

import hashlib
from collections.abc import Callable, Collection, Sequence
from typing import Final, NamedTuple

from retaind.db import Connection, Database
from retaind.memory.hindsight import Client, Held
from retaind.memory.hindsight.documents import is_of
from retaind.runtime import cursors, renewal
from retaind.runtime.coverage import Range, merged
from retaind.runtime.pending import Pending
from retaind.vault import streams

_DAY_S: Final = 86_400.0

Starts = dict[int, int]
"""Generation → where what the server has of it begins."""


class Known(NamedTuple):
    """A session as the survey needs it, and the bank that it is in."""

    session_id: str
    kind: str
    mode: str
    bank: str


def cutoff(since: float, backfill: str | int) -> float:
    """Return when a session must have been written last, so as to be retained from its beginning.

    `since` is when the memory was first configured; all times in seconds since 1970.
    """
    if backfill == "all":
        return float("-inf")
    return since - backfill * _DAY_S if isinstance(backfill, int) else since


class Survey:
    """Finds out, and remembers, what the server has of which session. Asked by retention as its gate.

    `covered` is filled with the ranges of each generation; `wake` is called when there is something to ask.
    """

    def __init__(
        self,
        database: Database,
        client: Client,
        memory: str,
        find: Callable[[Connection, int], Known | None],
        before: float,
        backfilled: Collection[int],
        covered: dict[int, tuple[Range, ...]],
    ) -> None:
        self._database = database
        self._client = client
        self._memory = memory
        self._find = find
        self._before = before
        self._backfilled = set(backfilled)
        self.wake: Callable[[], None] = lambda: None
        self._known: set[int] = set()
        self._covered = covered
        self.wanted: dict[int, None] = {}

    def admits(self, pending: Pending) -> bool:
        """Whether the session is known; if not, it is asked for."""
        if pending.stream_id in self._known:
            return True
        if pending.stream_id not in self.wanted:
            self.wanted[pending.stream_id] = None
            self.wake()
        return False

    def is_before(self, stream_id: int, last_activity: float) -> bool:
        """Whether the session ended before the memory was set up, and nobody asked for it."""
        return last_activity < self._before and stream_id not in self._backfilled

    def ask_again(self, stream_id: int) -> None:
        """Forget a session, which is to be retained from its beginning whatever its age."""
        self.look_again(stream_id)
        self._backfilled.add(stream_id)

    def look_again(self, stream_id: int) -> None:
        """Forget what the server has of a session."""
        self._known.discard(stream_id)

    async def look(self, stream_id: int) -> Starts | None:
        """Ask for one session; None when the server has nothing of it, or it was forgotten.

        Raises the client's faults.
        """
        known = await self._database.read(lambda c: self._find(c, stream_id))
        if known is None:
            self.wanted.pop(stream_id, None)
            return None
        held: list[Held] = []
        if known.mode == "full" and known.kind != "manual":
            held = await self._client.windows(known.bank, known.session_id)
        found = await self._database.read(lambda c: self._matched(c, stream_id, held))
        self._covered.update(found)
        self._known.add(stream_id)
        self.wanted.pop(stream_id, None)
        if not held:
            return None
        return {generation_id: ranges[0][0] for generation_id, ranges in found.items() if ranges}

    def _matched(
        self, connection: Connection, stream_id: int, held: Sequence[Held]
    ) -> dict[int, tuple[Range, ...]]:
        """Return what is there of the bytes behind the cursors, proved by the bytes' own hash."""
        found = {}
        leaving = renewal.leaving(connection, self._memory, stream_id)
        held = [one for one in held if one.document_id not in leaving]
        for generation_id, _, captured, _ in streams.generations(connection, stream_id):
            offset = cursors.load(connection, self._memory, generation_id).offset
            found[generation_id] = merged(
                (one.start, one.end)
                for one in held
                if offset < one.end <= captured and _is_made_of(connection, generation_id, one)
            )
        return found


def _is_made_of(connection: Connection, generation_id: int, one: Held) -> bool:
    raw = hashlib.sha256()
    for _, piece in streams.read(connection, generation_id, one.start, one.end):
        raw.update(piece)
    return is_of(raw.hexdigest(), one)
