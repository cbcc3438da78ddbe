"""The times that a question names."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retaind.core.moments import names_only_times, spans

NOW = datetime(2026, 8, 29, 15, tzinfo=UTC).timestamp()


def days(question: str) -> list[tuple[str, str]]:
    """Return the first and the last whole day of each span."""
    return [
        (
            datetime.fromtimestamp(one.start + 43_200, UTC).strftime("%Y-%m-%d"),
            datetime.fromtimestamp(one.end - 43_201, UTC).strftime("%Y-%m-%d"),
        )
        for one in spans(question, NOW)
    ]


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("what broke on 2026-07-03", "2026-07-03", "2026-07-03"),
        ("what broke in 2026-07?", "2026-07-01", "2026-07-31"),
        ("What did Ann do on 7 May 2023?", "2023-05-07", "2023-05-07"),
        ("What did Ann do on May 7, 2023?", "2023-05-07", "2023-05-07"),
        ("the outage of the 3rd of February", "2026-02-03", "2026-02-03"),
        ("what did we decide in March", "2026-03-01", "2026-03-31"),
        ("what did we decide in december", "2025-12-01", "2025-12-31"),
        ("the Sept. release", "2025-09-01", "2025-09-30"),
        ("everything since 2024", "2024-01-01", "2024-12-31"),
        ("what did I do yesterday", "2026-08-28", "2026-08-28"),
        ("what is new today", "2026-08-29", "2026-08-29"),
        ("why did it fail last week", "2026-08-16", "2026-08-29"),
        ("what did we merge this month", "2026-07-31", "2026-08-29"),
        ("the migration of two weeks ago", "2026-08-12", "2026-08-18"),
        ("it worked 3 days ago", "2026-08-26", "2026-08-26"),
    ],
)
def test_a_time_in_a_question_is_read(question: str, first: str, last: str) -> None:
    found = days(question)

    assert found == [(first, last)]


@pytest.mark.parametrize(
    "question",
    [
        "may I change this",
        "march on",
        "why is the marker wrong",
        "does it decay",
        "version 2023 of the parser",
        "port 8080",
        "on 31 February 2024",
        "in 2024-13",
        "0001-01-01T00:00:00Z",
        "0001-01",
        "9999-12-31",
        "9999-12",
        "since 9999 years",
        "the week after",
    ],
)
def test_what_names_no_time_is_none(question: str) -> None:
    assert days(question) == []


def test_a_day_is_that_of_the_clock_on_the_wall() -> None:
    night = datetime(2026, 8, 29, 23, tzinfo=UTC).timestamp()

    [here] = spans("today", night, ahead_s=7200, margin_s=0)
    [there] = spans("today", night, ahead_s=-3600, margin_s=0)

    assert here.start == datetime(2026, 8, 29, 22, tzinfo=UTC).timestamp()
    assert there.start == datetime(2026, 8, 29, 1, tzinfo=UTC).timestamp()
    assert here.end - here.start == there.end - there.start == 86_400


@pytest.mark.parametrize(
    "question",
    [
        "what did we do yesterday?",
        "What happened on May 7, 2026",
        "summarize the sessions of last week",
        "where were we 2 days ago, what was left?",
        "Please tell me what we worked on since 2026",
    ],
)
def test_a_question_may_be_for_a_time_alone(question: str) -> None:
    assert names_only_times(question)


@pytest.mark.parametrize(
    "question",
    [
        "what did we decide on retries yesterday?",
        "yes, do it today please",
        "today",
        "why did the build fail last week",
        "",
    ],
)
def test_a_question_may_be_for_more_than_a_time(question: str) -> None:
    assert not names_only_times(question)


PARTS = st.sampled_from(
    [
        "0001",
        "9999",
        "-",
        "-01",
        "-12",
        "-31",
        " ",
        "in ",
        "May",
        "999 years ago",
        "last year",
        "31",
    ]
)


@given(
    st.text(max_size=80) | st.lists(PARTS, max_size=8).map("".join),
    st.floats(0, 4e9) | st.just(0.0),
)
def test_no_question_is_an_error(question: str, now: float) -> None:
    assert all(one.start < one.end for one in spans(question, now))
    assert names_only_times(question) in {True, False}
