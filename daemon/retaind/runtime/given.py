"""What sessions were given at their prompts: hashes of messages, bounded, and durable across restarts."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Final

MOST: Final = 50_000
"""So many messages are remembered, over all sessions; then the oldest are forgotten."""
_PER_SESSION: Final = 5_000


def given_to(connection: sqlite3.Connection, sessions: Sequence[str]) -> frozenset[int]:
    """Return the keys of the messages that these sessions were given, of each the newest ones."""
    found: set[int] = set()
    for session in sessions:
        rows = connection.execute(
            "SELECT message FROM given WHERE session_id = ? ORDER BY id DESC LIMIT ?",
            (session, _PER_SESSION),
        )
        found.update(row[0] for row in rows.fetchall())
    return frozenset(found)


def note_given(
    connection: sqlite3.Connection, session: str, keys: Iterable[int], most: int = MOST
) -> None:
    """Remember that a session is given these messages, and forget what is too old."""
    connection.executemany(
        "INSERT OR IGNORE INTO given (session_id, message) VALUES (?, ?)",
        [(session, key) for key in sorted(keys)],
    )
    connection.execute("DELETE FROM given WHERE id <= (SELECT max(id) FROM given) - ?", (most,))
