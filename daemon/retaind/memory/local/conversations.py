"""What was said around a hit: the messages of its turn and of the turns beside it, read once.

Documents that have other tags are not looked into: a question may have been narrowed to those of the hit's.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Final

from retaind.memory.local import passages
from retaind.memory.local.frames import Place, Reader
from retaind.memory.local.hits import Hit

_LOOKED_AT: Final = 48
"""So many messages before and after a hit are looked at."""
_PASSAGES: Final = (
    "SELECT p.id, p.document_id, p.start, p.chars, p.role, p.turn, d.n FROM local_document own"
    " JOIN local_document d ON d.id = own.id OR (d.source_id = own.source_id AND d.tags = own.tags"
    "  AND d.n BETWEEN own.n - 1 AND own.n + 1)"
    " JOIN local_passage p ON p.document_id = d.id"
    " WHERE own.id = ? AND p.fact IS NULL AND p.turn BETWEEN ? AND ? ORDER BY d.n, p.start"
)


@dataclass(frozen=True)  # no slots: its text is read when somebody wants it
class Message:
    """A message of a conversation, of one passage or of several that follow each other.

    `n` is the place of its document in the session.
    """

    ids: tuple[int, ...]
    place: Place
    role: str | None
    turn: int
    n: int
    reader: Reader
    fact: str | None = None

    @cached_property
    def text(self) -> str:
        """What was said, or found in what was said."""
        return passages.plain(self.reader.text(self.place)) if self.fact is None else self.fact

    @cached_property
    def key(self) -> int:
        """63 bits that say which message it is, wherever it stands."""
        return message_key(self.text)

    @property
    def is_spoken(self) -> bool:
        """Whether something is said: there is a line that is no tool's call or result."""
        return any(line and not line.startswith(("> ", "< ")) for line in self.text.split("\n"))


class Conversations:
    """Reads what was said around hits; what was read for one serves the next."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._reader = Reader(connection)
        self._read: dict[int, list[Message]] = {}

    def message(self, hit: Hit) -> Message:
        """Return the message that a hit belongs to; a fact stands for itself."""
        if hit.fact is None:
            for one in self._around(hit):
                if hit.id in one.ids:
                    return one
        # Several facts may stand for one chunk; none of them takes the place of what was said there.
        place = hit.place if hit.fact is None else hit.place._replace(chars=-hit.id)
        return Message((hit.id,), place, hit.role, hit.turn, 0, self._reader, hit.fact)

    def said(self, hit: Hit) -> str:
        """Return what was found: the piece of its message that a hit is."""
        return passages.plain(self._reader.text(hit.place)) if hit.fact is None else hit.fact

    def turn(self, turn: int, hit: Hit) -> Iterator[Message]:
        """Yield what was said in a turn that is a hit's own or beside it, the most useful first.

        The answer to what was asked is usually said later in the turn, most of all in its last message; so
        that, the question, and what follows a hit come first.
        """
        around = self._around(hit)
        there = [one for one in around if one.turn == turn]
        if turn < hit.turn:
            there.reverse()
        if turn != hit.turn or not there:
            yield from there
            return
        found = next((at for at, one in enumerate(there) if hit.id in one.ids), 0)
        order = [len(there) - 1, 0, *range(found, len(there)), *range(found, -1, -1)]
        yield from (there[at] for at in dict.fromkeys(order))

    def _around(self, hit: Hit) -> Sequence[Message]:
        known = self._read.get(hit.id)
        if known is not None:
            return known
        rows = self._connection.execute(
            _PASSAGES, (hit.document_id, hit.turn - 1, hit.turn + 1)
        ).fetchall()
        messages = list(_joined(rows, self._reader))
        middle = next((at for at, one in enumerate(messages) if hit.id in one.ids), 0)
        near = messages[max(0, middle - _LOOKED_AT) : middle + _LOOKED_AT + 1]
        self._read[hit.id] = near
        for one in near:
            if one.turn == hit.turn:
                self._read |= {id_: near for id_ in one.ids if id_ not in self._read}
        return near


def message_key(text: str) -> int:
    """Return 63 bits that say which message a text is, wherever it stands and however it is spaced."""
    digest = sha256(" ".join(text.split()).lower().encode(errors="replace")).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def _joined(
    rows: Sequence[tuple[int, int, int, int, str | None, int, int]], reader: Reader
) -> Iterator[Message]:
    """Yield messages, those of several passages whole."""
    ids: tuple[int, ...] = ()
    place, role, turn, n = Place(0, 0, 0), None, 0, 0
    for id_, document_id, start, chars, its_role, its_turn, its_n in rows:
        if ids and place.document_id == document_id and place.start + place.chars == start:
            ids, place = (*ids, id_), place._replace(chars=place.chars + chars)
            continue
        if ids:
            yield Message(ids, place, role, turn, n, reader)
        ids, place = (id_,), Place(document_id, start, chars)
        role, turn, n = its_role, its_turn, its_n
    if ids:
        yield Message(ids, place, role, turn, n, reader)
