"""Honest metering (R3) as a pure function, and reports that would be convenient but wrong."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retaind.core.metering import extraction, merge, tokens

Report = Callable[[Sequence[bytes], Sequence[tuple[bytes, int]], bool], int | None]

A, B, C, D = b"a", b"b", b"c", b"d"

FOUNDING_CASES = [
    # stored, body, extends, reported
    ([], [(A, 10), (B, 20)], False, None),
    ([A, B], [(A, 10), (B, 20)], False, 0),
    ([A, B, C], [(A, 10), (D, 5), (C, 30)], False, 5),
    ([A, B], [(C, 10), (D, 20)], False, None),
    ([A, B], [(A, 10), (C, 20), (D, 30)], False, 50),
    ([A], [(B, 10)], False, None),
    ([A], [(B, 10), (C, 20)], True, 30),
    ([A, B, C], [(A, 10)], False, 0),
    ([A], [], False, 0),
    ([], [], False, 0),
    ([A], [(A, 10), (B, 20), (C, 30)], False, 50),
    ([A], [(A, 10), (A, 10)], False, 10),
]


def honest(
    stored: Sequence[bytes],
    body: Sequence[tuple[bytes, int]],
    extends: bool,  # noqa: FBT001
) -> int | None:
    return extraction(stored, body, extends=extends).processed_tokens


def right(report: Report) -> bool:
    return all(
        report(stored, body, extends) == expected
        for stored, body, extends, expected in FOUNDING_CASES
    )


def test_the_founding_cases_hold() -> None:
    assert right(honest)


@pytest.mark.parametrize(
    "convenient",
    [
        lambda _stored, _body, _extends: None,
        lambda _stored, _body, _extends: 0,
        lambda _stored, body, _extends: sum(size for _, size in body),
        lambda stored, body, _extends: sum(size for one, size in body if one not in stored),
        lambda stored, body, _extends: honest(stored, body, False),
        lambda stored, body, _extends: honest(stored, body, True),
    ],
    ids=["no signal", "nothing", "the submission", "no none", "never extends", "always extends"],
)
def test_a_report_that_does_not_look_fails_the_founding_cases(convenient: Report) -> None:
    assert not right(convenient)


@given(
    st.lists(st.sampled_from([A, B, C, D]), max_size=8),
    st.lists(st.tuples(st.sampled_from([A, B, C, D]), st.integers(1, 9)), max_size=8),
)
def test_a_number_is_the_tokens_of_the_chunks_to_extract(
    stored: list[bytes], body: list[tuple[bytes, int]]
) -> None:
    found = extraction(stored, body)

    spent = sum(body[place][1] for place in found.chunks)
    assert found.processed_tokens in (None, spent)
    if found.processed_tokens is None:
        assert len(found.chunks) == len(body) > 0


@given(st.lists(st.one_of(st.none(), st.integers(0, 100)), max_size=6))
def test_no_signal_is_contagious_and_numbers_add_up(reports: list[int | None]) -> None:
    merged = merge(reports)

    assert (merged is None) == (None in reports)
    assert merged is None or merged == sum(one or 0 for one in reports)


def test_a_token_is_four_bytes_of_utf8_rounded_up() -> None:
    assert [tokens(text) for text in ("", "a", "abcd", "abcde", "é", "語語")] == [0, 1, 1, 2, 1, 2]
