"""Which messages are told where the room is bounded: the best first, and each only once.

What is long is told around the question's words at first; where room is left at the end, the rest follows.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Final, NamedTuple

from retaind.core.recall import shortened
from retaind.memory.local.conversations import Conversations, Message
from retaind.memory.local.hits import Hit
from retaind.memory.local.ranking import Ranked, Scored, Turn, TurnKey, turn_key

_TAIL: Final = 0.3
"""What is worth less than this share of the best has too little to do with the question."""
_FOLLOWING: Final = 0.93
"""Each further message of a turn is worth so much of the one before it."""
_ACTIONS_ONLY: Final = 0.5
"""What was said is worth more than which tools were called."""
_SHARES: Final = 3
"""A message may take a third of the room that is left, more where it would be a snippet."""
_FULL: Final = 400
_SHORTEST: Final = 160
"""Less of a message than this is not worth telling, unless that is all of it."""
_LEAST_ROOM: Final = 80
_BULLET: Final = 22
_LINE: Final = 3
_LEAD: Final = 3

Locate = Callable[[str], int]
"""Returns where in a text the question's first word is."""


class Room(NamedTuple):
    """Characters for what is told, and how many results it may make; 0 is no limit."""

    chars: int
    results: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """A message that is told, and how. `is_found` says that the question's words are in it."""

    message: Message
    key: TurnKey
    hit: Hit
    score: float
    text: str
    is_found: bool


class _Beside(NamedTuple):
    """A message around a hit."""

    message: Message
    turn: Turn


_Candidate = Scored | Turn | _Beside


def choose(
    ranked: Ranked,
    conversations: Conversations,
    room: Room,
    given: frozenset[int],
    locate: Locate,
) -> list[Chosen]:
    """Return what is told, best first; messages that were `given` before, by their keys, are left out."""
    choice = _Choice(conversations, room, locate, set(given))
    serial = count()
    candidates: tuple[Scored | Turn, ...] = (*ranked.hits, *ranked.turns)
    waiting: list[tuple[float, int, _Candidate]] = [
        (-one.score, next(serial), one) for one in candidates
    ]
    heapify(waiting)
    found = frozenset(one.hit.id for one in ranked.hits)
    while waiting and -waiting[0][0] >= _TAIL * ranked.best and not choice.is_full:
        negative, _, candidate = heappop(waiting)
        for score, one in _considered(candidate, -negative, choice, found):
            heappush(waiting, (-score, next(serial), one))
    return choice.filled()


def _considered(
    candidate: _Candidate, score: float, choice: "_Choice", found: frozenset[int]
) -> Iterable[tuple[float, _Candidate]]:
    """Take a candidate, or return what is to be considered in its place."""
    if isinstance(candidate, Turn):
        messages = choice.conversations.turn(candidate.key.turn, candidate.hit)
        beside = (one for one in messages if found.isdisjoint(one.ids))
        return [(score * _FOLLOWING**at, _Beside(one, candidate)) for at, one in enumerate(beside)]
    if isinstance(candidate, _Beside):
        if candidate.message.is_spoken:
            choice.take(
                candidate.message, candidate.turn.key, candidate.turn.hit, score, is_found=False
            )
        return ()
    message = choice.conversations.message(candidate.hit)
    # Where only tools were called it is worth less, which cannot be known before it is read.
    if not message.is_spoken and score == candidate.score:
        return [(score * _ACTIONS_ONLY, candidate)]
    choice.take(message, turn_key(candidate.hit), candidate.hit, score, is_found=True)
    return ()


@dataclass(slots=True)
class _Choice:
    """What is chosen so far."""

    conversations: Conversations
    room: Room
    locate: Locate
    told: set[int]
    chosen: list[Chosen] = field(default_factory=list)
    turns: set[TurnKey] = field(default_factory=set)
    spoken: set[TurnKey] = field(default_factory=set)
    """The turns of which something is told that was said: what else only called tools is left out."""
    results: int = 0
    used: int = 0

    @property
    def left(self) -> int:
        return self.room.chars - self.used

    @property
    def is_full(self) -> bool:
        return bool(self.chosen) and self.room.chars > 0 and self.left < _LEAST_ROOM

    def take(
        self, message: Message, key: TurnKey, hit: Hit, score: float, *, is_found: bool
    ) -> None:
        """Tell a message, if it is not told yet and there is room."""
        if message.key in self.told or (key in self.spoken and not message.is_spoken):
            return
        joins = not self.turns.isdisjoint((key, key.beside(-1), key.beside(1)))
        if not joins and 0 < self.room.results <= self.results:
            return
        frame = 0 if joins else _BULLET + len(hit.project or "")
        new = Chosen(message, key, hit, score, _said(message.role, message.text), is_found)
        if self.room.chars > 0:
            left = self.left - frame
            new = self._fitted(new, max(min(max(left // _SHARES, _FULL), left - _LINE), 0))
            if self.chosen and (
                len(new.text) < min(len(message.text), _SHORTEST) or _size(new.text) > left
            ):
                return  # the first is told in whatever room there is
        self.told.add(message.key)
        self.turns.add(key)
        if message.is_spoken:
            self.spoken.add(key)
        self.results += not joins
        self.chosen.append(new)
        self.used += _size(new.text) + frame

    def filled(self) -> list[Chosen]:
        """Return what is chosen, with as much of what was cut as there is room for."""
        for at, one in enumerate(self.chosen):
            if self.room.chars <= 0 or self.left < _LEAST_ROOM:
                break
            whole = self._fitted(one, len(one.text) + self.left)
            if _size(whole.text) - _size(one.text) <= self.left:
                self.used += _size(whole.text) - _size(one.text)
                self.chosen[at] = whole
        return self.chosen

    def _fitted(self, one: Chosen, most: int) -> Chosen:
        """Return it in at most so many characters: the part around the words, or the beginning."""
        text = one.message.text
        most -= len(_said(one.message.role, ""))
        if len(text) > most:
            text = _excerpt(text, self._place(one) if one.is_found else 0, most)
        return replace(one, text=_said(one.message.role, text))

    def _place(self, one: Chosen) -> int:
        """Return where in a message the question's words are, as far as they are in what was found of it."""
        said = self.conversations.said(one.hit)
        return max(one.message.text.find(said[:_SHORTEST]), 0) + self.locate(said)


def _size(text: str) -> int:
    """Return what a message takes in the block, where its lines are indented."""
    return len(text) + _LINE + 2 * text.count("\n")


def _said(role: str | None, text: str) -> str:
    return f"{role}: {text}" if role else text


def _excerpt(text: str, at: int, chars: int) -> str:
    """Return the part of a text around a place in it."""
    start = min(max(0, at - chars // _LEAD), len(text) - chars)
    if start > 0:
        space = text.find(" ", start, at)
        start = space + 1 if space >= 0 else start
    head = "… " if start else ""
    return head + shortened(text[start:], max(chars - len(head), 0))
