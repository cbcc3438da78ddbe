"""A damaged database is set aside and said so; the daemon goes on from the sources, never in a loop."""

import sqlite3
import time
from pathlib import Path
from typing import Final

from retaind.db import Database
from retaind.errors import StateDamaged
from retaind.failpoint import reach
from retaind.paths import Paths

_SUSPECT: Final = "suspect"
_PARTS: Final = ("", "-wal", "-shm", "-journal")


def open_database(paths: Paths) -> tuple[Database, Path | None]:
    """Open the database; one that is damaged is moved to `quarantine/` and a new one made.

    Returns the database, and where the damaged one went. Raises the other errors of `Database.open`.
    """
    try:
        if (paths.state_dir / _SUSPECT).exists():
            _check(paths.database)
        database = Database.open(paths.database)
    except StateDamaged:
        kept = _set_aside(paths)
        return Database.open(paths.database), kept
    finally:
        (paths.state_dir / _SUSPECT).unlink(missing_ok=True)
    return database, None


def mark_suspect(paths: Paths) -> None:
    """Remember that the database failed while it was in use, so that the next start checks it."""
    (paths.state_dir / _SUSPECT).touch(mode=0o600)


def quarantined(paths: Paths) -> list[Path]:
    """Return what was set aside earlier, oldest first."""
    return sorted((paths.state_dir / "quarantine").glob("*"))


def _check(database: Path) -> None:
    """Read all of the database; raises StateDamaged when it does not hold together."""
    try:
        connection = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)
        try:
            answer = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise StateDamaged(f"the database at {database} is damaged") from error
    if answer != "ok":
        raise StateDamaged(f"the database at {database} is damaged")


def _set_aside(paths: Paths) -> Path:
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
    folder = paths.state_dir / "quarantine"
    folder.mkdir(mode=0o700, exist_ok=True)
    kept = folder / f"{stamp}-{time.time_ns() % 1_000_000:06d}"
    kept.mkdir(mode=0o700)
    for suffix in _PARTS:
        part = paths.database.with_name(paths.database.name + suffix)
        if part.exists():
            part.rename(kept / part.name)
            reach("quarantine.moved")
    return kept
