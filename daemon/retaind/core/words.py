"""Words: what a text is found by beside its plain words, and which words of a question carry nothing.

The index splits text where letters and digits end, so `snake_case`, `a/path` and `dotted.names` are
words already. What it cannot split is added here: `camelCase` by its humps, and scripts that write no
spaces by pairs of neighbouring characters.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

_UNSPACED: Final = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # Kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # Han
    "\uac00-\ud7af"  # Hangul
    "\uff66-\uff9f"  # Kana of half width
    "\U00020000-\U0003ffff"  # Han, later planes
)
UNSPACED_RUN: Final = re.compile(f"[{_UNSPACED}]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ALNUM: Final = re.compile(r"[A-Za-z0-9]+")
# Each byte as a for a small letter or digit, A for a capital, a point for all else. A word with a hump
# has "aA" or "AAa" in it, and these are found many times faster than by a pattern over the text.
_SHAPES: Final = (
    bytes(
        ord("A" if one.isupper() else "a" if one.isalnum() else ".") for one in map(chr, range(128))
    )
    + b"." * 128
)
# What is longer is no identifier but encoded data.
_IDENTIFIER_CHARS: Final = 80
_WORD: Final = re.compile(r"\w+")
_ZERO_WIDTH: Final = "\u200b"

STOP_WORDS: Final = frozenset(
    """
    a about above after again against all already also am an and another any anything are aren as at
    be because been before being below best between both but by can cannot could couldn did didn do
    does doesn doing don done down during each either else ever every few for from further get gets
    getting give given go goes going gone got had hadn has hasn have haven having he help her here hers
    herself hey hi him himself his how however i if im in into is isn it its itself ive just kind know
    let lets like ll look make makes many may maybe me might more most much must my myself need needs
    no nor not now of off ok okay on once only or other our ours ourselves out over own please re really
    s same say said see shall she should shouldn since so some something still such sure t take tell
    than thank thanks that the their theirs them themselves then there these they thing things think
    this those though through to too under until up us ve very want wants was wasn we well were weren
    what whatever when where whether which while who whom whose why will with within without won would
    wouldn yeah yes yet you your yours yourself yourselves
    """.split()  # noqa: SIM905 (as a list it would be two pages long)
)
"""English words that a question is full of and that say nothing of its subject; after `folded`."""


def humps(word: str) -> list[str]:
    """Split `camelCase` and `HTTPServer` where a new word begins; other words stay whole."""
    return _HUMP.split(word)


def pairs(run: str) -> list[str]:
    """Return each two neighbouring characters of a run, and its last character."""
    return [run[at : at + 2] for at in range(len(run))]


def index_text(text: str) -> tuple[str, str]:
    """Return what the index is given for a text: the text, and the extra words it is found by."""
    extra: list[str] = []
    if _has_hump(text):
        extra.extend(" ".join(humps(word)) for word in sorted(_humped_words(text)))
    if not text.isascii():
        extra.extend(_unspaced_words(text))
    return text, "\n".join(extra)


def spaced(text: str) -> str:
    """Return the text with a zero-width space wherever `index_text` would split a word."""
    if _has_hump(text):
        text = _ALNUM.sub(lambda word: _ZERO_WIDTH.join(humps(word[0])), text)
    if not text.isascii():
        text = UNSPACED_RUN.sub(
            lambda run: f"{_ZERO_WIDTH}{_ZERO_WIDTH.join(run[0])}{_ZERO_WIDTH}", text
        )
    return text


def unspaced(text: str) -> str:
    """Take out what `spaced` has put in."""
    return text.replace(_ZERO_WIDTH, "")


def folded(word: str) -> str:
    """Return the word in lower case and without diacritics, as the index compares it."""
    word = word.lower()
    if word.isascii():
        return word
    parts = unicodedata.normalize("NFD", word)
    return "".join(one for one in parts if not unicodedata.combining(one))


def words_of(text: str) -> Iterator[str]:
    """Yield the runs of letters, digits and underscores in a text."""
    return (word[0] for word in _WORD.finditer(text))


def _has_hump(text: str) -> bool:
    if text.islower():
        return False
    shape = text.encode(errors="replace").translate(_SHAPES)
    return b"aA" in shape or b"AAa" in shape


def _humped_words(text: str) -> set[str]:
    capitals = " ".join({word for word in text.split() if not word.islower()})
    words = set(_ALNUM.findall(capitals))
    return {
        word
        for word in words
        if len(word) <= _IDENTIFIER_CHARS and not word.islower() and len(humps(word)) > 1
    }


def _unspaced_words(text: str) -> Iterator[str]:
    """Yield, for each word with characters of a script without spaces, their pairs and what else is in it."""
    for word in _WORD.finditer(text):
        at = 0
        for run in UNSPACED_RUN.finditer(word[0]):
            if run.start() > at:
                yield word[0][at : run.start()]
            yield " ".join(pairs(run[0]))
            at = run.end()
        if 0 < at < len(word[0]):
            yield word[0][at:]
