"""Opening a transcript safely, and the few descriptors that are kept open.

Decisions are made on the opened descriptor, never on a path that was stat-ed before. A recently written
file keeps its descriptor, so that what is unlinked right after its last write can still be read.
"""

import fcntl
import os
import resource
import stat
import struct
import sys
from collections import OrderedDict
from typing import Final

from retaind.vault.identity import locator
from retaind.vault.streams import Sighting

_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FS_IOC_GETVERSION: Final = 0x80087601
_HELD_AT_MOST: Final = 24
_DESCRIPTORS_FOR_OTHERS: Final = 40


class NotAFileError(OSError):
    """The path names something that is not a regular file."""


class Opened:
    """An open regular file. `sight` looks again; close it exactly once."""

    def __init__(self, path: bytes) -> None:
        """Open `path`; raises OSError, or NotAFileError for anything but a regular file."""
        self.fd = os.open(path, _FLAGS)
        self.path = path
        status = os.fstat(self.fd)
        if not stat.S_ISREG(status.st_mode):
            os.close(self.fd)
            raise NotAFileError(f"{status.st_mode:o}")
        self._inode_version = _inode_version(self.fd)

    def sight(self) -> Sighting:
        """Return where the file lies and how it looks now."""
        status = os.fstat(self.fd)
        where = locator(status.st_dev, status.st_ino)
        return Sighting(
            where, self._inode_version, status.st_size, status.st_mtime_ns, status.st_ctime_ns
        )

    def read_at(self, length: int, offset: int) -> bytes:
        """Return up to `length` bytes from `offset`, fewer only at the end of the file."""
        data = os.pread(self.fd, length, offset)
        if len(data) == length or not data:
            return data
        pieces = [data]
        missing = length - len(data)
        while missing:
            piece = os.pread(self.fd, missing, offset + length - missing)
            if not piece:
                break
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self.fd)


def _inode_version(fd: int) -> int | None:
    """Return the inode's generation number, which tells a reused inode from the old one."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        answer = fcntl.ioctl(fd, _FS_IOC_GETVERSION, b"\0" * 8)
    except OSError:
        return None
    return int(struct.unpack_from("=i", answer)[0])


class Held:
    """The descriptors of the most recently written streams, by stream id; the oldest go first."""

    def __init__(self) -> None:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.room = max(2, min(_HELD_AT_MOST, (soft - _DESCRIPTORS_FOR_OTHERS) // 2))
        self._open: OrderedDict[int, Opened] = OrderedDict()

    def __len__(self) -> int:
        return len(self._open)

    def get(self, stream_id: int) -> Opened | None:
        """Return the held descriptor of a stream, if there is one."""
        return self._open.get(stream_id)

    def keep(self, stream_id: int, opened: Opened) -> None:
        """Hold a descriptor; one of the same stream, or the oldest, is closed for it."""
        before = self._open.pop(stream_id, None)
        if before is not None and before is not opened:
            before.close()
        self._open[stream_id] = opened
        while len(self._open) > self.room:
            self._open.popitem(last=False)[1].close()

    def release(self, stream_id: int) -> None:
        """Close the descriptor of a stream, if one is held."""
        opened = self._open.pop(stream_id, None)
        if opened is not None:
            opened.close()

    def stream_ids(self) -> list[int]:
        """Return the streams whose descriptors are held, oldest first."""
        return list(self._open)

    def close(self) -> None:
        """Close every held descriptor."""
        while self._open:
            self._open.popitem()[1].close()
