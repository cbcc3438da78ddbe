"""Taking the steps of the schema: forward only, each in one transaction with its record."""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from retaind.errors import DiskFull
from retaind.failpoint import reach
from retaind.schema import Migration, migrations


def versions(connection: sqlite3.Connection) -> set[int]:
    """Return the steps that a database has taken."""
    return {row[0] for row in connection.execute("SELECT version FROM migration").fetchall()}


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a database forward, step by step, each with its record in one transaction; a copy is taken first.

    Raises DiskFull when there is no room for the copy, and sqlite3.Error.
    """
    connection.execute(
        "CREATE TABLE IF NOT EXISTS migration"
        " (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied REAL NOT NULL)"
    )
    done = versions(connection)
    missing = [step for step in migrations() if step.version not in done]
    if done and missing:
        _back_up(connection, path, max(done))
    for step in missing:
        _apply(connection, step)


def _back_up(connection: sqlite3.Connection, path: Path, version: int) -> None:
    copy = path.with_name(f"{path.stem}.before-v{version + 1}.db")
    partial = copy.with_suffix(".partial")
    partial.unlink(missing_ok=True)
    needed = path.stat().st_size
    if shutil.disk_usage(path.parent).free < needed * 2:
        raise DiskFull(
            "no room for the copy that is taken before the database is migrated",
            why=f"{needed} bytes are needed in {path.parent}",
            fix="free some space and start again",
        )
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    target = sqlite3.connect(partial)
    try:
        connection.backup(target)
    finally:
        target.close()
    reach("db.copied")
    partial.replace(copy)


def _apply(connection: sqlite3.Connection, step: Migration) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in _statements(step.sql):
            connection.execute(statement)
        connection.execute(
            "INSERT INTO migration (version, name, applied) VALUES (?, ?, ?)",
            (step.version, step.name, time.time()),
        )
        reach("db.migrate")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    reach("db.migrated")


def _statements(script: str) -> Iterator[str]:
    """Split a script; `executescript` would commit in the middle."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip() and not all(
        part.lstrip().startswith("--") for part in pending.splitlines() if part.strip()
    ):
        yield pending
