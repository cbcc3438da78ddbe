"""The daemon's footprint: what an import needed is given back to the system once it is over."""

import gc
import sys
from contextlib import suppress


def give_back() -> None:
    """Return unused memory to the system where the C library can do that; never fails.

    Worker threads leave arenas behind that hold tens of megabytes after an import of many sessions.
    """
    gc.collect()
    if not sys.platform.startswith("linux"):
        return
    with suppress(ImportError, OSError, AttributeError, MemoryError):
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)
