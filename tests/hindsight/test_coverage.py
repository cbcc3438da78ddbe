"""Over which records a cursor may advance because the memory has them."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from retaind.core.records import Fate, Record
from retaind.runtime.coverage import clip, merged

RANGES = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 10)).map(lambda pair: (pair[0], sum(pair))),
    max_size=6,
)


def records(start: int, end: int) -> tuple[Record, ...]:
    return tuple(Record(at, at + 1, Fate.CONVERSATION, "user") for at in range(start, end))


@given(ranges=RANGES)
def test_merged_ranges_hold_the_same_bytes_and_leave_gaps(ranges: list[tuple[int, int]]) -> None:
    found = merged(ranges)

    assert {at for first, last in found for at in range(first, last)} == {
        at for first, last in ranges for at in range(first, last)
    }
    assert all(one[1] < other[0] for one, other in pairwise(found))


@given(ranges=RANGES, end=st.integers(1, 45))
def test_window_by_window_each_record_is_held_or_sent_once(
    ranges: list[tuple[int, int]], end: int
) -> None:
    covered = merged(ranges)
    held: list[int] = []
    at = 0
    while at < end:
        part, is_held = clip(records(at, end), at, covered)
        assert part
        held += [record.start for record in part] if is_held else []
        at = part[-1].end

    assert held == [
        at for first, last in covered for at in range(first, min(last, end)) if at < end
    ]


def test_a_record_that_is_held_in_part_is_sent() -> None:
    long = (Record(0, 10, Fate.CONVERSATION, "user"), Record(10, 20, Fate.CONVERSATION, "user"))

    assert clip(long, 0, [(0, 5)]) == (long, False)
    assert clip(long, 0, [(5, 20)]) == (long[:1], False)
    assert clip(long[1:], 10, [(5, 20)]) == (long[1:], True)
