"""What people type, as expressions of the full-text index; no input is an error.

Words are joined by "and"; `"a phrase"`, `a prefix*` and OR between words are understood, everything
else is punctuation. A word with punctuation inside (`a/path`, `snake_case`) stands for its parts in order.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from retaind.core.words import STOP_WORDS, UNSPACED_RUN, folded, humps, pairs, spaced, words_of

_ITEM: Final = re.compile(r'"([^"]*)"?|([^\s"]+)')
_ROLE: Final = re.compile(r"^(?:user|assistant|system|tool): ", re.MULTILINE)
_MOST_WORDS: Final = 64
_MOST_RECALL_TERMS: Final = 32

CONTEXT_HEADING: Final = "Prior context:"
"""The line before the turns in a composed query."""


class Term(NamedTuple):
    """A word, or a phrase in quotes; `prefix` matches longer words too."""

    text: str
    is_phrase: bool
    prefix: bool


class Query(NamedTuple):
    """A query as expressions; all are "" when it names nothing.

    `every` asks for all terms, `either` for any of them, without stop words where others remain.
    `marks` asks for any of them in a text that `spaced` has split.
    """

    every: str
    either: str
    marks: str


def read_query(query: str) -> Query:
    """Read what a person typed."""
    groups = list(islice(_groups(_clean(query)), _MOST_WORDS))
    every = " AND ".join(_grouped(group) for group in groups)
    terms = [term for group in groups for term in group]
    telling = [term for term in terms if not _is_stop_word(term)] or terms
    return Query(every, _either(telling), " OR ".join(_spaced(term) for term in telling))


def recall_terms(query: str) -> tuple[Term, ...]:
    """Return the telling words of a question or a composed query, at most 32, each once.

    The last ones are kept where there are too many: the prompt stands at the end.
    """
    text = _clean(query).removeprefix(CONTEXT_HEADING)
    text = _ROLE.sub("", text)
    words: dict[str, str] = {}
    for word in reversed([part for whole in words_of(text) for part in _telling(whole)]):
        words.setdefault(folded(word), word)
        if len(words) == _MOST_RECALL_TERMS:
            break
    return tuple(Term(word, is_phrase=False, prefix=False) for word in reversed(words.values()))


def of_the_context(query: str) -> frozenset[str]:
    """Return the telling words of a composed query that stand before its prompt and not in it, folded."""
    prompt = prompt_of(query)
    context = query[: len(query) - len(prompt)]
    asked = {folded(one.text) for one in recall_terms(prompt)}
    return frozenset(folded(one.text) for one in recall_terms(context)) - asked


def prompt_of(query: str) -> str:
    """Return the prompt at the end of a composed query; any other query is all prompt."""
    return query.rpartition("\n\n")[2] if query.startswith(CONTEXT_HEADING) else query


def expression(term: Term) -> str:
    """Return the expression that finds a term in the columns of the index."""
    segments = list(_segments(term.text))
    found = [
        _pairs(segment)
        if is_unspaced
        else _quoted(segment) + ("*" if term.prefix and at == len(segments) - 1 else "")
        for at, (segment, is_unspaced) in enumerate(segments)
    ]
    if len(found) == 1 and not term.is_phrase and len(parts := humps(term.text)) > 1:
        star = "*" if term.prefix else ""
        return f"({found[0]} OR {_quoted(' '.join(parts))}{star})"
    return found[0] if len(found) == 1 else f"({' AND '.join(found)})"


def spaced_expression(terms: Sequence[Term]) -> str:
    """Return the expression that finds any of the terms in a text that `spaced` has split."""
    return " OR ".join(_spaced(term) for term in terms)


def _groups(query: str) -> Iterator[list[Term]]:
    """Yield the terms, those with OR between them together."""
    group: list[Term] = []
    alternative = False
    for found in _ITEM.finditer(query):
        phrase, word = found[1], found[2]
        if word == "OR" and group:
            alternative = True
            continue
        if word == "AND":
            continue
        follows_star = query[found.end() : found.end() + 1] == "*"
        term = Term(
            phrase if word is None else word,
            is_phrase=word is None,
            prefix=word.rstrip(".,;:!?)").endswith("*") if word else follows_star,
        )
        if not _has_word(term.text):
            continue
        if group and not alternative:
            yield group
            group = []
        group.append(term)
        alternative = False
    if group:
        yield group


def _telling(word: str) -> Iterator[str]:
    """Yield what of a word tells something: pairs of a script without spaces, else the word or nothing."""
    for segment, is_unspaced in _segments(word):
        if is_unspaced:
            yield from (pairs(segment)[:-1] or [segment])
        elif len(segment) > 1 and folded(segment) not in STOP_WORDS and _has_word(segment):
            yield segment


def _segments(text: str) -> Iterator[tuple[str, bool]]:
    """Yield what has words in it, in order, and whether it is of a script without spaces."""
    at = 0
    for run in UNSPACED_RUN.finditer(text):
        if _has_word(text[at : run.start()]):
            yield text[at : run.start()], False
        yield run[0], True
        at = run.end()
    if _has_word(text[at:]):
        yield text[at:], False


def _grouped(group: Sequence[Term]) -> str:
    return expression(group[0]) if len(group) == 1 else f"({_either(group)})"


def _either(terms: Sequence[Term]) -> str:
    return " OR ".join(expression(term) for term in terms)


def _pairs(run: str) -> str:
    """Find a run where its pairs follow each other, and one character where a pair begins with it."""
    inside = pairs(run)[:-1]
    return f"extra : {_quoted(' '.join(inside))}" if inside else f"extra : {_quoted(run)}*"


def _spaced(term: Term) -> str:
    return _quoted(spaced(term.text)) + ("*" if term.prefix else "")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _is_stop_word(term: Term) -> bool:
    return not term.is_phrase and folded(term.text.strip(".,;:!?()'")) in STOP_WORDS


def _has_word(text: str) -> bool:
    return any(one.isalnum() for one in text)


def _clean(query: str) -> str:
    """Take out what the index cannot be asked: NUL, and halves of surrogate pairs."""
    return query.replace("\0", " ").encode(errors="replace").decode()
