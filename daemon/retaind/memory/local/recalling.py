"""Recall: what an agent should be reminded of for a question.

The question's telling words are looked up, any of them; the rarer a word, the more it tells. Who says a
word is rarely enough to go by, so a hit is given with its neighbours in the conversation. Newer memories
come before older ones that tell as much, and what shares too little with the question is no memory of it.
"""

import math
import sqlite3
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from retaind.core.alike import alike
from retaind.core.policy import RECALL_PREAMBLE
from retaind.core.query import Term, expression, recall_terms, spaced_expression
from retaind.core.recall import CHARS_PER_TOKEN, Memory, render_block
from retaind.core.words import folded
from retaind.memory.local.frames import Reader
from retaind.memory.local.hits import Hit, find, texts
from retaind.memory.local.marks import OPEN, Marker
from retaind.memory.local.searching import found
from retaind.memory.local.times import from_ms
from retaind.memory.local.units import Unit, Wanted, is_spoken, message_key, unit
from retaind.memory.port import Filters, Found

_CANDIDATES: Final = 150
_CANDIDATES_ALIKE: Final = 75
_ALIKE: Final = 0.5
"""What a word is worth that could stand for one of the question's."""
_HITS_RANKED: Final = 8_000
"""Beyond so many hits the commonest words of a question are not looked up."""
_COUNTED: Final = 20_000
FLOOR: Final = 0.1
"""The share of a question's weight, taken over its heaviest words, that a memory must have."""
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
_SHARES: Final = 3
"""A turn may take a third of the room that is left, more where fewer turns were found."""
_UNIT_CHARS: Final = 400
_LEAST_ROOM: Final = 80
_FRAME_CHARS: Final = 120
"""About as much of the block is neither preamble nor memories."""
_BULLET_CHARS: Final = 22
_MANUAL: Final = "manual"


class Recalled(NamedTuple):
    """What is remembered: results in the order of the block, and the block, "" when there are none.

    `keys` name the messages that are in it, for the next call's `given`.
    """

    results: tuple[Found, ...]
    block: str
    keys: frozenset[int] = frozenset()


class _Weighed(NamedTuple):
    """A term, how many passages have it, and what it tells.

    `of` is the place of the question's own term: of this one, or of that which its words stand for.
    """

    expression: str
    marks: str
    hits: int
    weight: float
    of: int


class _Scored(NamedTuple):
    """A hit with its text, where in it the question's words are, and which.

    `factor` is what one unit of their weight is worth in it.
    """

    hit: Hit
    text: str
    at: int
    terms: frozenset[int]
    factor: float


class _Turn(NamedTuple):
    """What was found in one turn, best first, and what it is worth together."""

    found: tuple[_Scored, ...]
    score: float


def recall(
    connection: sqlite3.Connection,
    query: str,
    *,
    now: float,
    max_tokens: int = 0,
    limit: int = 0,
    filters: Filters | None = None,
    preamble: str = RECALL_PREAMBLE,
    floor: float = FLOOR,
    project: str | None = None,
    given: frozenset[int] = frozenset(),
) -> Recalled:
    """Return what is remembered for a question or a composed query, best first.

    What has less than the share `floor` of the question's weight is no memory of it; what was said in
    `project` comes before the like of it; messages that were `given` before are left out.
    4 * `max_tokens` characters bound the whole block, `limit` the results; 0 or less is no limit. `now`
    is in seconds since 1970; `preamble` opens the block. Reads only. Raises UsageError for a bound that
    is no time.
    """
    total = _total(connection)
    terms = _weighed(connection, recall_terms(query), total)
    own = _expression([one for at, one in enumerate(terms) if one.of == at])
    others = _expression([one for at, one in enumerate(terms) if one.of != at])
    hits = _hits(connection, own, filters or Filters(), project, _CANDIDATES)
    hits += _hits(connection, others, filters or Filters(), project, _CANDIDATES_ALIKE)
    hits = list({hit.id: hit for hit in hits}.values())
    reader = Reader(connection)
    scored = _scored(terms, hits, texts(reader, hits), now, project)
    turns = _turns(terms, scored, _least(terms, total, floor))
    room = (
        max(max_tokens * CHARS_PER_TOKEN - len(preamble) - _FRAME_CHARS, 1) if max_tokens > 0 else 0
    )
    units = _units(connection, reader, turns, limit, room, given)
    block = render_block(
        [Memory(one.wordings, from_ms(one.hit.time), one.hit.project) for one, _ in units],
        datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d %H:%M UTC"),
        max_tokens,
        preamble,
    )
    results = (
        found(units[place][0].hit, text, text, units[place][1]) for place, text in block.shown
    )
    keys = frozenset[int]().union(*(_keys(units[place][0], text) for place, text in block.shown))
    return Recalled(tuple(results), block.text, keys)


def _keys(shown: Unit, text: str) -> frozenset[int]:
    """Return the keys of a wording; one that was cut is the hit alone."""
    place = shown.wordings.index(text) if text in shown.wordings else -1
    return shown.keys[place]


def _hits(
    connection: sqlite3.Connection, match: str, filters: Filters, project: str | None, most: int
) -> list[Hit]:
    """Return the best hits, and the best of the asking session's project among them in any case."""
    if not match:
        return []
    hits = find(connection, match, most, filters)
    if project is None or filters.projects:
        return hits
    own = find(connection, match, most, replace(filters, projects=(project,)))
    return list({hit.id: hit for hit in (*own, *hits)}.values())


def _total(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT max(id) FROM local_passage").fetchone()
    return max(row[0] or 0, _FEWEST)


def _least(terms: Sequence[_Weighed], total: int, floor: float) -> float:
    """Return the weight below which a turn has too little to do with the question."""
    own = (one.weight for at, one in enumerate(terms) if one.of == at)
    heaviest = sorted(own, reverse=True)[:_HEAVIEST]
    return max(floor * sum(heaviest), _TELLING * math.log(total))


def _weighed(connection: sqlite3.Connection, terms: Sequence[Term], total: int) -> list[_Weighed]:
    """Weigh the question's terms, and behind them the words that they could stand for, which tell less."""
    weighed = [_weigh(connection, [term], total, at, worth=1.0) for at, term in enumerate(terms)]
    asked = {folded(term.text) for term in terms}
    for at, term in enumerate(terms):
        others = [one for one in alike(folded(term.text)) if one not in asked]
        if others:
            words = [Term(one, is_phrase=False, prefix=False) for one in others]
            weighed.append(_weigh(connection, words, total, at, worth=_ALIKE))
    return weighed


def _weigh(
    connection: sqlite3.Connection, words: Sequence[Term], total: int, of: int, worth: float
) -> _Weighed:
    match = " OR ".join(map(expression, words))
    count = connection.execute(
        "SELECT count(*) FROM (SELECT rowid FROM local_index WHERE local_index MATCH ? LIMIT ?)",
        (match, min(_COUNTED, total)),
    ).fetchone()[0]
    weight = worth * math.log(1 + (total - count + 0.5) / (count + 0.5))
    return _Weighed(match, spaced_expression(words), count, weight, of)


def _expression(terms: Sequence[_Weighed]) -> str:
    """Ask for any of the terms, the rarest first, as many as can be ranked quickly."""
    asked: list[str] = []
    ranked = 0
    for one in sorted((one for one in terms if one.hits), key=lambda one: one.hits):
        if asked and ranked + one.hits > _HITS_RANKED:
            break
        asked.append(one.expression)
        ranked += one.hits
    return " OR ".join(asked)


def _scored(
    terms: Sequence[_Weighed],
    hits: Sequence[Hit],
    said: Sequence[str],
    now: float,
    project: str | None,
) -> list[_Scored]:
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
        _Scored(
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


def _turns(terms: Sequence[_Weighed], scored: Sequence[_Scored], least: float) -> list[_Turn]:
    """Bring the hits of a turn together, best turn first; one below `least` has nothing to do with it all.

    A turn counts by its best hit, and less by what only its others have; its session adds a little.
    """

    def mass(places: AbstractSet[int]) -> float:
        best: dict[int, float] = {}
        for at in places:
            of = terms[at].of
            best[of] = max(best.get(of, 0.0), terms[at].weight)
        return sum(best.values())

    groups: dict[tuple[int, int, int], list[_Scored]] = {}
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
        turns.append(_Turn(tuple(group), worth * best.factor))
    return sorted(
        turns, key=lambda one: (-one.score, -(one.found[0].hit.time or 0), one.found[0].hit.id)
    )


def _units(
    connection: sqlite3.Connection,
    reader: Reader,
    turns: Sequence[_Turn],
    limit: int,
    room: int,
    given: frozenset[int],
) -> list[tuple[Unit, float]]:
    """Return the units of the turns, no message twice, as many as there is room for."""
    shown: frozenset[int] = frozenset()
    told = set(given)
    units: list[tuple[Unit, float]] = []
    left = room
    for at, turn in enumerate(turns):
        if (limit > 0 and len(units) >= limit) or (room and left < _LEAST_ROOM):
            break
        fresh = [
            one
            for one in turn.found
            if one.hit.id not in shown and message_key(one.text) not in told
        ]
        if not fresh:
            continue
        share = left // min(len(turns) - at, _SHARES)
        size = max(share, min(left, _UNIT_CHARS)) if room else 0
        spoken = [one for one in fresh if is_spoken(one.text)] or fresh[:1]
        found = [Wanted(one.hit, one.text, one.at) for one in spoken]
        made = unit(connection, reader, found, size, shown, told)
        units.append((made, turn.score))
        shown |= made.shows
        told |= made.keys[0]
        wording = made.wordings[0]
        left -= len(wording) + 2 * wording.count("\n") + _BULLET_CHARS + len(made.hit.project or "")
    return units
