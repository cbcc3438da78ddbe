"""The daemon's footprint: one heap for all its threads, and what an import needed is given back.

Only the C library of most Linux systems can be told so; nothing here ever fails.
"""

import gc
import sys
from contextlib import suppress
from typing import Final

_M_ARENA_MAX: Final = -8
"""The number of the option in glibc's malloc.h."""


def share_heap() -> None:
    """Have threads to come use one heap: heaps of their own would hold a megabyte for good."""
    _tell_malloc("mallopt", _M_ARENA_MAX, 1)


def give_back() -> None:
    """Return unused memory to the system."""
    gc.collect()
    _tell_malloc("malloc_trim", 0)


def _tell_malloc(function: str, *arguments: int) -> None:
    if not sys.platform.startswith("linux"):
        return
    with suppress(ImportError, OSError, AttributeError, MemoryError):
        import ctypes

        getattr(ctypes.CDLL(None), function)(*arguments)
