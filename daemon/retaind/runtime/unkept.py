"""What lies on disk and not in the vault: transcripts that no look has met, and what cannot be read.

The comparison of known streams with their files says nothing of these: they have no row that could
differ. What the user excluded or forgot is none of them.
"""

import sqlite3
from typing import Any, Final, NamedTuple

from retaind.runtime.admission import Admission
from retaind.runtime.catalog import shown_path
from retaind.runtime.content import Verdict
from retaind.runtime.examine import Examined, Failed, examine
from retaind.runtime.index import Index
from retaind.runtime.scan import Entry, Scan
from retaind.runtime.unreadable import cause
from retaind.vault import streams
from retaind.vault.identity import Continuity

_TRANSCRIPTS: Final = frozenset({"session", "subagent"})
_VANISHED: Final = frozenset({"ENOENT", "ENOTDIR", "not_a_file"})
_NOT_YET: Final = "not in the vault yet; is the daemon running?"


class Unkept(NamedTuple):
    """A transcript, or a path that cannot be read. `session_id` None: what is in it is unknown."""

    path: bytes
    session_id: str | None
    size: int | None
    verdict: Verdict
    reason: str

    def row(self) -> dict[str, Any]:
        """Return it in the form of the rows of `verify --json`."""
        return {
            "id": None,
            "session_id": self.session_id,
            "path": shown_path(self.path),
            "source_bytes": self.size,
            "vault_bytes": 0,
            "kept_bytes": 0,
            "pruned_bytes": 0,
            "sha256": None,
            "memories": {},
            "ok": False,
            "reason": self.reason,
        }


def find_unkept(connection: sqlite3.Connection, seen: Scan, admission: Admission) -> list[Unkept]:
    """Judge what a scan saw by what the vault holds now. Opens the files that have no row."""
    found = [
        Unkept(path, None, None, Verdict.UNOBSERVABLE, f"it cannot be read ({why})")
        for path, why in seen.closed.items()
        if not admission.excluded_folder(path)
    ]
    known = _known_paths(connection)
    unknown = [
        entry
        for entry in seen.entries
        if entry.place.kind in _TRANSCRIPTS and entry.size and entry.path not in known
    ]
    if unknown:
        index = Index(streams.load_open(connection))
        judged = (_judged(entry, index, admission) for entry in unknown)
        found += [one for one in judged if one is not None]
    return found


def _known_paths(connection: sqlite3.Connection) -> frozenset[bytes]:
    """Return the paths whose files are compared by their rows. Where one is gone, a new file may be."""
    rows = connection.execute(
        "SELECT path FROM stream WHERE source_state NOT IN ('gone', 'replaced')"
    )
    return frozenset(path for (path,) in rows.fetchall())


def _judged(entry: Entry, index: Index, admission: Admission) -> Unkept | None:
    place, stones = entry.place, admission.tombstones
    if admission.excluded_path(entry.path) or stones.covers_session(
        entry.root.host.name, place.session_id, place.owner_session
    ):
        return None
    examined = examine(entry.path, index)
    if isinstance(examined, Failed):
        return None if examined.why in _VANISHED else _unread(entry, examined.why)
    try:
        if _is_kept(entry, examined) or _is_left_out(entry, examined, index, admission):
            return None
    except OSError:
        return _unread(entry, "EIO")
    finally:
        examined.opened.close()
    return Unkept(entry.path, place.session_id, entry.size, Verdict.DIFFERS, _NOT_YET)


def _unread(entry: Entry, why: str) -> Unkept:
    reason = f"it cannot be read ({cause(why)})"
    return Unkept(entry.path, entry.place.session_id, entry.size, Verdict.UNOBSERVABLE, reason)


def _is_kept(entry: Entry, examined: Examined) -> bool:
    """Whether the file is a stream's under another name: moved, or linked, and captured so far."""
    own = examined.own
    if own is None or own.continuity is not Continuity.SAME:
        return False
    row = own.tracked.row
    return row.mode in {"off", "listed"} or entry.size <= row.evidence.captured


def _is_left_out(entry: Entry, examined: Examined, index: Index, admission: Admission) -> bool:
    """Whether capture would keep nothing of the file, by the rules or since it was forgotten."""
    host, place, opened = entry.root.host, entry.place, examined.opened
    admitted = admission.admit(host, entry.path, place, opened, index)
    return admitted.mode == "off" or admission.is_forgotten(
        host, place, opened, admitted, known=False
    )
