"""Tombstones: what was forgotten, as hashes, so that it is not captured again while its file still exists.

They lie in the database, and in a file beside it that outlives the database: a new one reads it first.
Four kinds: the session by its host and id; the first bytes of its file, whatever its name; its records,
for a fork begins with them; and a folder, all of whose sessions are forgotten before they begin.
"""

import base64
import hashlib
import json
import os
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from retaind.core.facts import ancestors
from retaind.core.lines import frame
from retaind.db import Connection
from retaind.hosts.port import Host
from retaind.runtime.opened import Opened
from retaind.vault.identity import digest

_HASH_BYTES: Final = 16
_KEY_BYTES: Final = 8
_LEAST_HEAD_BYTES: Final = 128
"""Fewer first bytes may be those of another session, too."""
_PEEK_BYTES: Final = 64 * 1024
_FILE: Final = "tombstones.jsonl"


@dataclass(slots=True)
class Tombstones:
    """What was forgotten. Read by worker threads; `add` replaces whole values."""

    sessions: frozenset[bytes] = frozenset()
    heads: frozenset[tuple[int, bytes]] = frozenset()
    folders: frozenset[bytes] = frozenset()
    records: "array[int]" = field(default_factory=lambda: array("q"))
    _lengths: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.sessions or self.folders)

    def add(self, more: "Tombstones") -> None:
        """Take in what was forgotten just now."""
        self.records = array("q", sorted({*self.records, *more.records}))
        self.heads |= more.heads
        self._lengths = frozenset(length for length, _ in self.heads)
        self.folders |= more.folders
        self.sessions |= more.sessions

    def covers_session(self, host: str, *session_ids: str | None) -> bool:
        """Whether one of these sessions was forgotten."""
        return any(
            one is not None and of_session(host, one) in self.sessions for one in session_ids
        )

    def covers_folder(self, cwd: str | None) -> bool:
        """Whether all sessions of a folder, or of one above it, are forgotten."""
        if not self.folders or cwd is None:
            return False
        return any(of_folder(one) in self.folders for one in ancestors(cwd))

    def covers_bytes(self, host: Host, opened: Opened) -> bool:
        """Whether a file begins with the first bytes, or with a record, of what was forgotten."""
        if not self.heads and not self.records:
            return False
        head = opened.read_at(_PEEK_BYTES, 0)
        for length in self._lengths:
            if length <= len(head) and (length, digest(head[:length])) in self.heads:
                return True
        lines, _ = frame(head, 0)
        keys = (record.key for at, line in lines for record in host.parse(at, line))
        return any(key and self._has_record(key) for key in keys)

    def _has_record(self, key: int) -> bool:
        at = bisect_left(self.records, key)
        return at < len(self.records) and self.records[at] == key


def made_of(
    sessions: Iterable[tuple[str, str]] = (),
    heads: Iterable[tuple[int, bytes]] = (),
    folders: Iterable[str] = (),
    records: Iterable[int] = (),
) -> Tombstones:
    """Return the tombstones of (host, session id), (length, hash) of first bytes, folders, record keys."""
    made = Tombstones()
    made.add(
        Tombstones(
            sessions=frozenset(of_session(*one) for one in sessions),
            heads=frozenset(one for one in heads if one[0] >= _LEAST_HEAD_BYTES),
            folders=frozenset(of_folder(one) for one in folders),
            records=array("q", records),
        )
    )
    return made


def of_session(host: str, session_id: str) -> bytes:
    """Return the hash that a session is known by."""
    return hashlib.sha256(f"session\0{host}\0{session_id}".encode()).digest()[:_HASH_BYTES]


def of_folder(path: str) -> bytes:
    """Return the hash that a folder is known by."""
    return hashlib.sha256(b"folder\0" + os.fsencode(path)).digest()[:_HASH_BYTES]


def load(connection: Connection, state_dir: Path) -> Tombstones:
    """Read what was forgotten, from the database and the file, and give each what it lacks."""
    found = Tombstones()
    rows = connection.execute("SELECT kind, hash, length FROM tombstone").fetchall()
    found.add(_from_rows(rows))
    in_file = _from_file(state_dir / _FILE)
    lacks = _missing(found, in_file)
    if lacks is not None:
        store(connection, lacks)
    unwritten = _missing(in_file, found)
    if unwritten is not None:
        write(state_dir, unwritten)
    found.add(in_file)
    return found


def read(connection: Connection, state_dir: Path) -> Tombstones:
    """Return what was forgotten, from the database and the file; writes nothing."""
    rows = connection.execute("SELECT kind, hash, length FROM tombstone").fetchall()
    found = _from_rows(rows)
    found.add(_from_file(state_dir / _FILE))
    return found


def store(connection: Connection, more: Tombstones) -> None:
    """Write tombstones into the database."""
    rows = [("session", one, 0) for one in more.sessions]
    rows += [("head", hash_, length) for length, hash_ in more.heads]
    rows += [("folder", one, 0) for one in more.folders]
    rows += [("record", key.to_bytes(_KEY_BYTES), 0) for key in more.records]
    connection.executemany(
        "INSERT OR IGNORE INTO tombstone (kind, hash, length) VALUES (?, ?, ?)", rows
    )


def write(state_dir: Path, more: Tombstones) -> None:
    """Append tombstones to the file, and see to it that they are on the disk."""
    line = json.dumps(
        {
            "v": 1,
            "sessions": sorted(one.hex() for one in more.sessions),
            "heads": sorted([length, hash_.hex()] for length, hash_ in more.heads),
            "folders": sorted(one.hex() for one in more.folders),
            "records": base64.b64encode(
                b"".join(k.to_bytes(_KEY_BYTES) for k in more.records)
            ).decode(),
        }
    )
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(state_dir / _FILE, flags, 0o600)
    try:
        # A newline in front ends what a crash has left of an earlier line.
        os.write(descriptor, b"\n" + line.encode() + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _from_rows(rows: Sequence[tuple[str, bytes, int]]) -> Tombstones:
    return Tombstones(
        sessions=frozenset(hash_ for kind, hash_, _ in rows if kind == "session"),
        heads=frozenset((length, hash_) for kind, hash_, length in rows if kind == "head"),
        folders=frozenset(hash_ for kind, hash_, _ in rows if kind == "folder"),
        records=array("q", [int.from_bytes(hash_) for kind, hash_, _ in rows if kind == "record"]),
    )


def _from_file(path: Path) -> Tombstones:
    """Read the file; a line that was torn by a crash is passed over, for what it says did not happen."""
    found = Tombstones()
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return found
    for line in lines:
        try:
            said = json.loads(line)
            keys = base64.b64decode(said["records"])
            found.add(
                Tombstones(
                    sessions=frozenset(bytes.fromhex(one) for one in said["sessions"]),
                    heads=frozenset((length, bytes.fromhex(one)) for length, one in said["heads"]),
                    folders=frozenset(bytes.fromhex(one) for one in said["folders"]),
                    records=array(
                        "q",
                        [
                            int.from_bytes(keys[at : at + _KEY_BYTES])
                            for at in range(0, len(keys), _KEY_BYTES)
                        ],
                    ),
                )
            )
        except (ValueError, KeyError, TypeError):
            continue
    return found


def _missing(here: Tombstones, there: Tombstones) -> Tombstones | None:
    """Return what is there and not here; None when that is nothing."""
    sessions, heads = there.sessions - here.sessions, there.heads - here.heads
    folders = there.folders - here.folders
    records = set(there.records) - set(here.records)
    if not (sessions or heads or folders or records):
        return None
    return Tombstones(sessions, heads, folders, array("q", sorted(records)))
