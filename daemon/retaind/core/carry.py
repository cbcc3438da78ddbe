"""The carry: what of a session must survive the edge between two windows. Small, bounded, and no text."""

from collections.abc import Iterable
from typing import Final

import msgspec

from retaind.errors import StateDamaged

_DUE_LIMIT: Final = 64
_TURN_LIMIT: Final = 64
_CWD_CHARS: Final = 4096
_ID_CHARS: Final = 128


class Carry(msgspec.Struct, frozen=True, omit_defaults=True):
    """State between two windows of one session and memory; committed together with the cursor.

    `open_id` is the message that may go on in the next window, with its fate so far (`open_fate`:
    "planned" or a drop reason) and whether it already counts as a message (`open_said`). `due` are
    the ids of dropped tool calls whose results have not come, oldest first. `turns` counts the turns
    that have started. `cwd` is the first that a record named. `turn_starts` are the offsets of the
    last turns before the cursor, kept in chunked mode only. The first `copied` bytes of the generation
    are those of the generation with the row id `copy_of`, which the memory took up first.
    """

    open_id: str = ""
    open_fate: str = ""
    open_said: bool = False
    due: tuple[str, ...] = ()
    turns: int = 0
    cwd: str = ""
    turn_starts: tuple[int, ...] = ()
    copy_of: int = 0
    copied: int = 0

    def encode(self) -> bytes:
        """Return the carry as bytes for the cursor's row."""
        return msgspec.json.encode(self)

    @classmethod
    def decode(cls, data: bytes) -> "Carry":
        """Read what `encode` wrote; no bytes are the empty carry. Raises StateDamaged."""
        if not data:
            return cls()
        try:
            return msgspec.json.decode(data, type=cls)
        except msgspec.DecodeError as error:
            raise StateDamaged("a cursor's carry cannot be read", fix="retaind rebuild") from error

    def overlap_start(self, turns: int) -> int | None:
        """Return the offset where the last `turns` turns before the cursor begin; None if there are none."""
        known = self.turn_starts[-turns:] if turns > 0 else ()
        return known[0] if known else None


def bounded_id(identifier: str) -> str:
    """Return an id as the carry keeps it: hosts' ids are short, so that only junk is cut."""
    return identifier[:_ID_CHARS]


def bounded_cwd(cwd: str) -> str:
    """Return a cwd as the carry keeps it: no longer than any system's longest path."""
    return cwd[:_CWD_CHARS]


def remember_due(due: dict[str, None], identifier: str) -> None:
    """Add the id of a dropped call to the ids in order of arrival; beyond the bound the oldest goes."""
    due[bounded_id(identifier)] = None
    if len(due) > _DUE_LIMIT:
        del due[next(iter(due))]


def last_turns(starts: Iterable[int], turns: int) -> tuple[int, ...]:
    """Return the offsets of the last `turns` turns, as many as a carry may keep."""
    kept = min(turns, _TURN_LIMIT)
    return tuple(starts)[-kept:] if kept > 0 else ()
