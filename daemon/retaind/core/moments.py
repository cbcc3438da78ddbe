"""When a question is about: the days, months and years that it names, in English.

Nothing that it says is an error; what cannot be read as a time is none.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from retaind.core.query import recall_terms
from retaind.core.words import folded, words_of

_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_MONTH: Final = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t|tember)?"
    "|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_NUMBERS: Final = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
_ISO: Final = re.compile(r"\b(\d{4})-(\d{2})(?:-(\d{2}))?\b")
_NAMED: Final = re.compile(
    r"(?P<before>\b(?:in|of|since|during|last|until|by|early|late|mid) )?"
    r"(?:\b(?P<day>\d{1,2})(?:st|nd|rd|th)?(?: of)? )?"
    rf"\b(?P<month>{_MONTH})\b\.?"
    r"(?: (?P<day_after>\d{1,2})(?:st|nd|rd|th)?\b(?![:.]\d))?"
    r"(?:,? (?P<year>(?:19|20)\d{2})\b)?",
    re.IGNORECASE,
)
_YEAR: Final = re.compile(r"\b(?:in|of|since|during) ((?:19|20)\d{2})\b(?!-)", re.IGNORECASE)
_RELATIVE: Final = re.compile(
    r"\b(?:(?P<day>today|yesterday)|(?P<which>last|past|this) (?P<period>week|month|year)"
    r"|(?P<count>\d{1,3}|an?|one|two|three|four|five|six) (?P<unit>day|week|month|year)s? ago)\b",
    re.IGNORECASE,
)
_DAYS: Final = {"day": 1, "week": 7, "month": 30, "year": 365}
_EVERYDAY: Final = frozenset(
    """
    activities activity chat chats conversation conversations discuss discussed happen happened left list
    progress recap remember remind session sessions show stuff summaries summarise summarised summarize
    summarized summary talk talked topic topics work worked working
    """.split()  # noqa: SIM905 (as a list it would be a page long)
)
"""Words of questions for what was done, whatever it was; after `folded`."""
_ASKING: Final = frozenset(
    "how list recap remember remind show summarise summarize tell what where which".split()  # noqa: SIM905 (like the one above)
)
_MARGIN_S: Final = 12 * 3600.0
"""Where times are compared with words, a day reaches so much further: who says "today" at night?"""


class Span(NamedTuple):
    """Seconds since 1970, from `start` up to `end`."""

    start: float
    end: float

    def holds(self, moment: float) -> bool:
        """Whether a moment is in it."""
        return self.start <= moment < self.end


def spans(
    question: str, now: float, *, ahead_s: float = 0.0, margin_s: float = _MARGIN_S
) -> tuple[Span, ...]:
    """Return the times that a question names; a month without a year is past.

    `now` is in seconds since 1970, `ahead_s` the seconds by which the asker's clock is ahead of UTC; each
    time reaches `margin_s` further on both sides.
    """
    here = datetime.fromtimestamp(now + ahead_s, UTC)
    today = here.replace(hour=0, minute=0, second=0, microsecond=0)
    before, after = timedelta(seconds=ahead_s + margin_s), timedelta(seconds=margin_s - ahead_s)
    found = []
    for read in (_iso, _named, _years, _relative):
        for start, end in read(question, today):
            with suppress(OverflowError):  # at the edges of the calendar, such as Go's 0001-01-01
                found.append(Span((start - before).timestamp(), (end + after).timestamp()))
    return tuple(found)


def names_only_times(question: str) -> bool:
    """Whether what names a time is a question for it and nothing else: "what did we do yesterday?"."""
    for time in (_ISO, _NAMED, _YEAR, _RELATIVE):
        question = time.sub(" ", question)
    asks = any(folded(word) in _ASKING for word in words_of(question))
    return asks and all(folded(term.text) in _EVERYDAY for term in recall_terms(question))


_Days = Iterator[tuple[datetime, datetime]]


def _iso(question: str, _: datetime) -> _Days:
    for found in _ISO.finditer(question):
        yield from _calendar(int(found[1]), int(found[2]), int(found[3] or 0))


def _named(question: str, today: datetime) -> _Days:
    for found in _NAMED.finditer(question):
        day = int(found["day"] or found["day_after"] or 0)
        name = found["month"].lower()
        if not (day or found["year"] or found["before"]) and name in {"may", "mar", "march"}:
            continue  # a word of its own more often than a month
        month = _MONTHS.index(name[:3]) + 1
        year = int(found["year"]) if found["year"] else today.year - (month > today.month)
        yield from _calendar(year, month, day)


def _years(question: str, _: datetime) -> _Days:
    for found in _YEAR.finditer(question):
        year = int(found[1])
        yield datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)


def _relative(question: str, today: datetime) -> _Days:
    for found in _RELATIVE.finditer(question):
        tomorrow = today + timedelta(days=1)
        if found["day"]:
            start = today - timedelta(days=found["day"].lower() == "yesterday")
            yield start, start + timedelta(days=1)
        elif found["period"]:
            days = _DAYS[found["period"].lower()]
            back = 1 if found["which"].lower() == "this" else 2  # last week may mean the one before
            yield tomorrow - timedelta(days=back * days), tomorrow
        else:
            count, days = found["count"].lower(), _DAYS[found["unit"].lower()]
            middle = today - timedelta(days=(_NUMBERS.get(count) or int(count)) * days)
            yield middle - timedelta(days=days // 2), middle + timedelta(days=days // 2 + 1)


def _calendar(year: int, month: int, day: int) -> _Days:
    """Yield a day, or a month where `day` is 0, if there is such a one."""
    try:
        start = datetime(year, month, day or 1, tzinfo=UTC)
        end = start + timedelta(days=1) if day else (start + timedelta(days=32)).replace(day=1)
    except (ValueError, OverflowError):
        return
    yield start, end
