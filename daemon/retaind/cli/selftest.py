"""`retaind selftest`: can this installation work at all? For the installer, before it switches."""

import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import click

from retaind import __version__
from retaind.errors import RetaindError

MODULES = (
    "anyio",
    "click",
    "h11",
    "httpx",
    "msgspec",
    "re2",
    "rich",
    "structlog",
    "watchfiles",
    "zstandard",
    "retaind.runtime.daemon",
    "retaind_service",
)


@click.command()
def command() -> int:
    """Check imports, the database's migrations and full text, compression and redaction."""
    faults = 0
    for name, check in CHECKS.items():
        try:
            print(f"ok    {name}: {check()}")
        except (ImportError, OSError, RetaindError, AssertionError, ValueError) as error:
            faults += 1
            print(f"fail  {name}: {type(error).__name__}: {error}")
    return 1 if faults else 0


def _imports() -> str:
    for name in MODULES:
        import_module(name)
    return f"{len(MODULES)} modules, Python {sys.version.split()[0]}"


def _database() -> str:
    import sqlite3

    from retaind.db import Database

    with tempfile.TemporaryDirectory(prefix="retaind-selftest-") as folder:
        database = Database.open(Path(folder) / "retaind.db")
        try:
            found = database.write_now(_uses_full_text)
        finally:
            database.close()
    if found != 1:
        raise ValueError("full text search does not find what it indexed")
    return f"SQLite {sqlite3.sqlite_version}, migrations and full text"


def _uses_full_text(connection: object) -> int:
    from retaind.db import Connection

    if not isinstance(connection, Connection):
        raise TypeError
    connection.execute("CREATE VIRTUAL TABLE temp.probe USING fts5 (body)")
    connection.execute("INSERT INTO temp.probe VALUES ('the quick brown fox')")
    found = connection.execute("SELECT count(*) FROM temp.probe WHERE probe MATCH 'quick'")
    return int(found.fetchone()[0])


def _vault() -> str:
    from retaind.vault.blocks import compress, decompress

    raw = b"byte for byte\n" * 1000
    block = compress(0, raw)
    if decompress(block.data, block.length) != raw:
        raise ValueError("what was compressed does not come back")
    return f"{len(raw)} bytes in {len(block.data)}"


def _redaction() -> str:
    from retaind.core.redact import redact

    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    if secret in redact(f"token {secret}").text:
        raise ValueError("a token is not recognised")
    return "a token is recognised"


CHECKS: dict[str, Callable[[], str]] = {
    "version": lambda: __version__,
    "imports": _imports,
    "database": _database,
    "vault": _vault,
    "redaction": _redaction,
}
