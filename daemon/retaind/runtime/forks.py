"""Forks and copies: which records of a window are there already, and the link from a copy to what it copies.

A record with an identity of its own is a duplicate when the memory owns it already. Records without one
are duplicates inside a copied prefix: bytes with which another generation begins, too, that the memory took
up before. Whoever comes first owns a record, whatever the order of files.
"""

from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

import msgspec

from retaind.core.carry import Carry
from retaind.core.records import Fate, Record
from retaind.db import Connection
from retaind.runtime import cursors
from retaind.vault import streams

_COPIED: Final = -1
"""Stands in for the key of a record that has none and lies in a copied prefix."""

_CANDIDATES: Final = 32
_KEPT: Final = ("", "sidechain")
"""The drop reasons with which a record may still be retained."""


class Known(NamedTuple):
    """A window's records, with which of their keys are duplicates, and the carry that knows the prefix."""

    records: tuple[Record, ...]
    duplicates: AbstractSet[int]
    carry: Carry


def recognise(
    connection: Connection,
    memory: str,
    generation_id: int,
    carry: Carry,
    start: int,
    records: tuple[Record, ...],
) -> Known:
    """Find the duplicates among the records of the window at `start`, and link a copy to its owner.

    Who owns a record is asked here alone, so that an owner that is gone could be passed over here.
    """
    owners = cursors.owners(connection, memory, [one.key for one in records if one.key])
    if owners:
        _link(connection, generation_id, Counter(owners.values()))
    if not any(map(_is_nameless, records)):
        return Known(records, owners.keys(), carry)
    carry = _follow_prefix(connection, memory, generation_id, carry, start)
    marked = tuple(
        msgspec.structs.replace(one, key=_COPIED)
        if _is_nameless(one) and one.end <= carry.copied
        else one
        for one in records
    )
    return Known(marked, owners.keys() | {_COPIED}, carry)


def _is_nameless(record: Record) -> bool:
    """Whether a record of the conversation has nothing to be known by elsewhere."""
    return not record.key and record.fate is Fate.CONVERSATION and record.reason in _KEPT


def _follow_prefix(
    connection: Connection, memory: str, generation_id: int, carry: Carry, start: int
) -> Carry:
    """Find out how far the generation begins as another one does; once they differ it is settled."""
    if start and not (carry.copy_of and carry.copied >= start):
        return carry
    sources = [carry.copy_of] if start else _begin_alike(connection, memory, generation_id)
    shared = [(_shared_until(connection, generation_id, one, carry.copied), one) for one in sources]
    copied, source = max(shared, default=(0, 0))
    if not copied:
        return carry
    _link(connection, generation_id, Counter({source: 1}), copied)
    return msgspec.structs.replace(carry, copy_of=source, copied=copied)


def _begin_alike(connection: Connection, memory: str, generation_id: int) -> list[int]:
    """Return the generations with the same first kilobyte that the memory has taken up already."""
    rows = connection.execute(
        "SELECT other.id FROM generation own JOIN generation other ON other.prefix_hash = own.prefix_hash"
        " JOIN cursor c ON c.generation_id = other.id AND c.memory = ? AND c.offset > 0"
        " JOIN stream s ON s.id = other.stream_id AND s.mode = 'full' AND s.kind != 'attachment'"
        " WHERE own.id = ? AND other.id != own.id ORDER BY other.captured DESC, other.id LIMIT ?",
        (memory, generation_id, _CANDIDATES),
    )
    return [row[0] for row in rows.fetchall()]


def _shared_until(connection: Connection, one: int, other: int, start: int) -> int:
    """Return the offset up to which two generations that are equal up to `start` are equal."""
    mine, theirs = _Bytes(connection, one, start), _Bytes(connection, other, start)
    at = start
    while (length := min(mine.fill(), theirs.fill())) > 0:
        left, right = mine.take(length), theirs.take(length)
        if left != right:
            return at + _first_difference(left, right)
        at += length
    return at


class _Bytes:
    """The bytes of a generation from an offset on, up to the first that are not kept."""

    def __init__(self, connection: Connection, generation_id: int, start: int) -> None:
        captured = connection.execute(
            "SELECT captured FROM generation WHERE id = ?", (generation_id,)
        ).fetchone()[0]
        self._pieces: Iterator[tuple[int, bytes]] = streams.read(
            connection, generation_id, start, captured
        )
        self._at = start
        self._piece = b""

    def fill(self) -> int:
        """Make bytes ready; returns how many, 0 at the end."""
        if not self._piece:
            at, piece = next(self._pieces, (self._at, b""))
            self._piece = piece if at == self._at else b""
        return len(self._piece)

    def take(self, length: int) -> bytes:
        """Take bytes that are ready."""
        taken, self._piece = self._piece[:length], self._piece[length:]
        self._at += length
        return taken


def _first_difference(one: bytes, other: bytes) -> int:
    """Return where two runs of equal length that are not the same differ first."""
    low, high = 0, len(one) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _link(
    connection: Connection, generation_id: int, owners: Counter[int], shared: int | None = None
) -> None:
    """Make the stream that owns the most the parent of this one, unless it has one or would be its own."""
    stream_id, parent_id = connection.execute(
        "SELECT s.id, s.parent_id FROM generation g JOIN stream s ON s.id = g.stream_id WHERE g.id = ?",
        (generation_id,),
    ).fetchone()
    if parent_id is not None:
        return
    owning: Counter[int] = Counter()
    for owner, records in owners.items():
        owning[_stream_of(connection, owner) or stream_id] += records
    for parent, _ in owning.most_common():
        if parent != stream_id and not _descends(connection, parent, stream_id):
            connection.execute(
                "UPDATE stream SET parent_id = ?, parent_offset = ? WHERE id = ?",
                (parent, shared, stream_id),
            )
            return


def _stream_of(connection: Connection, generation_id: int) -> int | None:
    row = connection.execute(
        "SELECT stream_id FROM generation WHERE id = ?", (generation_id,)
    ).fetchone()
    return row[0] if row else None


def _descends(connection: Connection, stream_id: int, ancestor: int) -> bool:
    """Whether a stream is linked to another one, directly or through others."""
    row = connection.execute(
        "WITH RECURSIVE line (id) AS (SELECT ? UNION"
        " SELECT s.parent_id FROM stream s JOIN line ON s.id = line.id WHERE s.parent_id IS NOT NULL)"
        " SELECT 1 FROM line WHERE id = ?",
        (stream_id, ancestor),
    ).fetchone()
    return row is not None
