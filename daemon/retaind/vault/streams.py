"""Streams in the database: who they are, how far they are captured, and their bytes.

Every function takes a connection; those that write expect to run inside a transaction.
"""

import hashlib
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from retaind.vault import blocks
from retaind.vault.blocks import Block
from retaind.vault.identity import NOTHING, Evidence, Locator

SourceState = Literal["present", "gone", "unobservable"]
Mode = Literal["full", "metadata", "off", "listed", "held"]

_ID_ALPHABET: Final = "23456789abcdefghjkmnpqrstvwxyz"
_ID_LENGTH: Final = 12


class Sighting(NamedTuple):
    """What `fstat` said of the opened file at the last look; `inode_version` where the system tells."""

    locator: Locator
    inode_version: int | None
    size: int
    mtime_ns: int
    ctime_ns: int

    @property
    def last_activity(self) -> float:
        """Seconds since 1970 of the last write."""
        return self.mtime_ns / 1e9


@dataclass(frozen=True, slots=True)
class NewStream:
    """What is known of a stream when it is first seen."""

    host: str
    kind: str
    session_id: str
    owner_session: str | None
    path: bytes
    cwd: str | None
    project: str | None
    mode: Mode
    parent_id: int | None = None
    parent_offset: int | None = None


class OpenGeneration(NamedTuple):
    """A stream with its open generation, as the capturing side needs it."""

    stream_id: int
    public_id: str
    generation_id: int
    n: int
    host: str
    kind: str
    session_id: str
    owner_session: str | None
    path: bytes
    cwd: str | None
    project: str | None
    mode: Mode
    source_state: SourceState
    sighting: Sighting
    evidence: Evidence


def load_open(connection: sqlite3.Connection) -> Iterator[OpenGeneration]:
    """Yield every stream that lies in a file, with its open generation.

    Where several were at one path, the one that is there now comes last.
    """
    rows = connection.execute(
        "SELECT s.id, s.public_id, g.id, g.n, s.host, s.kind, s.session_id, s.owner_session, s.path,"
        " s.cwd, s.project, s.mode, s.source_state, g.device, g.inode, g.inode_version,"
        " g.captured, g.head_bytes, g.head_hash, g.prefix_hash, g.frontier_hash,"
        " g.size, g.mtime_ns, g.ctime_ns"
        " FROM stream s JOIN generation g ON g.stream_id = s.id WHERE g.closed IS NULL AND s.kind != 'manual'"
        " ORDER BY s.source_state = 'present', g.mtime_ns, s.id"
    )
    return map(_open_generation, rows)


def _open_generation(row: tuple[Any, ...]) -> OpenGeneration:
    sighting = Sighting(Locator(row[13], row[14]), row[15], *row[21:24])
    return OpenGeneration._make((*row[:13], sighting, Evidence(*row[16:21])))


def create(
    connection: sqlite3.Connection, new: NewStream, sighting: Sighting, now: float
) -> OpenGeneration:
    """Mint a stream and its first generation, with nothing captured yet."""
    public_id = "".join(secrets.choice(_ID_ALPHABET) for _ in range(_ID_LENGTH))
    stream_id = _inserted(
        connection.execute(
            "INSERT INTO stream (public_id, host, kind, session_id, owner_session, path, cwd, project,"
            " mode, parent_id, parent_offset, source_state, size_bytes, first_seen, last_activity)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'present', ?, ?, ?)",
            (
                public_id, new.host, new.kind, new.session_id, new.owner_session, new.path, new.cwd,
                new.project, new.mode, new.parent_id, new.parent_offset, sighting.size, now,
                sighting.last_activity,
            ),
        )
    )  # fmt: skip
    generation_id = open_generation(connection, stream_id, 1, sighting)
    return OpenGeneration(
        stream_id, public_id, generation_id, 1, new.host, new.kind, new.session_id, new.owner_session,
        new.path, new.cwd, new.project, new.mode, "present", sighting, NOTHING,
    )  # fmt: skip


def open_generation(
    connection: sqlite3.Connection, stream_id: int, n: int, sighting: Sighting
) -> int:
    """Open generation `n` of a stream, with nothing captured yet; returns its row id."""
    return _inserted(
        connection.execute(
            "INSERT INTO generation (stream_id, n, captured, device, inode, inode_version, head_bytes,"
            " head_hash, prefix_hash, frontier_hash, size, mtime_ns, ctime_ns)"
            " VALUES (?, ?, 0, ?, ?, ?, 0, x'', NULL, x'', ?, ?, ?)",
            (stream_id, n, *_columns(sighting)),
        )
    )


def close_generation(connection: sqlite3.Connection, generation_id: int, reason: str) -> None:
    """Close a generation for good: its bytes stay, and nothing is added any more."""
    connection.execute("UPDATE generation SET closed = ? WHERE id = ?", (reason, generation_id))


def append(
    connection: sqlite3.Connection,
    generation_id: int,
    new: Iterable[Block],
    evidence: Evidence,
    sighting: Sighting,
) -> None:
    """Store blocks that follow what is captured, and move the captured offset with them."""
    connection.executemany(
        "INSERT INTO block (generation_id, start, length, data) VALUES (?, ?, ?, ?)",
        [(generation_id, *block) for block in new],
    )
    connection.execute(
        "UPDATE generation SET captured = ?, head_bytes = ?, head_hash = ?, prefix_hash = ?,"
        " frontier_hash = ?, size = ?, mtime_ns = ?, ctime_ns = ? WHERE id = ?",
        (*evidence, *sighting[2:], generation_id),
    )


def note_lengths(
    connection: sqlite3.Connection, generation_id: int, new: Iterable[tuple[int, bytes]]
) -> None:
    """Record runs of which only length, hash and lines are kept, as `metadata` mode asks."""
    connection.executemany(
        "INSERT INTO block (generation_id, start, length, sha256, data, lines)"
        " VALUES (?, ?, ?, ?, NULL, ?)",
        [
            (generation_id, start, len(raw), hashlib.sha256(raw).digest(), raw.count(b"\n"))
            for start, raw in new
        ],
    )


def count_lines(connection: sqlite3.Connection, generation_id: int, start: int, end: int) -> int:
    """Return how many lines end between two offsets, whether or not their bytes are kept."""
    noted = connection.execute(
        "SELECT coalesce(sum(lines), 0) FROM block WHERE generation_id = ? AND start >= ? AND start < ?",
        (generation_id, start, end),
    ).fetchone()[0]
    kept = sum(piece.count(b"\n") for _, piece in read(connection, generation_id, start, end))
    return int(noted) + kept


def relocate(connection: sqlite3.Connection, generation_id: int, sighting: Sighting) -> None:
    """Record that a generation goes on in another file of the same content."""
    connection.execute(
        "UPDATE generation SET device = ?, inode = ?, inode_version = ?, size = ?, mtime_ns = ?,"
        " ctime_ns = ? WHERE id = ?",
        (*_columns(sighting), generation_id),
    )


def touch(connection: sqlite3.Connection, stream_id: int, size: int, last_activity: float) -> None:
    """Record what the last look at a stream's file saw."""
    connection.execute(
        "UPDATE stream SET size_bytes = ?, last_activity = ?, source_state = 'present' WHERE id = ?",
        (size, last_activity, stream_id),
    )


def move(connection: sqlite3.Connection, stream_id: int, path: bytes, session_id: str) -> None:
    """Record a stream's new path, and the session that its file name binds it to."""
    connection.execute(
        "UPDATE stream SET path = ?, session_id = ? WHERE id = ?", (path, session_id, stream_id)
    )


def bind(connection: sqlite3.Connection, stream_id: int, owner_session: str) -> None:
    """Record which session a stream works for."""
    connection.execute(
        "UPDATE stream SET owner_session = ? WHERE id = ?", (owner_session, stream_id)
    )


def pin_facts(
    connection: sqlite3.Connection, stream_id: int, cwd: str | None, project: str | None, mode: Mode
) -> None:
    """Record what a later look found out: cwd and project where unknown so far, and the mode."""
    connection.execute(
        "UPDATE stream SET cwd = coalesce(cwd, ?), project = coalesce(project, ?), mode = ?"
        " WHERE id = ?",
        (cwd, project, mode, stream_id),
    )


def mark_source(connection: sqlite3.Connection, stream_id: int, state: SourceState) -> None:
    """Record whether the file is still there."""
    connection.execute("UPDATE stream SET source_state = ? WHERE id = ?", (state, stream_id))


def read(
    connection: sqlite3.Connection, generation_id: int, start: int, end: int
) -> Iterator[tuple[int, bytes]]:
    """Yield raw bytes from `start` to `end` with their offsets, block by block, without gaps.

    A pruned run yields nothing. The connection may be used for other statements meanwhile.
    """
    at = start
    while at < end:
        row = connection.execute(
            "SELECT start, length, data FROM block WHERE generation_id = ? AND start <= ?"
            " ORDER BY start DESC LIMIT 1",
            (generation_id, at),
        ).fetchone()
        if row is None or row[0] + row[1] <= at:
            return
        first, length, data = row
        if data is not None:
            raw = blocks.decompress(data, length)
            yield at, raw[at - first : end - first]
        at = first + length


def generations(
    connection: sqlite3.Connection, stream_id: int
) -> Sequence[tuple[int, int, int, str | None]]:
    """Return (row id, n, captured bytes, closed reason) of each generation, oldest first."""
    return connection.execute(
        "SELECT id, n, captured, closed FROM generation WHERE stream_id = ? ORDER BY n",
        (stream_id,),
    ).fetchall()


def _columns(sighting: Sighting) -> tuple[int | None, ...]:
    return (*sighting.locator, *sighting[1:])


def _inserted(cursor: sqlite3.Cursor) -> int:
    row_id = cursor.lastrowid
    if row_id is None:
        raise sqlite3.InternalError("an insert gave no row id")
    return row_id
