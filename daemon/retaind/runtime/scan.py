"""The scan: every transcript below the roots, as the file system shows it now.

Hints may be lost, scans are the truth. A scan lists and stats, and opens nothing. It tells apart what is
missing (nothing there) from what is unobservable (no permission, too many descriptors, an I/O error).
"""

import errno
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from retaind.hosts.port import Host, Place
from retaind.runtime.index import Tracked
from retaind.vault.identity import Locator, locator

_DEPTH: Final = 12
RootState = Literal["ok", "missing", "permission", "unobservable"]


class Root(NamedTuple):
    """One configuration directory of a host."""

    host: Host
    path: bytes


class Entry(NamedTuple):
    """A transcript or attachment that a scan saw."""

    path: bytes
    root: Root
    place: Place
    locator: Locator
    size: int
    mtime_ns: int
    ctime_ns: int


Settled = Callable[[Entry], Tracked | None]
"""Returns the stream of a file that is as it was at the last look, with nothing left to capture."""


@dataclass(slots=True)
class Scan:
    """What one scan saw: `entries`, and by their paths the streams of files that are `settled`.

    `unobservable` are path prefixes below which nothing can be said.

    A root or a transcript folder that has vanished is among them: that is no proof that the files in it
    were deleted. `closed` are those of them that are there and cannot be read, and why.
    """

    entries: list[Entry] = field(default_factory=list)
    settled: dict[bytes, int] = field(default_factory=dict)
    roots: dict[bytes, RootState] = field(default_factory=dict)
    unobservable: list[bytes] = field(default_factory=list)
    closed: dict[bytes, RootState] = field(default_factory=dict)
    oddities: Counter[str] = field(default_factory=Counter)
    directories: int = 0

    def take(self, entry: Entry, settled: Settled) -> None:
        """Take in a file. Of a settled one hardly anything is held: there may be tens of thousands."""
        tracked = settled(entry)
        if tracked is None:
            self.entries.append(entry)
        else:
            self.settled[tracked.path] = tracked.stream_id

    def paths(self) -> frozenset[bytes]:
        """Return every path that was met."""
        return frozenset((*self.settled, *(entry.path for entry in self.entries)))

    def forget_files(self) -> None:
        """Let go of the files: what `status` tells of a scan does without them."""
        self.entries.clear()
        self.settled.clear()

    def can_see(self, path: bytes) -> bool:
        """Whether the absence of `path` from this scan means that it is not there."""
        return not any(
            path == blind or path.startswith(blind + b"/") for blind in self.unobservable
        )

    def note_blind(self, path: bytes, error: OSError) -> RootState:
        """Take in that nothing can be said of what is at, or below, a path; returns why."""
        self.unobservable.append(path)
        state = _state_of(error)
        if state != "missing":
            self.closed[path] = state
        return state


def _new(_: Entry) -> None:
    """Say of every file that it is to be looked at."""


def scan(roots: Sequence[Root], settled: Settled = _new) -> Scan:
    """List everything of interest below the roots. Never raises for what the file system does."""
    seen = Scan()
    real_roots = [os.path.realpath(root.path) for root in roots]
    for root, real in zip(roots, real_roots, strict=True):
        _Walk(root, real, real_roots, seen, settled).start()
    return seen


def _state_of(error: OSError) -> RootState:
    if error.errno in {errno.ENOENT, errno.ENOTDIR}:
        return "missing"
    if error.errno in {errno.EACCES, errno.EPERM}:
        return "permission"
    return "unobservable"


class _Walk:
    """The walk below one root."""

    def __init__(
        self, root: Root, real: bytes, real_roots: Sequence[bytes], seen: Scan, settled: Settled
    ) -> None:
        self._root = root
        self._real = real
        self._real_roots = real_roots
        self._seen = seen
        self._settled = settled

    def start(self) -> None:
        """List what the root itself has of interest, and its folders of transcripts."""
        seen, root = self._seen, self._root
        try:
            names = os.listdir(self._real)
        except OSError as error:
            seen.roots[root.path] = seen.note_blind(self._real, error)
            return
        seen.roots[root.path] = "ok"
        for name in names:
            place = root.host.place(name)
            if place is not None:
                path = os.path.join(self._real, name)
                with suppress(OSError):
                    self._note(path, place, os.lstat(path))
        for folder in root.host.folders:
            path = os.path.join(self._real, folder)
            if folder in names:
                self.folder(path, folder, 0)
            else:
                seen.unobservable.append(path)

    def folder(self, path: bytes, relative: bytes, depth: int) -> None:
        """List one folder and everything below it."""
        self._seen.directories += 1
        try:
            with os.scandir(path) as found:
                entries = list(found)
        except OSError as error:
            if error.errno != errno.ENOENT:
                self._seen.oddities[self._seen.note_blind(path, error)] += 1
            return
        for entry in entries:
            self._entry(entry, relative + b"/" + entry.name, depth)

    def _entry(self, entry: os.DirEntry[bytes], relative: bytes, depth: int) -> None:
        try:
            if entry.is_symlink():
                self._link(entry, relative, depth)
            elif entry.is_dir(follow_symlinks=False):
                if depth < _DEPTH:
                    self.folder(entry.path, relative, depth + 1)
                else:
                    self._seen.oddities["too_deep"] += 1
            elif (place := self._root.host.place(relative)) is not None:
                self._note(entry.path, place, entry.stat(follow_symlinks=False))
        except OSError as error:
            if error.errno != errno.ENOENT:
                self._seen.note_blind(entry.path, error)

    def _note(self, path: bytes, place: Place, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            self._seen.oddities["not_a_file"] += 1
            return
        where = locator(status.st_dev, status.st_ino)
        times = status.st_mtime_ns, status.st_ctime_ns
        self._seen.take(
            Entry(path, self._root, place, where, status.st_size, *times), self._settled
        )

    def _link(self, entry: os.DirEntry[bytes], relative: bytes, depth: int) -> None:
        """Follow a linked project folder of the same name, as link farms make them; nothing else.

        A link to a file inside a root leads to a file that the walk meets anyway. Links that leave the
        roots are counted and not read, unless the linked folder bears the name that it is linked by.
        """
        target = os.path.realpath(entry.path)
        if not os.path.exists(target):
            self._seen.oddities["dangling_link"] += 1
        elif any(_below(target, root) for root in self._real_roots):
            self._seen.oddities["link_inside"] += 1
        elif depth == 0 and os.path.isdir(target) and self._is_same_folder(entry.name, target):
            self.folder(target, relative, depth + 1)
        else:
            self._seen.oddities["link_outside"] += 1

    def _is_same_folder(self, name: bytes, target: bytes) -> bool:
        owned = os.stat(target).st_uid == os.getuid()
        return owned and os.path.basename(target) == name and not _below(self._real, target)


def _below(path: bytes, folder: bytes) -> bool:
    return path == folder or path.startswith(folder.rstrip(b"/") + b"/")


def watch_paths(root: Root) -> Iterator[bytes]:
    """Yield the folders of a root in which new bytes may appear, whether or not they exist yet."""
    for folder in root.host.folders:
        yield os.path.join(root.path, folder)


def real_paths(paths: Iterable[bytes]) -> tuple[list[bytes], bool]:
    """Return where paths really lead, and whether a folder or a link is among them.

    The watcher follows links, so a transcript may be hinted at by another name. Of what is no transcript
    by any name, only folders and links may lead to some.
    """
    found: list[bytes] = []
    leads_further = False
    for path in paths:
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            continue
        leads_further = leads_further or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)
        real = os.path.realpath(path)
        if real != path:
            found.append(real)
    return found, leads_further
