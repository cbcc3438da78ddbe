"""Recall: what an agent should be reminded of for a question.

The question's telling words are looked up, any of them; the rarer a word, the more it tells. Who says a
word is rarely enough to go by, so messages are told with their neighbours in the conversation, as far as
these are worth more than what else was found. What was said at a time that the question names comes first,
newer memories come before older ones that tell as much, and what shares too little with the question is no
memory of it. A question that names a time and nothing else is answered by what was said then.
"""

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, NamedTuple

from retaind.core.moments import Span, names_only_times, spans
from retaind.core.policy import RECALL_PREAMBLE
from retaind.core.query import of_the_context, prompt_of, recall_terms
from retaind.core.recall import CHARS_PER_TOKEN, Memory, render_block
from retaind.memory.local.by_time import said_then
from retaind.memory.local.choosing import Locate, Room, choose
from retaind.memory.local.conversations import Conversations
from retaind.memory.local.hits import Hit, look_up
from retaind.memory.local.marks import OPEN, Marker
from retaind.memory.local.ranking import Asking, Ranked, ranked
from retaind.memory.local.searching import found
from retaind.memory.local.times import from_ms
from retaind.memory.local.units import Unit, units
from retaind.memory.local.weighing import Bounds, Weighed, bounds, matches, total_of, weighed
from retaind.memory.port import Filters, Found

_CANDIDATES: Final = 150
_CANDIDATES_OWN: Final = 75
"""How many passages are looked at, and how many of the asking session's project in any case."""
FLOOR: Final = 0.1
"""The share of a question's weight, taken over its heaviest words, that a memory must have."""
_FRAME_CHARS: Final = 120
"""About as much of the block is neither preamble nor memories."""


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
    filters = filters or Filters()
    ahead_s = float(time.localtime(now).tm_gmtoff)
    then = _times_alone(prompt_of(query), now, ahead_s)
    if then:
        locate: Locate = _nowhere
        told = said_then(connection, Asking(now, project, then), filters)
    else:
        total = total_of(connection)
        terms = weighed(connection, recall_terms(query), total, of_the_context(query))
        locate = _locate(terms)
        asking = Asking(now, project, spans(query, now, ahead_s=ahead_s))
        told = _told(connection, terms, bounds(terms, total, floor), asking, filters)
    room = Room(_room(max_tokens, preamble), limit)
    chosen = choose(told, Conversations(connection), room, given, locate)
    return _recalled(units(chosen), now, max_tokens, preamble)


def _times_alone(prompt: str, now: float, ahead_s: float) -> tuple[Span, ...]:
    """Return the times that a prompt names if it names nothing else, to the day."""
    return spans(prompt, now, ahead_s=ahead_s, margin_s=0.0) if names_only_times(prompt) else ()


def _nowhere(_: str) -> int:
    """Find no word in a text: a time was asked for, so it is told from its beginning."""
    return 0


def _told(
    connection: sqlite3.Connection,
    terms: Sequence[Weighed],
    bounds: Bounds,
    asking: Asking,
    filters: Filters,
) -> Ranked:
    """Return what is told by the question's words."""
    matched = matches(connection, terms)
    hits = _hits(connection, matched.ranked(), filters, asking.project)
    return ranked([(hit, matched.weights(hit.id)) for hit in hits], bounds, asking)


def _room(max_tokens: int, preamble: str) -> int:
    """Return the characters that memories may take in a block; 0 is no limit."""
    if max_tokens <= 0:
        return 0
    return max(max_tokens * CHARS_PER_TOKEN - len(preamble) - _FRAME_CHARS, 1)


def _recalled(told: Sequence[Unit], now: float, max_tokens: int, preamble: str) -> Recalled:
    """Render the units that fit, and say which they are."""
    block = render_block(
        [Memory(one.wordings, from_ms(one.hit.time), one.hit.project) for one in told],
        datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d %H:%M UTC"),
        max_tokens,
        preamble,
    )
    results = (found(told[place].hit, text, text, told[place].score) for place, text in block.shown)
    keys = frozenset[int]().union(*(_keys(told[place], text) for place, text in block.shown))
    return Recalled(tuple(results), block.text, keys)


def _keys(shown: Unit, text: str) -> frozenset[int]:
    """Return the keys of a wording; one that was cut is the best message alone."""
    place = shown.wordings.index(text) if text in shown.wordings else -1
    return shown.keys[place]


def _hits(
    connection: sqlite3.Connection, ids: Sequence[int], filters: Filters, project: str | None
) -> list[Hit]:
    """Return the best hits, and the best of the asking session's project among them in any case."""
    hits = look_up(connection, ids, _CANDIDATES, filters)
    if project is None or filters.projects or len(hits) < _CANDIDATES:
        return hits
    own = look_up(connection, ids, _CANDIDATES_OWN, replace(filters, projects=(project,)))
    return list({hit.id: hit for hit in (*hits, *own)}.values())


def _locate(terms: Sequence[Weighed]) -> Locate:
    """Return what finds the first of the question's words in a text."""
    marks = " OR ".join(one.marks for one in terms)

    def locate(text: str) -> int:
        with Marker([text]) as marker:
            return max(marker.marked(marks)[0].find(OPEN), 0)

    return locate
