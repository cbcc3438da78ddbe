"""Old copies of the database: backups from before a migration, and damaged ones in quarantine.

What is forgotten is in them as well, and cannot be taken out of them; so they are deleted whole.
"""

import os
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from retaind.paths import Paths

IsGoing = Callable[[str, str], bool]
"""Whether the session of a host with this id is to go, or is gone."""

_BACKUPS: Final = ("*.before-v*.db*", "*.before-v*.partial*")
_QUARANTINE: Final = "quarantine"


def holding(paths: Paths, is_going: IsGoing) -> list[Path]:
    """Return what holds, or may hold, one of the sessions: backups, and databases in quarantine.

    One that can be read and has none of them is not among these.
    """
    found = [path for glob in _BACKUPS for path in paths.state_dir.glob(glob)]
    found += [
        folder
        for folder in (paths.state_dir / _QUARANTINE).glob("*")
        if not _is_free_of(folder / paths.database.name, is_going)
    ]
    return sorted(found)


def remove(copies: Iterable[Path]) -> None:
    """Delete copies of the database, overwritten first, with the folders that they are in."""
    for copy in copies:
        files = list(copy.iterdir()) if copy.is_dir() else [copy]
        for file in files:
            _overwrite(file)
            file.unlink(missing_ok=True)
        if copy.is_dir():
            copy.rmdir()


def _overwrite(file: Path) -> None:
    try:
        size = file.stat().st_size
        with file.open("r+b") as opened:
            opened.truncate(0)
            opened.truncate(size)
            os.fsync(opened.fileno())
    except OSError:
        return


def _is_free_of(database: Path, is_going: IsGoing) -> bool:
    """Whether a damaged database can be read after all, and has none of these sessions."""
    try:
        connection = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)
        try:
            rows = connection.execute("SELECT host, session_id FROM stream").fetchall()
            answer = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.Error:
        return False
    return answer == "ok" and not any(is_going(host, session) for host, session in rows)
