"""What a question's words tell: the rarer one is, the more; one that only stands for it tells less.

Which passages have a word is asked of the index word by word. That is less work than having the index rank
them, and all that is needed: how often a word stands in one message says little, and how long that is, less.
"""

import math
import sqlite3
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Final, NamedTuple

from retaind.core.alike import alike
from retaind.core.query import Term, expression, spaced_expression
from retaind.core.words import folded

_ALIKE: Final = 0.5
"""What a word is worth that could stand for one of the question's."""
_CONTEXT: Final = 0.5
"""And one that was said before the question: it tells what is meant, not what is asked."""
_ROWS: Final = 8_000
_ROWS_ALIKE: Final = 4_000
"""So many passages are looked at, those with the rarest words first."""
_COUNTED: Final = 20_000
_FEWEST: Final = 1_000
"""A memory with fewer passages is weighed as if it had so many: in a small one every word is common."""
_TELLING: Final = 0.5
"""As a share of what a word tells that is found once only: common words alone tell nothing."""
_HEAVIEST: Final = 8

Weights = Mapping[int, float]
"""What each of the question's words, by its place, tells of a text; those that it has not are missing."""


class Weighed(NamedTuple):
    """A term, in how many passages it is, and what it tells.

    `of` is the place of the question's own term: of this one, or of that which its words stand for.
    """

    expression: str
    marks: str
    hits: int
    weight: float
    of: int


class Bounds(NamedTuple):
    """What a turn's words must weigh: `telling` one turn at least, else nothing is told; `share` each."""

    telling: float
    share: float


class Matches:
    """The passages that have words of the question."""

    def __init__(self, found: Sequence[tuple[Weighed, frozenset[int]]]) -> None:
        self._found = found

    def ranked(self) -> list[int]:
        """Return the passages' ids, by the weight of the words in them; of equal ones the newest first."""
        masses: dict[int, float] = {}
        for one, rows in sorted(self._found, key=lambda found: len(found[1]), reverse=True):
            weight = one.weight
            if not masses:  # the longest list by far, so at the speed of C
                masses = dict.fromkeys(rows, weight)
                continue
            for row in rows:
                masses[row] = masses.get(row, 0.0) + weight
        return sorted(sorted(masses, reverse=True), key=masses.__getitem__, reverse=True)

    def weights(self, row: int) -> dict[int, float]:
        """Return what is told by the words in a passage."""
        best: dict[int, float] = {}
        for one, rows in self._found:
            if row in rows:
                best[one.of] = max(best.get(one.of, 0.0), one.weight)
        return best


def total_of(connection: sqlite3.Connection) -> int:
    """Return about how many passages there are."""
    row = connection.execute("SELECT max(id) FROM local_passage").fetchone()
    return max(row[0] or 0, _FEWEST)


def bounds(terms: Sequence[Weighed], total: int, floor: float) -> Bounds:
    """Return the bounds for a question, `floor` being the share of its weight that a turn must have."""
    own = (one.weight for at, one in enumerate(terms) if one.of == at)
    heaviest = sum(sorted(own, reverse=True)[:_HEAVIEST])
    share = floor * heaviest
    return Bounds(max(share, _TELLING * math.log(total)), share)


def weighed(
    connection: sqlite3.Connection,
    terms: Sequence[Term],
    total: int,
    context: AbstractSet[str] = frozenset(),
) -> list[Weighed]:
    """Weigh the question's terms, and behind them the words that they could stand for, which tell less.

    So do those that are only of its `context`: what was said before it, as folded words.
    """
    words = [folded(term.text) for term in terms]
    worth = [_CONTEXT if word in context else 1.0 for word in words]
    found = [_weigh(connection, [term], total, at, worth[at]) for at, term in enumerate(terms)]
    for at, word in enumerate(words):
        others = [one for one in alike(word) if one not in words]
        if others:
            stand_ins = [Term(one, is_phrase=False, prefix=False) for one in others]
            found.append(_weigh(connection, stand_ins, total, at, worth[at] * _ALIKE))
    return found


def matches(connection: sqlite3.Connection, terms: Sequence[Weighed]) -> Matches:
    """Find the passages that have any of the terms, the rarest first, as many as can be ranked quickly."""
    own = [one for at, one in enumerate(terms) if one.of == at]
    others = [one for at, one in enumerate(terms) if one.of != at]
    return Matches(
        [*_rows(connection, own, _ROWS), *_rows(connection, others, _ROWS_ALIKE)],
    )


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


def _rows(
    connection: sqlite3.Connection, terms: Sequence[Weighed], most: int
) -> list[tuple[Weighed, frozenset[int]]]:
    found: list[tuple[Weighed, frozenset[int]]] = []
    for one in sorted((one for one in terms if one.hits), key=lambda one: one.hits):
        if found and one.hits > most:
            break
        rows = connection.execute(
            "SELECT rowid FROM local_index WHERE local_index MATCH ? ORDER BY rowid DESC LIMIT ?",
            (one.expression, most),
        ).fetchall()
        found.append((one, frozenset(chain.from_iterable(rows))))
        most -= len(rows)
    return found
