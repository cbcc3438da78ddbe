"""Compaction of the vault: runs of small blocks become one, and no byte changes."""

import sqlite3

from retaind.vault import blocks, streams
from retaind.vault.blocks import Span


def merge_small(connection: sqlite3.Connection, generation_id: int, *, idle: bool) -> bool:
    """Merge one run of small blocks if there is one worth merging; says whether it did."""
    rows = connection.execute(
        "SELECT start, length FROM block WHERE generation_id = ? AND length < ? AND data IS NOT NULL"
        " ORDER BY start",
        (generation_id, blocks.BLOCK_BYTES),
    ).fetchall()
    run = blocks.mergeable([Span(*row) for row in rows], idle=idle)
    if not run:
        return False
    start, end = run[0].start, run[-1].start + run[-1].length
    raw = b"".join(piece for _, piece in streams.read(connection, generation_id, start, end))
    merged = blocks.recompress(start, raw)
    connection.execute(
        "DELETE FROM block WHERE generation_id = ? AND start >= ? AND start < ?",
        (generation_id, start, end),
    )
    connection.execute(
        "INSERT INTO block (generation_id, start, length, data) VALUES (?, ?, ?, ?)",
        (generation_id, *merged),
    )
    return True
