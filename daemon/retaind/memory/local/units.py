"""Units: what was found in a turn, with what else was said in it, as an agent can use it.

The answer to what was asked is usually said later in the turn, most of all in its last message; so that,
the question and what follows a hit come first, tools never, and whole messages before parts of them.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from hashlib import sha256
from typing import Final, NamedTuple

from retaind.core.recall import shortened
from retaind.memory.local import passages
from retaind.memory.local.frames import Place, Reader
from retaind.memory.local.hits import Hit

_SHARE_OF_HITS: Final = 0.75
"""A message in which something was found leaves a part of the room to what was said around it."""
_LEAD: Final = 3
_SHORTEST: Final = 160
"""Less of a message that was not found is not worth showing."""
_LOOKED_AT: Final = 48
"""So many messages before and after a hit are looked at."""
_PASSAGES: Final = (
    "SELECT p.id, p.document_id, p.start, p.chars, p.role, p.turn FROM local_document own"
    " JOIN local_document d ON d.id = own.id OR (d.source_id = own.source_id"
    "  AND d.n BETWEEN own.n - 1 AND own.n + 1)"
    " JOIN local_passage p ON p.document_id = d.id"
    " WHERE own.id = ? AND p.fact IS NULL AND p.turn BETWEEN ? AND ? ORDER BY d.n, p.start"
)


class Wanted(NamedTuple):
    """A passage that was found: its text, and where in it the question's words are."""

    hit: Hit
    text: str
    at: int


class Unit(NamedTuple):
    """A turn in two wordings, with what was said around what was found and without.

    `shows` are the passages in the first; `keys` has, for each wording, the keys of the messages in it.
    """

    hit: Hit
    wordings: tuple[str, ...]
    shows: frozenset[int]
    keys: tuple[frozenset[int], ...]


class _Message(NamedTuple):
    """A message of the conversation, of one passage or of several that follow each other."""

    ids: tuple[int, ...]
    place: Place
    role: str | None
    turn: int
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
    found: Sequence[Wanted],
    size: int,
    shown: AbstractSet[int],
    given: AbstractSet[int] = frozenset(),
) -> Unit:
    """Return the unit of what was found in one turn, best first, in about `size` characters; 0 is no limit.

    Messages that are shown already, or were given before (by their keys), are left out.
    """
    best = found[0].hit
    around = _conversation(connection, reader, best)
    told: dict[Place, str] = {}
    room = size
    for one in found:
        message = _holder(around, one)
        if message.place in told or (told and size and room < _SHORTEST):
            continue
        most = max(int(room * _SHARE_OF_HITS) if len(around) > 1 else room, _SHORTEST)
        at = one.at + max(message.text.find(one.text[:_SHORTEST]), 0)
        text = _said(message.role, _excerpt(message.text, at, most) if size else message.text)
        told[message.place] = text
        room -= len(text) + 1
    alone = dict(told)
    messages = {one.place: one for one in (*around, *(_holder(around, one) for one in found))}
    for message in _by_use(around, [one for one in around if one.place in told], best.turn):
        if message.place in told or shown & set(message.ids) or message_key(message.text) in given:
            continue
        text = _said(message.role, message.text)
        if size and len(text) >= room:
            text = (
                _said(message.role, shortened(message.text, room - 12)) if room > _SHORTEST else ""
            )
        if text:
            told[message.place] = text
            room -= len(text) + 1
        if size and room < _SHORTEST:
            break
    return _made(best, messages, told, alone)


def _made(
    best: Hit,
    messages: dict[Place, _Message],
    told: dict[Place, str],
    alone: dict[Place, str],
) -> Unit:
    wordings: dict[str, frozenset[int]] = {}
    for texts in (told, alone):
        places = [place for place in messages if place in texts]
        wording = "\n".join(texts[place] for place in places)
        wordings.setdefault(wording, frozenset(message_key(messages[p].text) for p in places))
    shows = frozenset(id_ for place in told for id_ in messages[place].ids) | {best.id}
    return Unit(best, tuple(wordings), shows, tuple(wordings.values()))


def _holder(around: Sequence[_Message], one: Wanted) -> _Message:
    """Return the message that a passage belongs to; a fact, and what nobody says, stands for itself."""
    for message in around:
        if one.hit.id in message.ids:
            return message
    hit = one.hit
    # Several facts may stand for one chunk; none of them takes the place of what was said there.
    place = hit.place if hit.fact is None else hit.place._replace(chars=-hit.id)
    return _Message((hit.id,), place, hit.role, hit.turn, one.text)


def _by_use(around: Sequence[_Message], found: Sequence[_Message], turn: int) -> Iterator[_Message]:
    """Yield the messages around those that were found, the most useful first; other turns come last."""
    own = [one for one in around if one.turn == turn]
    places = [at for at, one in enumerate(own) if one in found]
    if own:
        yield own[-1]
        yield own[0]
    first = places[0] if places else 0
    yield from own[first:]
    yield from own[:first][::-1]
    yield from [one for one in around if one.turn > turn][:1]
    yield from [one for one in around if one.turn < turn][-1:]


def _conversation(connection: sqlite3.Connection, reader: Reader, hit: Hit) -> list[_Message]:
    """Return what was said in the hit's turn, and beside it, near the hit and in order."""
    rows = connection.execute(_PASSAGES, (hit.document_id, hit.turn - 1, hit.turn + 1)).fetchall()
    messages: list[_Message] = []
    middle = 0
    for id_, document_id, start, chars, role, turn in rows:
        before = messages[-1].place if messages else Place(0, 0, 0)
        if before.document_id == document_id and before.start + before.chars == start:
            whole = Place(document_id, before.start, before.chars + chars)
            messages[-1] = messages[-1]._replace(ids=(*messages[-1].ids, id_), place=whole)
        else:
            messages.append(_Message((id_,), Place(document_id, start, chars), role, turn, ""))
        if id_ == hit.id:
            middle = len(messages) - 1
    near = messages[max(0, middle - _LOOKED_AT) : middle + _LOOKED_AT + 1]
    told = (one._replace(text=passages.plain(reader.text(one.place))) for one in near)
    return [one for one in told if is_spoken(one.text)]


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
