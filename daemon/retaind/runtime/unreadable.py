"""Files that could not be read at their last look, and why: what is there and is not kept."""

import errno
from typing import Final

from retaind.runtime.scan import Scan

PERMISSION: Final = "permission"
"""The reason where the user may not read a path."""

_BLIND: Final = frozenset({"EACCES", "EPERM", "EIO", "ENOTCONN", "ESTALE", "ETIMEDOUT"})
_OURS: Final = frozenset({"EMFILE", "ENFILE"})
"""What says nothing of the file: we are out of descriptors."""
_DENIED: Final = frozenset({"EACCES", "EPERM"})


class Unreadable:
    """Paths by their last look. Worker threads note, one task asks."""

    def __init__(self) -> None:
        self._why: dict[bytes, str] = {}

    def __len__(self) -> int:
        return len(self._why)

    def paths(self) -> dict[bytes, str]:
        """Return each path with the reason in a word."""
        return dict(self._why)

    def judge(self, path: bytes, name: str) -> None:
        """Take in that a path could not be opened; `name` is that of the errno."""
        if name in _BLIND:
            self._why[path] = cause(name)
        elif name not in _OURS:
            self.works(path)

    def note(self, path: bytes, error: OSError) -> None:
        """Take in that an opened file could not be read."""
        self._why[path] = cause(errno.errorcode.get(error.errno or 0, "EIO"))

    def works(self, path: bytes) -> None:
        """Take in that a file was read, or is no file any more."""
        self._why.pop(path, None)

    def drop_absent(self, seen: Scan) -> None:
        """Forget the paths that a scan would have met, and has not."""
        if self._why:
            met = seen.paths()
            for path in [p for p in self.paths() if p not in met and seen.can_see(p)]:
                self.works(path)


def cause(name: str) -> str:
    """Return an errno's name as people are told it."""
    return PERMISSION if name in _DENIED else name
