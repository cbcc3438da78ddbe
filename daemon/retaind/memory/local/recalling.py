"""Recall: what an agent should be reminded of for a question.

The question's telling words are looked up, any of them; the rarer a word, the more it tells. Who says a
word is rarely enough to go by, so a hit is given with its neighbours in the conversation. Newer memories
come before older ones that tell as much, and what shares too little with the question is no memory of it.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from retaind.core.policy import RECALL_PREAMBLE
from retaind.core.query import recall_terms
from retaind.core.recall import CHARS_PER_TOKEN, Memory, render_block
from retaind.memory.local.frames import Reader
from retaind.memory.local.hits import Hit, find, texts
from retaind.memory.local.searching import found
from retaind.memory.local.times import from_ms
from retaind.memory.local.units import Unit, Wanted, is_spoken, message_key, unit
from retaind.memory.local.weighing import Turn, any_of, least, scored, total_of, turns_of, weighed
from retaind.memory.port import Filters, Found

_CANDIDATES: Final = 70
_CANDIDATES_ALIKE: Final = 35
"""How many passages are looked at; half as many again find no more, and take recall over 30 ms on 1 GB."""
FLOOR: Final = 0.1
"""The share of a question's weight, taken over its heaviest words, that a memory must have."""
_SHARES: Final = 3
"""A turn may take a third of the room that is left, more where fewer turns were found."""
_UNIT_CHARS: Final = 400
_LEAST_ROOM: Final = 80
_FRAME_CHARS: Final = 120
"""About as much of the block is neither preamble nor memories."""
_BULLET_CHARS: Final = 22


class Recalled(NamedTuple):
    """What is remembered: results in the order of the block, and the block, "" when there are none.

    `keys` name the messages that are in it, for the next call's `given`.
    """

    results: tuple[Found, ...]
    block: str
    keys: frozenset[int] = frozenset()


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
    total = total_of(connection)
    terms = weighed(connection, recall_terms(query), total)
    own = any_of([one for at, one in enumerate(terms) if one.of == at])
    others = any_of([one for at, one in enumerate(terms) if one.of != at])
    narrowed = filters or Filters()
    hits = _hits(connection, own, narrowed, project, _CANDIDATES)
    hits += _hits(connection, others, narrowed, project, _CANDIDATES_ALIKE)
    hits = list({hit.id: hit for hit in hits}.values())
    reader = Reader(connection)
    rated = scored(terms, hits, texts(reader, hits), now, project)
    turns = turns_of(terms, rated, least(terms, total, floor))
    units = _units(connection, reader, turns, limit, _room(max_tokens, preamble), given)
    return _recalled(units, now, max_tokens, preamble)


def _room(max_tokens: int, preamble: str) -> int:
    """Return the characters that memories may take in a block; 0 is no limit."""
    if max_tokens <= 0:
        return 0
    return max(max_tokens * CHARS_PER_TOKEN - len(preamble) - _FRAME_CHARS, 1)


def _recalled(
    units: Sequence[tuple[Unit, float]], now: float, max_tokens: int, preamble: str
) -> Recalled:
    """Render the units that fit, and say which they are."""
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


def _units(
    connection: sqlite3.Connection,
    reader: Reader,
    turns: Sequence[Turn],
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
