"""Units: a message that was found, with what was said before and after it, as an agent can use it."""

import sqlite3
from hashlib import sha256
from typing import Final, NamedTuple

from retaind.core.recall import shortened
from retaind.memory.local import passages
from retaind.memory.local.frames import Place, Reader
from retaind.memory.local.hits import Hit

_SHARE_OF_NEIGHBOUR: Final = 4
_LEAD: Final = 3
_LOOKED_AT: Final = 6
"""So many messages before or after a hit are looked at for one in which something is said."""
_NEXT: Final = (
    "SELECT id, document_id, start, chars, role FROM local_passage"
    " WHERE document_id = :document AND start {operator} :start ORDER BY start {order} LIMIT :most"
)
_ACROSS: Final = (
    "SELECT p.id, p.document_id, p.start, p.chars, p.role FROM local_document d"
    " JOIN local_document e ON e.source_id = d.source_id AND e.n = d.n {step}"
    " JOIN local_passage p ON p.document_id = e.id"
    " WHERE d.id = :document ORDER BY p.start {order} LIMIT :most"
)
_BEFORE: Final = (
    _NEXT.format(operator="<", order="DESC"),
    _ACROSS.format(step="- 1", order="DESC"),
)
_AFTER: Final = (_NEXT.format(operator=">", order=""), _ACROSS.format(step="+ 1", order=""))


class Unit(NamedTuple):
    """A hit in two wordings, with its neighbours and alone, and the passages that the first one shows.

    `keys` has, for each wording, the keys of the messages in it.
    """

    hit: Hit
    wordings: tuple[str, ...]
    shows: frozenset[int]
    keys: tuple[frozenset[int], ...]


class _Neighbour(NamedTuple):
    id: int
    role: str | None
    text: str


def message_key(text: str) -> int:
    """Return 63 bits that say which message a text is, wherever it stands and however it is spaced."""
    digest = sha256(" ".join(text.split()).lower().encode(errors="replace")).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def is_spoken(text: str) -> bool:
    """Whether something is said in a text: there is a line that is no tool's call or result."""
    return any(line and not line.startswith(("> ", "< ")) for line in text.split("\n"))


def unit(
    connection: sqlite3.Connection,
    reader: Reader,
    hit: Hit,
    text: str,
    at: int,
    size: int,
    shown: frozenset[int],
    given: frozenset[int] = frozenset(),
) -> Unit:
    """Return the unit around a hit whose words are at `at`, in about `size` characters; 0 is no limit.

    Neighbours that are shown already, or were given before (by their keys), are left out.
    """
    around = (
        _neighbour(connection, reader, hit, _BEFORE),
        _neighbour(connection, reader, hit, _AFTER),
    )
    before, after = (
        None if one is None or one.id in shown or message_key(one.text) in given else one
        for one in around
    )
    most = size // _SHARE_OF_NEIGHBOUR
    lines = [_line(before, most), "", _line(after, most)]
    room = size - len(lines[0]) - len(lines[2])
    lines[1] = _said(hit.role, _excerpt(text, at, room) if size else text)
    whole = "\n".join(line for line in lines if line)
    beside = [one for one in (before, after) if one is not None]
    own = frozenset({message_key(text)})
    wordings = {lines[1]: own}
    wordings = {whole: own.union(message_key(one.text) for one in beside)} | wordings
    shows = frozenset(one.id for one in beside) | {hit.id}
    return Unit(hit, tuple(wordings), shows, tuple(wordings.values()))


def _neighbour(
    connection: sqlite3.Connection, reader: Reader, hit: Hit, queries: tuple[str, str]
) -> _Neighbour | None:
    """Return the nearest message in which something is said, if need be in the document next to the hit's."""
    values = {"document": hit.document_id, "start": hit.start, "most": _LOOKED_AT}
    for query in queries:
        rows = connection.execute(query, values).fetchall()
        for row in rows:
            text = passages.plain(reader.text(Place(*row[1:4])))
            if is_spoken(text):
                return _Neighbour(row[0], row[4], text)
        if rows:
            return None
    return None


def _line(neighbour: _Neighbour | None, most: int) -> str:
    if neighbour is None:
        return ""
    return _said(neighbour.role, shortened(neighbour.text, most) if most else neighbour.text)


def _said(role: str | None, text: str) -> str:
    return f"{role}: {text}" if role else text


def _excerpt(text: str, at: int, chars: int) -> str:
    """Return the part of a text around a place in it."""
    if len(text) <= chars:
        return text
    start = min(max(0, at - chars // _LEAD), len(text) - chars)
    if start > 0:
        space = text.find(" ", start, at)
        start = space + 1 if space >= 0 else start
    head = "… " if start else ""
    return head + shortened(text[start:], chars - len(head))
