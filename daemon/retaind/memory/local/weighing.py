"""What hits are worth: by the question's words in them, together with what else was found in their turn.

The rarer a word, the more it tells; one that only stands for a word of the question tells less. Newer hits
come before older ones that tell as much.
"""

import math
import sqlite3
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from retaind.core.alike import alike
from retaind.core.query import Term, expression, spaced_expression
from retaind.core.words import folded
from retaind.memory.local.hits import Hit
from retaind.memory.local.marks import OPEN, Marker
from retaind.memory.local.units import is_spoken

_ALIKE: Final = 0.5
"""What a word is worth that could stand for one of the question's."""
_HITS_RANKED: Final = 8_000
"""Beyond so many hits the commonest words of a question are not looked up."""
_COUNTED: Final = 20_000
_TELLING: Final = 0.5
"""And as a share of what a word tells that is found once only: common words tell nothing."""
_OWN_PROJECT: Final = 2.0
"""What was said in the project of the asking session is worth so much more."""
_HEAVIEST: Final = 8
_FEWEST: Final = 1_000
"""A memory with fewer passages is weighed as if it had so many: in a small one every word is common."""
_RECENCY: Final = 0.25
"""What being new can add to a score; half of it is left after 30 days."""
_ACTIONS_ONLY: Final = 0.5
"""What was said is worth more than which tools were called."""
_HALF_LIFE_MS: Final = 30 * 86_400_000
_SATURATION, _LENGTH = 1.2, 0.5
_OTHERS: Final = 0.5
"""What a word is worth that stands elsewhere in the turn than in its best message."""
_SESSION: Final = 0.15
"""And one that stands elsewhere in the session."""
_MANUAL: Final = "manual"


class Weighed(NamedTuple):
    """A term, how many passages have it, and what it tells.

    `of` is the place of the question's own term: of this one, or of that which its words stand for.
    """

    expression: str
    marks: str
    hits: int
    weight: float
    of: int


class Scored(NamedTuple):
    """A hit with its text, where in it the question's words are, and which.

    `factor` is what one unit of their weight is worth in it.
    """

    hit: Hit
    text: str
    at: int
    terms: frozenset[int]
    factor: float


class Turn(NamedTuple):
    """What was found in one turn, best first, and what it is worth together."""

    found: tuple[Scored, ...]
    score: float


def total_of(connection: sqlite3.Connection) -> int:
    """Return about how many passages there are."""
    row = connection.execute("SELECT max(id) FROM local_passage").fetchone()
    return max(row[0] or 0, _FEWEST)


def least(terms: Sequence[Weighed], total: int, floor: float) -> float:
    """Return the weight below which a turn has too little to do with the question."""
    own = (one.weight for at, one in enumerate(terms) if one.of == at)
    heaviest = sorted(own, reverse=True)[:_HEAVIEST]
    return max(floor * sum(heaviest), _TELLING * math.log(total))


def weighed(connection: sqlite3.Connection, terms: Sequence[Term], total: int) -> list[Weighed]:
    """Weigh the question's terms, and behind them the words that they could stand for, which tell less."""
    found = [_weigh(connection, [term], total, at, worth=1.0) for at, term in enumerate(terms)]
    asked = {folded(term.text) for term in terms}
    for at, term in enumerate(terms):
        others = [one for one in alike(folded(term.text)) if one not in asked]
        if others:
            words = [Term(one, is_phrase=False, prefix=False) for one in others]
            found.append(_weigh(connection, words, total, at, worth=_ALIKE))
    return found


def _weigh(
    connection: sqlite3.Connection, words: Sequence[Term], total: int, of: int, worth: float
) -> Weighed:
    match = " OR ".join(map(expression, words))
    count = connection.execute(
        "SELECT count(*) FROM (SELECT rowid FROM local_index WHERE local_index MATCH ? LIMIT ?)",
        (match, min(_COUNTED, total)),
    ).fetchone()[0]
    weight = worth * math.log(1 + (total - count + 0.5) / (count + 0.5))
    return Weighed(match, spaced_expression(words), count, weight, of)


def any_of(terms: Sequence[Weighed]) -> str:
    """Ask for any of the terms, the rarest first, as many as can be ranked quickly."""
    asked: list[str] = []
    ranked = 0
    for one in sorted((one for one in terms if one.hits), key=lambda one: one.hits):
        if asked and ranked + one.hits > _HITS_RANKED:
            break
        asked.append(one.expression)
        ranked += one.hits
    return " OR ".join(asked)


def scored(
    terms: Sequence[Weighed],
    hits: Sequence[Hit],
    said: Sequence[str],
    now: float,
    project: str | None,
) -> list[Scored]:
    """Weigh the hits again, by the terms in them, length, age and project."""
    if not hits:
        return []
    inside: list[set[int]] = [set() for _ in hits]
    with Marker(said) as marker:
        for at, one in enumerate(terms):
            for place in marker.matching(one.marks):
                inside[place].add(at)
        marked = marker.marked(" OR ".join(one.marks for one in terms))
    usual = sum(len(text) for text in said) / len(said) or 1.0
    return [
        Scored(
            hit,
            text,
            max(seen.find(OPEN), 0),
            frozenset(found),
            _brevity(len(text) / usual)
            * _youth(hit, now)
            * (1 if is_spoken(text) else _ACTIONS_ONLY)
            * (_OWN_PROJECT if project and hit.project == project else 1),
        )
        for hit, text, seen, found in zip(hits, said, marked, inside, strict=True)
        if found
    ]


def _brevity(length: float) -> float:
    """Return what a text's length, relative to the usual, leaves of a word that it has once (BM25)."""
    return (_SATURATION + 1) / (1 + _SATURATION * (1 - _LENGTH + _LENGTH * length))


def _youth(hit: Hit, now: float) -> float:
    if hit.time is None:
        return 1.0
    age_ms = max(0.0, now * 1000 - hit.time)
    return 1 + _RECENCY * math.exp2(-age_ms / _HALF_LIFE_MS)


def turns_of(terms: Sequence[Weighed], scored: Sequence[Scored], least: float) -> list[Turn]:
    """Bring the hits of a turn together, best turn first; one below `least` has nothing to do with it all.

    A turn counts by its best hit, and less by what only its others have; its session adds a little.
    """

    def mass(places: AbstractSet[int]) -> float:
        best: dict[int, float] = {}
        for at in places:
            of = terms[at].of
            best[of] = max(best.get(of, 0.0), terms[at].weight)
        return sum(best.values())

    groups: dict[tuple[int, int, int], list[Scored]] = {}
    sessions: dict[int, set[int]] = {}
    for one in scored:
        hit = one.hit
        chained = 0 if hit.turn or hit.kind != _MANUAL else hit.document_id
        groups.setdefault((hit.source_id, chained, hit.turn), []).append(one)
        sessions.setdefault(hit.source_id, set()).update(one.terms)
    turns = []
    for (source_id, _, _), group in groups.items():
        group.sort(key=lambda one: (-mass(one.terms) * one.factor, one.hit.id))
        best = group[0]
        together = frozenset[int]().union(*(one.terms for one in group))
        if mass(together) < least:
            continue
        in_best, in_turn = mass(best.terms), mass(together)
        worth = in_best + _OTHERS * (in_turn - in_best)
        worth += _SESSION * (mass(sessions[source_id]) - in_turn)
        turns.append(Turn(tuple(group), worth * best.factor))
    return sorted(
        turns, key=lambda one: (-one.score, -(one.found[0].hit.time or 0), one.found[0].hit.id)
    )
