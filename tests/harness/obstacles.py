"""What stands in a daemon's way by the system's own means: reads that hang."""

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_CLASS_CONTENT = 4
_CLOEXEC = 1
_MARK_ADD = 1
_OPEN_PERM = 0x10000
_ACCESS_PERM = 0x20000
_AT_FDCWD = -100


@contextmanager
def hanging(path: Path, *, at_open: bool = False) -> Iterator[None]:
    """Have every read of a file hang, or every opening, until the block ends.

    The kernel asks us for permission (fanotify), and we do not answer. Only root may do so, on Linux.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "fanotify_init"):
        pytest.skip("reads can be made to hang on Linux only")
    asked = libc.fanotify_init(_CLASS_CONTENT | _CLOEXEC, os.O_RDONLY)
    if asked < 0:
        pytest.skip(f"no permission to make reads hang: {os.strerror(ctypes.get_errno())}")
    try:
        mark = libc.fanotify_mark
        mark.argtypes = [
            ctypes.c_int,
            ctypes.c_uint,
            ctypes.c_uint64,
            ctypes.c_int,
            ctypes.c_char_p,
        ]
        events = _OPEN_PERM if at_open else _ACCESS_PERM
        if mark(asked, _MARK_ADD, events, _AT_FDCWD, os.fsencode(path)):
            pytest.skip(f"reads cannot be made to hang here: {os.strerror(ctypes.get_errno())}")
        yield
    finally:
        os.close(asked)
