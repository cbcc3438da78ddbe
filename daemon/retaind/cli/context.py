"""What verbs need of the world around them: paths, settings, and the database to read."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from retaind.paths import Paths, find_paths

if TYPE_CHECKING:
    import sqlite3

    from retaind.config import Settings
    from retaind.core.policy import RetainPolicy


def paths() -> Paths:
    """Return the paths of this user's retaind."""
    return find_paths(os.environ)


def settings() -> "Settings":
    """Return the settings in force. Raises ConfigError."""
    from retaind.config import load

    return load(paths().config_file, os.environ)


def memories() -> tuple[str, ...]:
    """Return the names of the memories in use; a broken configuration leaves the local one."""
    from retaind.errors import ConfigError

    try:
        found = settings()
    except ConfigError:
        return ("local",)
    local = ("local",) if found.local.enabled else ()
    return (*local, "hindsight") if found.hindsight.enabled else local


def policy() -> "RetainPolicy":
    """Return what the user decided about retention; a broken configuration leaves the default."""
    from retaind.core.policy import RetainPolicy
    from retaind.errors import ConfigError

    try:
        return settings().retain
    except ConfigError:
        return RetainPolicy()


@contextmanager
def reader() -> Iterator["sqlite3.Connection"]:
    """Open the database read-only. Raises StateError where there is none."""
    from retaind.db import open_readonly

    connection = open_readonly(paths().database)
    try:
        yield connection
    finally:
        connection.close()
