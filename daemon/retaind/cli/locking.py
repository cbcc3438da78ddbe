"""Whether a daemon holds the state directory, asked without disturbing it."""

import fcntl
import os

from retaind.paths import Paths


def is_locked(paths: Paths) -> bool:
    """Say whether a process holds the state directory: a daemon that starts, runs or stops."""
    try:
        descriptor = os.open(paths.lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
