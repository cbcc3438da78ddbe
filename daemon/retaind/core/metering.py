"""Honest metering (R3): how much content really went through extraction.

* None  there was nothing to compare with: count the whole submission
* 0     nothing went through extraction
* N     only N tokens did

The context counts once for each extracted chunk, so N may exceed the submission.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from retaind.core.messages import tokens

__all__ = ["Extraction", "extraction", "merge", "tokens"]


class Extraction(NamedTuple):
    """What must be extracted: the places of those chunks in the body, and the tokens to report."""

    chunks: tuple[int, ...]
    processed_tokens: int | None


def extraction(
    stored: Sequence[bytes], body: Sequence[tuple[bytes, int]], *, extends: bool = False
) -> Extraction:
    """Compare a document's complete body with what is stored of it, before anything is written.

    `stored` are the hashes of its stored chunks; `body` are hash and tokens (content and context) of
    each chunk that it is to have. `extends` tells that an oversized body begins with all that is
    stored; such a body is an addition even when the only stored chunk has grown.

    A stored chunk stands for one chunk of the body: a text that occurs once more is extracted once more.
    """
    left = Counter(stored)
    fresh = []
    counted = 0
    for place, (hash_, size) in enumerate(body):
        if left[hash_] > 0:
            left[hash_] -= 1
        else:
            fresh.append(place)
            counted += size
    nothing_in_common = len(fresh) == len(body) and not (stored and extends)
    if fresh and nothing_in_common:
        return Extraction(tuple(fresh), None)
    return Extraction(tuple(fresh), counted)


def merge(reports: Iterable[int | None]) -> int | None:
    """Merge the reports of several documents: one that is None hides all; else they add up, from 0."""
    total = 0
    for report in reports:
        if report is None:
            return None
        total += report
    return total
