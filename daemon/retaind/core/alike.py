"""Words that mean much the same: a question seldom has the answer's own words."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Final

from retaind.core.thesaurus import EVERYDAY, SOFTWARE


@cache
def _table() -> Mapping[str, tuple[str, ...]]:
    """Return what stands for each word; made when it is first asked for, for many never ask."""
    found: dict[str, dict[str, None]] = {}
    for line in (SOFTWARE + EVERYDAY).split("\n"):
        words = line.split()
        for word in words:
            found.setdefault(word, {}).update(dict.fromkeys(one for one in words if one != word))
    return MappingProxyType({word: tuple(others) for word, others in found.items()})


_ENDINGS: Final = ("s", "es", "ed", "d", "ing", "ly")


def alike(word: str) -> tuple[str, ...]:
    """Return the words that stand for a word, given in lower case; () when none is known."""
    table = _table()
    if word in table:
        return table[word]
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and stem in table:
            return table[stem]
    return ()
