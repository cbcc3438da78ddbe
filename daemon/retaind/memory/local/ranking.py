"""What messages are worth as an answer: by the question's words in them, and in what was said around them.

The one that answers often has not the words of the one that was found. So a message is worth what its own
words tell, and of what is told beside it a part: less of the turns before and after than of its own, a
little of the rest of its session. Newer ones come before older ones that tell as much.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from retaind.core.moments import Span
from retaind.memory.local.hits import Hit
from retaind.memory.local.weighing import Bounds, Weights

_IN_TURN: Final = 0.7
_BESIDE: Final = 0.35
"""What a word is worth that stands elsewhere in the turn, and in the turn before or after it."""
_REPEATED: Final = 1.5
"""A word counts more the more often it is told around a message, but no more than so much."""
_SESSION: Final = 0.15
"""What a word is worth that stands anywhere in the session."""
_RECENCY: Final = 0.25
"""What being new can add to a score; half of it is left after 30 days."""
_HALF_LIFE_MS: Final = 30 * 86_400_000
_OWN_PROJECT: Final = 2.0
"""What was said in the project of the asking session is worth so much more."""
_IN_TIME: Final = 1.5
"""And what was said at a time that the question names."""
_MANUAL: Final = "manual"


class Asking(NamedTuple):
    """When a question is asked, in seconds since 1970, from which project, and the times that it names."""

    now: float
    project: str | None
    times: tuple[Span, ...]


class TurnKey(NamedTuple):
    """A turn of a session. Of documents that a user handed over, each stands for itself: `document_id`."""

    source_id: int
    document_id: int
    turn: int

    def beside(self, step: int) -> "TurnKey":
        """Return the key of a turn before or after this one."""
        return TurnKey(self.source_id, self.document_id, self.turn + step)


class Scored(NamedTuple):
    """A passage that was found, and its score."""

    hit: Hit
    score: float


class Turn(NamedTuple):
    """A turn, what a message in it is worth that has none of the words, and a hit in it or beside it."""

    key: TurnKey
    score: float
    hit: Hit


class Ranked(NamedTuple):
    """What was found and the turns around it, in no order, and the best score."""

    hits: tuple[Scored, ...]
    turns: tuple[Turn, ...]
    best: float


def turn_key(hit: Hit) -> TurnKey:
    """Return the turn that a hit belongs to."""
    stands_alone = hit.kind == _MANUAL and not hit.turn
    return TurnKey(hit.source_id, hit.document_id if stands_alone else 0, hit.turn)


def ranked(found: Sequence[tuple[Hit, Weights]], bounds: Bounds, asking: Asking) -> Ranked:
    """Weigh hits and the turns around them; nothing is left where no turn tells enough."""
    groups: dict[TurnKey, list[tuple[Hit, Weights]]] = {}
    for hit, weights in found:
        groups.setdefault(turn_key(hit), []).append((hit, weights))
    told = {key: _Told(one for _, one in group) for key, group in groups.items()}
    if all(one.mass < bounds.telling for one in told.values()):
        return Ranked((), (), 0.0)
    groups = {key: group for key, group in groups.items() if told[key].mass >= bounds.share}
    told = {key: told[key] for key in groups}
    sessions = _sessions(told)
    hits: list[Scored] = []
    turns: list[Turn] = []
    for key in {near for one in groups for near, _ in _near(one)}:
        parts = [(share, told[near]) for near, share in _near(key) if near in told]
        here = next(groups[near] for near, _ in _near(key) if near in groups)
        most = max(factor(hit, asking) for hit, _ in here)
        rest = _SESSION * sessions[key.source_id, key.document_id]
        turns.append(Turn(key, (_around(parts, {}) + rest) * most, here[0][0]))
        for hit, weights in groups.get(key, ()):
            score = (_around(parts, weights) + rest) * factor(hit, asking)
            hits.append(Scored(hit, score))
    return Ranked(tuple(hits), tuple(turns), max((one.score for one in hits), default=0.0))


class _Told:
    """What a turn tells: of each word the most that one of its messages tells, and the sum."""

    def __init__(self, messages: Iterable[Weights]) -> None:
        self.most: dict[int, float] = {}
        self.sums: dict[int, float] = {}
        for weights in messages:
            for of, weight in weights.items():
                self.most[of] = max(self.most.get(of, 0.0), weight)
                self.sums[of] = self.sums.get(of, 0.0) + weight

    @property
    def mass(self) -> float:
        """What its words tell together, each counted once."""
        return sum(self.most.values())


def _near(key: TurnKey) -> Iterator[tuple[TurnKey, float]]:
    yield key, _IN_TURN
    if not key.document_id:
        yield key.beside(-1), _BESIDE
        yield key.beside(1), _BESIDE


def _sessions(told: dict[TurnKey, _Told]) -> dict[tuple[int, int], float]:
    """Return what the words of each session tell together."""
    most: dict[tuple[int, int], dict[int, float]] = {}
    for key, one in told.items():
        session = most.setdefault((key.source_id, key.document_id), {})
        for of, weight in one.most.items():
            session[of] = max(session.get(of, 0.0), weight)
    return {key: sum(session.values()) for key, session in most.items()}


def _around(parts: Sequence[tuple[float, _Told]], own: Weights) -> float:
    """Return what is told by a message with `own` words in a turn, whose share comes first, or beside it."""
    worth = 0.0
    for of in {of for _, one in parts for of in one.most}:
        mine = own.get(of, 0.0)
        most = max(mine, *(share * one.most.get(of, 0.0) for share, one in parts))
        every = sum(share * one.sums.get(of, 0.0) for share, one in parts) + (1 - _IN_TURN) * mine
        worth += min(every, _REPEATED * most)
    return worth


def factor(hit: Hit, asking: Asking) -> float:
    """Return what place and time of a hit make of its worth."""
    worth = _OWN_PROJECT if asking.project and hit.project == asking.project else 1.0
    if hit.time is None:
        return worth
    if any(one.holds(hit.time / 1000) for one in asking.times):
        worth *= _IN_TIME
    age_ms = max(0.0, asking.now * 1000 - hit.time)
    return worth * (1 + _RECENCY * math.exp2(-age_ms / _HALF_LIFE_MS))
