"""What is to be done with an opened file: continue, adopt, fork, begin a generation, or wait for a scan."""

from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from retaind.runtime.examine import Examined, Matched
from retaind.runtime.index import Index, Tracked
from retaind.vault.identity import PREFIX_BYTES, Continuity, Locator


class Act(Enum):
    """The kinds of decision."""

    CONTINUE = "continue"
    ALIAS = "alias"
    REWRITE = "rewrite"
    ADOPT = "adopt"
    CREATE = "create"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do; `tracked` is the stream concerned, `parent` the one that a new stream copies."""

    act: Act
    tracked: Tracked | None = None
    parent: Tracked | None = None
    reason: str = ""


class Completed(Protocol):
    """A scan that has looked everywhere."""

    def is_alive(self, tracked: Tracked) -> bool:
        """Whether it has met the file of a stream, or could not, so that no other file succeeds it."""

    def has_met(self, tracked: Tracked) -> bool:
        """Whether it has met the file of a stream."""

    def shows(self, path: bytes, where: Locator) -> bool:
        """Whether this is the file that it met there."""


def decide(file: Examined, index: Index, scan: Completed | None) -> Decision:
    """Decide about one file. `scan` None: none is complete, so doubtful cases wait for one.

    A rename, an atomic replacement and a restored backup are adopted: the stream goes on at its offset.
    A copy of a living file becomes a stream of its own with a parent. Everything else that stands where
    a known stream stood is a new generation of that stream.
    """
    own = file.own
    if own is not None and own.continuity is Continuity.SAME:
        is_second_name = own.tracked.path != file.path and not file.renamed
        return Decision(Act.ALIAS if is_second_name else Act.CONTINUE, own.tracked)
    here = index.at_path(file.path)
    if own is not None and own.tracked is here:
        return Decision(Act.REWRITE, own.tracked, reason=own.continuity.value)
    continued = [match for match in file.alike if match.continuity is Continuity.SAME]
    if here is None and not continued:
        return Decision(Act.CREATE)
    if scan is None or _is_outdated(scan, file, continued):
        return Decision(Act.WAIT)
    return _decide_after_scan(file.path, here, [match.tracked for match in continued], scan)


def _is_outdated(scan: Completed, file: Examined, continued: list[Matched]) -> bool:
    """Whether files have moved since the scan met them, so that the next one must judge."""
    moved = any(scan.has_met(match.tracked) and not match.there for match in continued)
    return moved or not scan.shows(file.path, file.sighting.locator)


def _decide_after_scan(
    path: bytes, here: Tracked | None, continued: list[Tracked], scan: Completed
) -> Decision:
    orphans = [t for t in continued if not scan.is_alive(t) and _is_adoptable(t, path)]
    if orphans:
        best = max(orphans, key=lambda t: (t.path == path, t.row.evidence.captured))
        return Decision(Act.ADOPT, best)
    if here is not None and not scan.is_alive(here):
        if here.row.evidence.captured == 0:
            return Decision(Act.ADOPT, here)
        return Decision(Act.REWRITE, here, reason="replaced")
    parents = [t for t in continued if scan.is_alive(t)]
    longest = max(parents, key=lambda t: t.row.evidence.captured, default=None)
    return Decision(Act.CREATE, parent=longest)


def _is_adoptable(tracked: Tracked, path: bytes) -> bool:
    same_name = tracked.path.rpartition(b"/")[2] == path.rpartition(b"/")[2]
    return same_name or tracked.row.evidence.captured >= PREFIX_BYTES
