"""Recall: what an agent should be reminded of for a question.

The question's telling words are looked up, any of them; the rarer a word, the more it tells. Who says a
word is rarely enough to go by, so a hit is given with its neighbours in the conversation. Newer memories
come before older ones that tell as much, and what shares too little with the question is no memory of it.
"""

import math
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from retaind.core.policy import RECALL_PREAMBLE
from retaind.core.query import Term, expression, recall_terms, spaced_expression
from retaind.core.recall import CHARS_PER_TOKEN, Memory, render_block
from retaind.memory.local.frames import Reader
from retaind.memory.local.hits import Hit, find, texts
from retaind.memory.local.marks import OPEN, Marker
from retaind.memory.local.searching import found
from retaind.memory.local.times import from_ms
from retaind.memory.local.units import Unit, is_spoken, message_key, unit
from retaind.memory.port import Filters, Found

_CANDIDATES: Final = 50
_HITS_RANKED: Final = 8_000
"""Beyond so many hits the commonest words of a question are not looked up."""
_COUNTED: Final = 20_000
FLOOR: Final = 0.2
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
_SATURATION, _LENGTH = 1.2, 0.75
_UNITS_IN_BLOCK: Final = 5
_UNIT_CHARS: Final = 400


class Recalled(NamedTuple):
    """What is remembered: results in the order of the block, and the block, "" when there are none.

    `keys` name the messages that are in it, for the next call's `given`.
    """

    results: tuple[Found, ...]
    block: str
    keys: frozenset[int] = frozenset()


class _Weighed(NamedTuple):
    """A term, how many passages have it, and what it tells."""

    term: Term
    hits: int
    weight: float


class _Scored(NamedTuple):
    """A hit with its text, where in it the question's words are, and its score."""

    hit: Hit
    text: str
    at: int
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
    match = _expression(terms)
    hits = _hits(connection, match, filters or Filters(), project)
    reader = Reader(connection)
    scored = _scored(terms, hits, texts(reader, hits), now, _least(terms, total, floor), project)
    room = max(max_tokens, 0) * CHARS_PER_TOKEN
    units = _units(connection, reader, scored, limit, room, given)
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
    connection: sqlite3.Connection, match: str, filters: Filters, project: str | None
) -> list[Hit]:
    """Return the best hits, and the best of the asking session's project among them in any case."""
    if not match:
        return []
    hits = find(connection, match, _CANDIDATES, filters)
    if project is None or filters.projects:
        return hits
    own = find(connection, match, _CANDIDATES, replace(filters, projects=(project,)))
    return list({hit.id: hit for hit in (*own, *hits)}.values())


def _total(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT max(id) FROM local_passage").fetchone()
    return max(row[0] or 0, _FEWEST)


def _least(terms: Sequence[_Weighed], total: int, floor: float) -> float:
    """Return the weight below which a passage has too little to do with the question."""
    heaviest = sorted((one.weight for one in terms), reverse=True)[:_HEAVIEST]
    return max(floor * sum(heaviest), _TELLING * math.log(total))


def _weighed(connection: sqlite3.Connection, terms: Sequence[Term], total: int) -> list[_Weighed]:
    weighed = []
    for term in terms:
        count = connection.execute(
            "SELECT count(*) FROM ("
            " SELECT rowid FROM local_index WHERE local_index MATCH ? LIMIT ?)",
            (expression(term), min(_COUNTED, total)),
        ).fetchone()[0]
        weight = math.log(1 + (total - count + 0.5) / (count + 0.5))
        weighed.append(_Weighed(term, count, weight))
    return weighed


def _expression(terms: Sequence[_Weighed]) -> str:
    """Ask for any of the terms, the rarest first, as many as can be ranked quickly."""
    asked: list[str] = []
    ranked = 0
    for one in sorted((one for one in terms if one.hits), key=lambda one: one.hits):
        if asked and ranked + one.hits > _HITS_RANKED:
            break
        asked.append(expression(one.term))
        ranked += one.hits
    return " OR ".join(asked)


def _scored(
    terms: Sequence[_Weighed],
    hits: Sequence[Hit],
    said: Sequence[str],
    now: float,
    least: float,
    project: str | None,
) -> list[_Scored]:
    """Weigh the hits again, by the terms in them, length, age and project; those below `least` are none."""
    if not hits:
        return []
    mass = [0.0] * len(hits)
    with Marker(said) as marker:
        for one in terms:
            for place in marker.matching(spaced_expression([one.term])):
                mass[place] += one.weight
        marked = marker.marked(spaced_expression([one.term for one in terms]))
    usual = sum(len(text) for text in said) / len(said) or 1.0
    scored = [
        _Scored(
            hit,
            text,
            max(seen.find(OPEN), 0),
            weight
            * _brevity(len(text) / usual)
            * _youth(hit, now)
            * (1 if is_spoken(text) else _ACTIONS_ONLY)
            * (_OWN_PROJECT if project and hit.project == project else 1),
        )
        for hit, text, seen, weight in zip(hits, said, marked, mass, strict=True)
        if weight >= least
    ]
    return sorted(scored, key=lambda one: (-one.score, -(one.hit.time or 0), one.hit.id))


def _brevity(length: float) -> float:
    """Return what a text's length, relative to the usual, leaves of a word that it has once (BM25)."""
    return (_SATURATION + 1) / (1 + _SATURATION * (1 - _LENGTH + _LENGTH * length))


def _youth(hit: Hit, now: float) -> float:
    if hit.time is None:
        return 1.0
    age_ms = max(0.0, now * 1000 - hit.time)
    return 1 + _RECENCY * math.exp2(-age_ms / _HALF_LIFE_MS)


def _units(
    connection: sqlite3.Connection,
    reader: Reader,
    scored: Sequence[_Scored],
    limit: int,
    room: int,
    given: frozenset[int],
) -> list[tuple[Unit, float]]:
    """Return the units around the hits, no message twice, and some more than there is room for."""
    size = max(_UNIT_CHARS, room // _UNITS_IN_BLOCK) if room else 0
    shown: frozenset[int] = frozenset()
    told = set(given)
    units: list[tuple[Unit, float]] = []
    chars = 0
    for one in scored:
        key = message_key(one.text)
        if one.hit.id in shown or key in told:
            continue
        if (limit > 0 and len(units) >= limit) or (room and chars > 2 * room):
            break
        told.add(key)
        made = unit(connection, reader, one.hit, one.text, one.at, size, shown, given)
        units.append((made, one.score))
        shown |= made.shows
        chars += len(made.wordings[0])
    return units
