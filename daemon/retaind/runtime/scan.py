"""The scan: every transcript below the roots, as the file system shows it now.

Hints may be lost, scans are the truth. A scan lists and stats, and opens nothing. It tells apart what is
missing (nothing there) from what is unobservable (no permission, too many descriptors, an I/O error).
"""

import errno
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple

from retaind.hosts.port import Host, Place
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


@dataclass(slots=True)
class Scan:
    """What one scan saw. `unobservable` are path prefixes below which nothing can be said.

    A root or a transcript folder that has vanished is among them: that is no proof that the files in it
    were deleted. `closed` are those of them that are there and cannot be read, and why.
    """

    entries: list[Entry] = field(default_factory=list)
    roots: dict[bytes, RootState] = field(default_factory=dict)
    unobservable: list[bytes] = field(default_factory=list)
    closed: dict[bytes, RootState] = field(default_factory=dict)
    oddities: Counter[str] = field(default_factory=Counter)
    directories: int = 0

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


def scan(roots: Sequence[Root]) -> Scan:
    """List everything of interest below the roots. Never raises for what the file system does."""
    seen = Scan()
    real_roots = [os.path.realpath(root.path) for root in roots]
    for root, real in zip(roots, real_roots, strict=True):
        _scan_root(root, real, real_roots, seen)
    return seen


def _scan_root(root: Root, real: bytes, real_roots: Sequence[bytes], seen: Scan) -> None:
    try:
        names = os.listdir(real)
    except OSError as error:
        seen.roots[root.path] = seen.note_blind(real, error)
        return
    seen.roots[root.path] = "ok"
    for name in names:
        if root.host.place(name) is not None:
            _note_named(root, os.path.join(real, name), name, seen)
    walk = _Walk(root, real, real_roots, seen)
    for folder in root.host.folders:
        if folder in names:
            walk.folder(os.path.join(real, folder), folder, 0)
        else:
            seen.unobservable.append(os.path.join(real, folder))


def _state_of(error: OSError) -> RootState:
    if error.errno in {errno.ENOENT, errno.ENOTDIR}:
        return "missing"
    if error.errno in {errno.EACCES, errno.EPERM}:
        return "permission"
    return "unobservable"


def _note_named(root: Root, path: bytes, relative: bytes, seen: Scan) -> None:
    try:
        status = os.lstat(path)
    except OSError:
        return
    _note(root, path, relative, status, seen)


def _note(root: Root, path: bytes, relative: bytes, status: os.stat_result, seen: Scan) -> None:
    place = root.host.place(relative)
    if place is None:
        return
    if not stat.S_ISREG(status.st_mode):
        seen.oddities["not_a_file"] += 1
        return
    seen.entries.append(
        Entry(
            path,
            root,
            place,
            locator(status.st_dev, status.st_ino),
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
        )
    )


class _Walk:
    """The walk below one folder of a root."""

    def __init__(self, root: Root, real: bytes, real_roots: Sequence[bytes], seen: Scan) -> None:
        self._root = root
        self._real = real
        self._real_roots = real_roots
        self._seen = seen

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
            elif self._root.host.place(relative) is not None:
                status = entry.stat(follow_symlinks=False)
                _note(self._root, entry.path, relative, status, self._seen)
        except OSError as error:
            if error.errno != errno.ENOENT:
                self._seen.note_blind(entry.path, error)

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


def look_around(roots: Sequence[Root]) -> tuple[list[tuple[Root, bytes]], Scan]:
    """Scan, and return with it the real path of each root as it is now."""
    return [(root, os.path.realpath(root.path)) for root in roots], scan(roots)


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
