"""Where a word has left a trace: in every file of a daemon, and in every value of its database."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import zstandard

from harness.process import Home

VAULT = "block.data"


def traces(home: Home, word: str) -> list[str]:
    """Return every place in which the word stands, packed or not; columns are named TABLE.COLUMN."""
    needle = word.encode()
    found = {place for place, data in _values(home.state / "retaind.db") if needle in data.lower()}
    if _is_indexed(home.state / "retaind.db", word):
        found.add("local_index")
    files = [home.log, *(path for path in home.state.rglob("*") if path.is_file())]
    found |= {path.name for path in files if needle in path.read_bytes().lower()}
    return sorted(found)


def _values(database: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every text and blob, unpacked where it is packed."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        tables = connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table'"
        ).fetchall()
        for (table,) in tables:
            if table == "local_index":
                continue
            rows = connection.execute(f'SELECT * FROM "{table}"')
            columns = [column[0] for column in rows.description]
            for row in rows:
                for column, value in zip(columns, row, strict=True):
                    yield f"{table}.{column}", _plain(value)
    finally:
        connection.close()


def _plain(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if not isinstance(value, bytes):
        return b""
    try:
        return zstandard.ZstdDecompressor().decompress(value, max_output_size=64 << 20)
    except zstandard.ZstdError:
        return value


def _is_indexed(database: Path, word: str) -> bool:
    """Whether the full-text index has the word, which its own tables hold in pieces."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        quoted = '"' + word.replace('"', '""') + '"'
        rows = connection.execute(
            "SELECT count(*) FROM local_index WHERE local_index MATCH ?", (quoted,)
        )
        return bool(rows.fetchone()[0])
    finally:
        connection.close()
