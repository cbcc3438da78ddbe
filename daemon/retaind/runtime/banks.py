"""Which of a server's banks a session belongs to: decided at its first record, and kept."""

import hashlib
from typing import Final

from retaind.config.settings import Bank, Hindsight
from retaind.core.facts import map_directory
from retaind.db import Connection
from retaind.runtime.projects import project_name

_LONGEST_BYTES: Final = 192
"""What a Hindsight server takes as a bank's name."""
_HASH_CHARS: Final = 12
_UNKNOWN: Final = "unknown"


def derive(hindsight: Hindsight, bank: Bank, session_id: str, cwd: str | None) -> str:
    """Return the bank of a session that started in `cwd`.

    A fixed bank, else the longest mapped folder at or above `cwd`, else the parts of `bank.granularity`.
    """
    if hindsight.bank:
        return _bounded(hindsight.bank)
    mapped = map_directory(cwd, dict(bank.directory_map))
    if mapped is not None:
        name = mapped
    elif bank.dynamic:
        name = "::".join(_part(bank, field, session_id, cwd) for field in bank.granularity)
    else:
        name = bank.id or bank.agent_name
    return _bounded(f"{bank.id_prefix}-{name}" if bank.id_prefix else name)


def pinned(connection: Connection, memory: str, stream_id: int) -> str | None:
    """Return the bank that a session has been given, or None as long as it has none."""
    row = connection.execute(
        "SELECT bank FROM session_pin WHERE memory = ? AND stream_id = ?", (memory, stream_id)
    ).fetchone()
    return row[0] if row else None


def pin(connection: Connection, memory: str, stream_id: int, bank: str) -> None:
    """Give a session its bank; one that it has stays."""
    connection.execute(
        "INSERT INTO session_pin (memory, stream_id, bank, confirmed, backfill) VALUES (?, ?, ?, 0, 0)"
        " ON CONFLICT (memory, stream_id) DO UPDATE SET bank = coalesce(bank, excluded.bank)",
        (memory, stream_id, bank),
    )


def confirm(connection: Connection, memory: str, stream_id: int) -> None:
    """Record that the bank has accepted a document: from now on it is the session's for good."""
    connection.execute(
        "UPDATE session_pin SET confirmed = 1 WHERE memory = ? AND stream_id = ? AND confirmed = 0",
        (memory, stream_id),
    )


def unconfirmed(connection: Connection, memory: str) -> list[tuple[int, str]]:
    """Return (stream, bank) of each session whose bank has not accepted a document yet."""
    return connection.execute(
        "SELECT stream_id, bank FROM session_pin WHERE memory = ? AND confirmed = 0 AND bank IS NOT NULL",
        (memory,),
    ).fetchall()


def want_whole(connection: Connection, memory: str, stream_id: int) -> None:
    """Record that the user asked for what a session said before the memory was set up."""
    connection.execute(
        "INSERT INTO session_pin (memory, stream_id, bank, confirmed, backfill) VALUES (?, ?, NULL, 0, 1)"
        " ON CONFLICT (memory, stream_id) DO UPDATE SET backfill = 1",
        (memory, stream_id),
    )


def owner(connection: Connection, stream_id: int) -> tuple[int, str, str | None]:
    """Return (stream, session id, cwd) of the session that decides: a sub-agent's is its parent."""
    row: tuple[int, str, str | None] = connection.execute(
        "SELECT coalesce(o.id, s.id), coalesce(o.session_id, s.session_id), coalesce(o.cwd, s.cwd)"
        " FROM stream s LEFT JOIN stream o ON s.kind = 'subagent' AND o.kind = 'session'"
        " AND o.host = s.host AND o.session_id = s.owner_session WHERE s.id = ? ORDER BY o.id LIMIT 1",
        (stream_id,),
    ).fetchone()
    return row


def _part(bank: Bank, field: str, session_id: str, cwd: str | None) -> str:
    if field == "agent":
        return bank.agent_name
    if field == "project":
        return _project(bank, cwd)
    if field == "session":
        return session_id
    return bank.channel if field == "channel" else bank.user


def _project(bank: Bank, cwd: str | None) -> str:
    if not cwd:
        return _UNKNOWN
    if bank.resolve_worktrees:
        return project_name(cwd) or _UNKNOWN
    return cwd.rstrip("/").rpartition("/")[2] or _UNKNOWN


def _bounded(name: str) -> str:
    """Shorten a name that no server would take, so that different ones stay different."""
    data = name.encode()
    if len(data) <= _LONGEST_BYTES:
        return name
    kept = data[: _LONGEST_BYTES - _HASH_CHARS - 1].decode("utf-8", "ignore")
    return f"{kept}-{hashlib.sha256(data).hexdigest()[:_HASH_CHARS]}"
