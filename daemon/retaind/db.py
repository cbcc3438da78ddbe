"""The one database: a single writer, short transactions, read-only readers, migrations.

The vault, the memories and the runtime are handed a `Database` or a connection; none opens the file itself.
"""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from retaind import schema
from retaind.errors import DiskFull, StateDamaged, StateError, StateTooNew, StateUnwritable
from retaind.failpoint import reach
from retaind.schema.migrating import migrate, versions

if TYPE_CHECKING:
    from anyio import CapacityLimiter

T = TypeVar("T")
Connection = sqlite3.Connection

_CHECKPOINT_PAGES = 4000
"""32 MiB of log: pages that every commit writes anew are copied into the database a quarter as often."""
_PAGE_BYTES = 8192
_WAL_TRUNCATE_BYTES = 16 * 1024 * 1024
_BUSY_TIMEOUT_MS = 10_000


class Database:
    """The open database. Create it with `Database.open`, and close it once nothing is under way.

    `write` runs a function in one transaction on the writing connection; calls are taken in order.
    `read` runs a function on a read-only connection, beside the writer.
    """

    def __init__(self, path: Path, writer: Connection) -> None:
        import anyio

        self.path = path
        self._writer = writer
        self._writing = anyio.CapacityLimiter(1)
        self._reading = anyio.CapacityLimiter(2)
        self._readers: list[Connection] = []

    @classmethod
    def open(cls, path: Path) -> "Database":
        """Open for writing, create when missing, and migrate to this version's schema.

        Raises StateTooNew, StateUnwritable, StateDamaged or DiskFull.
        """
        with _translated(path):
            _look_first(path)
            writer = _connect_writer(path)
            try:
                _refuse_newer(writer, path)
                migrate(writer, path)
            except BaseException:
                writer.close()
                raise
        return cls(path, writer)

    async def write(self, work: Callable[[Connection], T]) -> T:
        """Run `work` in one transaction and return what it returned; on an error nothing has happened."""
        return await _on_a_thread(partial(self.write_now, work), self._writing)

    def write_now(self, work: Callable[[Connection], T]) -> T:
        """Do as `write`, on the calling thread; the caller makes sure that nobody else writes."""
        with _translated(self.path):
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                result = work(self._writer)
                reach("db.commit")
                self._writer.execute("COMMIT")
            except BaseException:
                # A full disk or a failed write may have ended the transaction already.
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise
            reach("db.committed")
            return result

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run `work` on a read-only connection. It must fetch all that it needs before it returns."""
        return await _on_a_thread(partial(self._read_now, work), self._reading)

    def _read_now(self, work: Callable[[Connection], T]) -> T:
        connection = self._readers.pop() if self._readers else open_readonly(self.path)
        try:
            with _translated(self.path):
                connection.execute("BEGIN")  # whatever is read is of one moment
                try:
                    return work(connection)
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
        finally:
            self._readers.append(connection)

    async def erase(self, work: Callable[[Connection], T]) -> T:
        """Do as `write`, and overwrite what `work` deletes. `scrub` afterwards, for older versions of it."""
        return await _on_a_thread(partial(self._erase_now, work), self._writing)

    def _erase_now(self, work: Callable[[Connection], T]) -> T:
        with _translated(self.path):
            self._writer.execute("PRAGMA secure_delete=ON").fetchall()
            try:
                return self.write_now(work)
            finally:
                self._writer.execute("PRAGMA secure_delete=FAST").fetchall()

    async def scrub(self) -> bool:
        """Cut off every free page, and empty the write-ahead log: nothing that was deleted is left in a file.

        Takes time by the size of the database. False when a reader has kept the log from being emptied.
        """
        return await _on_a_thread(self._scrub, self._writing)

    def _scrub(self) -> bool:
        with _translated(self.path):
            self._writer.execute("PRAGMA incremental_vacuum").fetchall()
            busy = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            self._writer.execute("PRAGMA shrink_memory")
            return not busy

    async def tidy(self) -> None:
        """Give free pages back and move the write-ahead log into the database; for quiet moments."""
        await _on_a_thread(self._tidy, self._writing)

    def _tidy(self) -> None:
        while self._readers:  # each keeps pages; the next question opens one anew
            self._readers.pop().close()
        with _translated(self.path):
            self._writer.execute("PRAGMA incremental_vacuum(256)").fetchall()
            reach("db.tidy")
            wal = self.path.with_name(self.path.name + "-wal")
            large = wal.exists() and wal.stat().st_size > _WAL_TRUNCATE_BYTES
            mode = "TRUNCATE" if large else "PASSIVE"
            self._writer.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()

    async def release_memory(self) -> None:
        """Let go of the pages that the writing connection remembers, when it will rest for long."""
        await _on_a_thread(
            lambda: self._writer.execute("PRAGMA shrink_memory").fetchall(), self._writing
        )

    def close(self) -> None:
        """Close every connection; the last one moves the write-ahead log into the database."""
        for connection in self._readers:
            connection.close()
        self._readers.clear()
        self._writer.close()


async def _on_a_thread(work: Callable[[], T], limiter: "CapacityLimiter") -> T:
    """Run `work` on a worker thread. anyio is imported here, because commands that only read do without."""
    from anyio.to_thread import run_sync

    return await run_sync(work, limiter=limiter)


def open_readonly(path: Path) -> Connection:
    """Open the database for reading, also while the daemon runs or after it was killed.

    Raises StateError when there is no database or it cannot be read.
    """
    if not path.exists():
        raise StateError(
            f"there is no retaind database at {path}",
            why="the daemon has not run with this state directory",
            fix="retaind start",
        )
    with _translated(path):
        connection = sqlite3.connect(
            f"{path.as_uri()}?mode=ro",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=_BUSY_TIMEOUT_MS / 1000,
        )
        connection.execute("PRAGMA query_only=ON")
        connection.execute("PRAGMA cache_size=-2048")
    return connection


def _connect_writer(path: Path) -> Connection:
    connection = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, timeout=_BUSY_TIMEOUT_MS / 1000
    )
    path.chmod(0o600)
    connection.execute(f"PRAGMA page_size={_PAGE_BYTES}")
    connection.execute("PRAGMA auto_vacuum=INCREMENTAL")
    mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA secure_delete=FAST")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA cache_size=-6144")
    connection.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}")
    connection.execute("PRAGMA temp_store=MEMORY")
    if mode != "wal":
        raise StateError(
            f"the database at {path} cannot use a write-ahead log",
            why=f"SQLite answered journal mode {mode}; network file systems do that",
            fix="set RETAIND_STATE_DIR to a folder on a local disk",
        )
    return connection


def _look_first(path: Path) -> None:
    """Look before anything is written: a newer database is left as it is, to the last byte.

    One that was killed while it was made cannot be read before it is opened for writing.
    """
    if not path.exists():
        return
    try:
        with _translated(path), closing(open_readonly(path)) as connection:
            _refuse_newer(connection, path)
    except StateUnwritable:
        return


def _refuse_newer(connection: Connection, path: Path) -> None:
    tables = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'migration'")
    found = max(versions(connection), default=0) if tables.fetchone() else 0
    newest = schema.migrations()[-1].version
    if found > newest:
        raise StateTooNew(
            f"the database at {path} was written by a newer retaind",
            why=f"its schema is version {found}, this retaind knows {newest}",
            fix="upgrade retaind, or set RETAIND_STATE_DIR to another folder",
        )


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours, once, here. The path is named; content never is."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "") or type(error).__name__
        if name.startswith("SQLITE_FULL"):
            raise DiskFull(
                f"no space left for {path}",
                why=name,
                fix="free some space; retaind goes on by itself",
            ) from error
        if name in {"SQLITE_NOTADB", "SQLITE_CORRUPT"} or name.startswith("SQLITE_CORRUPT_"):
            raise StateDamaged(f"the database at {path} is damaged", why=name) from error
        if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
            raise StateUnwritable(
                f"the database at {path} cannot be opened or written",
                why=name,
                fix=f"make {path.parent} writable for this user, or set RETAIND_STATE_DIR",
            ) from error
        if name.startswith(("SQLITE_IOERR", "SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")):
            raise StateError(f"the database at {path} could not be used", why=name) from error
        raise
