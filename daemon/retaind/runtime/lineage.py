"""Which session a new one was forked from, before there is a transcript that could tell.

Claude Code announces a fork under its parent's name (SessionStart, source `resume`), and asks its first
prompt under a name that was never announced, in the same folder. Every other session is announced itself.
"""

from collections import OrderedDict
from typing import Final, TypeVar

V = TypeVar("V")

_MOST: Final = 256


class Lineage:
    """Remembers, for the newest sessions, what was announced and what follows from it."""

    def __init__(self) -> None:
        self._announced: OrderedDict[str, None] = OrderedDict()
        self._resumed: OrderedDict[str, str] = OrderedDict()
        self._parents: OrderedDict[str, str] = OrderedDict()

    def announce(self, session: str, cwd: str, source: str | None) -> None:
        """Take notice that a session starts, or goes on, in a folder."""
        _put(self._announced, session, None)
        if source == "resume":
            _put(self._resumed, cwd, session)

    def parent(self, session: str, cwd: str) -> str | None:
        """Return what a session that has a prompt was forked from, as far as can be told."""
        resumed = self._resumed.pop(cwd, None)
        if session in self._announced:
            return self._parents.get(session)
        _put(self._announced, session, None)
        if resumed is not None:
            _put(self._parents, session, resumed)
        return resumed


def _put(kept: "OrderedDict[str, V]", key: str, value: V) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > _MOST:
        kept.popitem(last=False)
