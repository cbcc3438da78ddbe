"""Pruning: bytes that nobody needs any more are given up; their length and hash stay, as evidence."""

import hashlib
import sqlite3

from retaind.vault import blocks


def prune(connection: sqlite3.Connection, generation_id: int, upto: int, most_blocks: int) -> int:
    """Give up the oldest whole blocks that end at `upto` or before; returns how many bytes that were.

    Each leaves the SHA-256 of its raw bytes. Raises BlockDamaged for a block that cannot be read.
    """
    rows = connection.execute(
        "SELECT start, length, data FROM block WHERE generation_id = ? AND data IS NOT NULL"
        " AND start + length <= ? ORDER BY start LIMIT ?",
        (generation_id, upto, most_blocks),
    ).fetchall()
    for start, length, data in rows:
        digest = hashlib.sha256(blocks.decompress(data, length)).digest()
        connection.execute(
            "UPDATE block SET data = NULL, sha256 = ? WHERE generation_id = ? AND start = ?",
            (digest, generation_id, start),
        )
    return sum(length for _, length, _ in rows)
