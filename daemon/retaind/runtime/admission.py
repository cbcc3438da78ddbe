"""Whether a file's bytes may be kept, decided before any of them is stored.

A transcript is judged by its path, by the folder that its first bytes name, and by who wrote it. What
belongs to a session, a sub-agent's transcript or an attachment, is never kept more fully than the session.
"""

import fnmatch
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from retaind.core.policy import Exclusion
from retaind.hosts.port import Host, Place
from retaind.runtime.index import Index, Tracked
from retaind.runtime.opened import Opened
from retaind.runtime.tombstones import Tombstones
from retaind.vault.streams import Mode, OpenGeneration

PEEK_BYTES: Final = 64 * 1024
_FARTHEST_BYTES: Final = 16 * 1024 * 1024
"""How far a rule about folders is worth looking for the first one that is named."""

ATTACHMENT_BYTES: Final = 8 * 1024 * 1024

ProjectOf = Callable[[str], str | None]
"""Names the project of a working directory; looks at the file system."""

_STRICTEST: Final[tuple[Mode, ...]] = ("off", "metadata", "listed", "held", "full")
_OPEN: Final = frozenset({"full", "held"})
"""The modes in which a stream is decided about anew as long as nothing of it is kept."""
_ORDER: Final = {"session": 0, "subagent": 1, "attachment": 2}
"""What decides comes before what follows."""
_TRANSCRIPT: Final = b".jsonl"
COMPANION: Final = b".meta.json"
"""What `NAME.jsonl` is beside has this ending in the place of its own."""
_GLOB: Final = re.compile(r"[*?\[]")


class Admitted(NamedTuple):
    """What was decided. `decided` False: hold every byte back until more is known.

    The mode is "held" then, unless it is certain already that nothing will be kept.
    """

    mode: Mode
    cwd: str | None
    project: str | None
    decided: bool
    owner_session: str | None = None


@dataclass(frozen=True, slots=True)
class Admission:
    """The rules of the configuration, applied to paths, folders and first bytes."""

    exclusion: Exclusion
    project_of: ProjectOf
    tombstones: Tombstones = field(default_factory=Tombstones)

    def admit(
        self, host: Host, path: bytes, place: Place, opened: Opened, index: Index
    ) -> Admitted:
        """Decide about an opened file of which nothing is kept yet."""
        admitted = self._admit(host, path, place, opened, index)
        if admitted.decided or admitted.mode == "off":
            return admitted
        return admitted._replace(mode="held")

    def _admit(
        self, host: Host, path: bytes, place: Place, opened: Opened, index: Index
    ) -> Admitted:
        if place.kind == "attachment":
            return self._admit_attachment(host, path, place, opened, index)
        judged, named = self._judge(host, path, opened)
        if place.kind == "session":
            return judged
        owner_session = place.owner_session or named
        owner = self._owner(host, path, owner_session, index)
        return judged._replace(
            mode=stricter(judged.mode, owner.mode),
            decided=judged.decided and owner.decided,
            owner_session=owner_session,
        )

    def readmit(self, row: OpenGeneration) -> Mode:
        """Return the mode of a known stream under today's rules; what was off stays off."""
        if row.mode not in _OPEN:
            return row.mode
        if self.excluded_path(row.path) or (_is_of_all(row) and self._has_rules()):
            return "off"
        return stricter(row.mode, self.mode_of_folder(row.cwd, row.project))

    def excluded_path(self, path: bytes) -> bool:
        """Whether a glob of `exclude.paths` matches this path."""
        name = os.fsdecode(path)
        globs = (form for glob in self.exclusion.paths for form in _forms(glob))
        return any(fnmatch.fnmatchcase(name, glob) for glob in globs)

    def excluded_folder(self, path: bytes) -> bool:
        """Whether `exclude.paths` matches a folder, or any transcript that could be in it."""
        return self.excluded_path(path) or self.excluded_path(path + b"/any" + _TRANSCRIPT)

    def mode_of_folder(self, cwd: str | None, project: str | None) -> Mode:
        """Return the mode of the longest configured folder around a session's cwd."""
        if cwd is None:
            return "full"
        cwd = cwd.rstrip("/") or "/"
        names = {project or "", cwd.rpartition("/")[2]}
        if any(_covers(rule, cwd) or _names(rule, names) for rule in self.exclusion.projects):
            return "off"
        for folder, mode in sorted(self.exclusion.modes, key=lambda rule: -len(rule[0])):
            if _covers(folder, cwd):
                return mode
        return "full"

    def _judge(self, host: Host, path: bytes, opened: Opened) -> tuple[Admitted, str | None]:
        """Decide about a transcript by itself, and say which session its records name."""
        if self.excluded_path(path):
            return Admitted("off", None, None, decided=True), None
        asks = self._asks_for_cwd()
        head = opened.read_at(PEEK_BYTES, 0)
        peek = host.peek(head)
        while asks and peek.cwd is None and PEEK_BYTES <= len(head) < _FARTHEST_BYTES:
            head = opened.read_at(len(head) * 16, 0)
            peek = host.peek(head)
        decided = peek.decided or len(head) >= PEEK_BYTES or not asks
        project = self.project_of(peek.cwd) if peek.cwd else None
        named = None if peek.session_id is None or "/" in peek.session_id else peek.session_id
        mode: Mode = "off" if peek.memory_tool else self.mode_of_folder(peek.cwd, project)
        return Admitted(mode, peek.cwd, project, decided), named

    def _admit_attachment(
        self, host: Host, path: bytes, place: Place, opened: Opened, index: Index
    ) -> Admitted:
        """Decide about an attachment. One that tells of every session is kept only without rules."""
        session = place.owner_session
        owner = self._owner(host, path, session, index)
        tells_of_all = session is None and _companion(path) is None
        excluded = self.excluded_path(path) or (tells_of_all and self._has_rules())
        if excluded or owner.mode != "full":
            return Admitted("off", None, None, decided=True, owner_session=session)
        mode: Mode = "listed" if opened.sight().size > ATTACHMENT_BYTES else "full"
        return Admitted(mode, None, None, owner.decided, session)

    def _owner(self, host: Host, path: bytes, session: str | None, index: Index) -> Admitted:
        """Return what is, or would be, decided about the transcript that a file belongs to."""
        owner = _companion(path) if session is None else _transcript_of(path, session)
        if owner is None or owner == path:
            return _FREE
        tracked = index.at_path(owner)
        if tracked is not None and is_settled(tracked):
            return Admitted(tracked.mode, None, None, decided=True)
        try:
            opened = Opened(owner)
        except OSError:
            return _FREE
        try:
            judged, named = self._judge(host, owner, opened)
        finally:
            opened.close()
        if session is not None:
            return judged
        above = self._owner(host, owner, named, index)
        return judged._replace(mode=stricter(judged.mode, above.mode))

    def _asks_for_cwd(self) -> bool:
        return self._has_folder_rules() or bool(self.tombstones.folders)

    def _has_folder_rules(self) -> bool:
        return bool(self.exclusion.projects or self.exclusion.modes)

    def is_forgotten(
        self, host: Host, place: Place, opened: Opened, admitted: Admitted, *, known: bool
    ) -> bool:
        """Whether a file is what was forgotten, belongs to it, or is a copy; `known`: only the last."""
        stones = self.tombstones
        if not stones:
            return False
        is_attachment = place.kind == "attachment"
        own = (
            place.session_id.removesuffix(COMPANION.decode()) if is_attachment else place.session_id
        )
        if not known and (
            stones.covers_session(host.name, own, place.owner_session, admitted.owner_session)
            or stones.covers_folder(admitted.cwd)
        ):
            return True
        return not is_attachment and stones.covers_bytes(host, opened)

    def _has_rules(self) -> bool:
        return bool(self.exclusion.paths) or self._has_folder_rules() or bool(self.tombstones)


_FREE: Final = Admitted("full", None, None, decided=True)
"""What belongs to nothing that could exclude it."""


def is_settled(tracked: Tracked) -> bool:
    """Whether it is decided about a stream for good: bytes are kept, or none will be."""
    return tracked.mode not in _OPEN or tracked.row.evidence.captured > 0


def stricter(one: Mode, other: Mode) -> Mode:
    """Return the mode under which less is kept."""
    return min(one, other, key=_STRICTEST.index)


def readmitted(admission: Admission, index: Index) -> list[tuple[Tracked, OpenGeneration]]:
    """Return the streams that have another mode under today's rules, each with its new row.

    What belongs to a session follows it.
    """
    modes: dict[bytes, Mode] = {}
    changed = []
    for tracked in sorted(index, key=lambda one: _ORDER[one.kind]):
        row = tracked.row
        mode = admission.readmit(row)
        owner = owner_path(row)
        if owner is not None:
            above = modes.get(owner, "full")
            own = "off" if row.kind == "attachment" and above != "full" else above
            mode = stricter(mode, own)
        modes[row.path] = mode
        if mode != row.mode:
            changed.append((tracked, row._replace(mode=mode)))
    return changed


def owner_path(row: OpenGeneration) -> bytes | None:
    """Return the path of the transcript that decides about a stream, None for a session's own."""
    if row.kind == "session":
        return None
    if row.owner_session is None:
        return _companion(row.path)
    return _transcript_of(row.path, row.owner_session)


def _is_of_all(row: OpenGeneration) -> bool:
    return row.kind == "attachment" and owner_path(row) is None


def _transcript_of(path: bytes, session: str) -> bytes:
    """Return where a session's transcript is: beside its folder, or beside a sub-agent's flat file."""
    name = os.fsencode(session)
    folder, found, _ = path.rpartition(b"/" + name + b"/")
    return (folder if found else os.path.dirname(path)) + b"/" + name + _TRANSCRIPT


def _companion(path: bytes) -> bytes | None:
    """Return the transcript beside which `NAME.meta.json` stands, by its name."""
    stem, found, _ = path.rpartition(COMPANION)
    return stem + _TRANSCRIPT if found else None


def _covers(rule: str, cwd: str) -> bool:
    """Whether a rule, a folder or a glob, covers a working directory or a folder above it."""
    for form in _forms(rule):
        folder = form.rstrip("/") or "/"
        if cwd == folder or cwd.startswith(folder.rstrip("/") + "/"):
            return True
        if fnmatch.fnmatchcase(cwd, folder):
            return True
    return False


def _names(rule: str, names: set[str]) -> bool:
    """Whether a rule without a slash is the name of the project or of its folder."""
    return "/" not in rule and any(name and fnmatch.fnmatchcase(name, rule) for name in names)


@lru_cache(maxsize=1024)
def _forms(rule: str) -> tuple[str, ...]:
    """Return a rule as it is given, and with the links in its beginning followed.

    Paths of transcripts, and mostly the folders that they name, have no links in them.
    """
    plain = _GLOB.split(rule, maxsplit=1)[0]
    stem = plain if plain == rule else plain.rpartition("/")[0]
    if not stem.startswith("/"):
        return (rule,)
    real = os.path.realpath(stem)
    return (rule,) if real == stem.rstrip("/") else (rule, real + rule[len(stem) :])
