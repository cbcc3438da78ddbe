"""The index of streams: every way to a stream stays right, and a row comes out as it went in."""

import os

from hypothesis import given
from hypothesis import strategies as st

from retaind.runtime.index import Index
from retaind.vault.identity import Evidence, Locator
from retaind.vault.streams import OpenGeneration, Sighting

INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
HASHES = st.sampled_from([b"\0" * 16, b"\xff" * 16, b"hash of 16 bytes"])
LOCATORS = st.builds(Locator, st.sampled_from([-1, 0, 1]), st.sampled_from([-1, 0, 1])) | st.builds(
    Locator, INT64, INT64
)
PATHS = st.sampled_from(
    [b"/a/hash of 16 bytes", b"/a/one.jsonl", b"/b/one.jsonl", b"/a/two.jsonl", b"/a/\xff.jsonl"]
)
TEXTS = st.none() | st.sampled_from(["", "/home/dev/lab", "日本"])
COUNTS = st.integers(0, 1 << 62)


def rows(stream_id: int) -> st.SearchStrategy[OpenGeneration]:
    return st.builds(
        OpenGeneration,
        st.just(stream_id), st.text("abc", min_size=1), COUNTS, COUNTS, st.just("claude_code"),
        st.sampled_from(["session", "attachment"]), st.sampled_from(["", "one", "é"]), TEXTS, PATHS,
        TEXTS, TEXTS, st.sampled_from(["full", "off"]), st.sampled_from(["present", "gone"]),
        st.builds(Sighting, LOCATORS, st.none() | INT64, COUNTS, INT64, INT64),
        st.builds(Evidence, COUNTS, COUNTS, HASHES | st.just(b""), st.none() | HASHES, HASHES),
    )  # fmt: skip


STEPS = st.lists(
    st.integers(1, 5).flatmap(lambda one: st.tuples(st.just(one), st.none() | rows(one))),
    max_size=25,
)


@given(STEPS)
def test_every_way_leads_to_the_streams_that_are_known(
    steps: list[tuple[int, OpenGeneration | None]],
) -> None:
    index = Index()
    known: dict[int, OpenGeneration] = {}
    holders: dict[object, int] = {}  # who came last to a path, or to a locator

    for stream_id, row in steps:
        tracked = index.stream(stream_id)
        before = known.pop(stream_id, None)
        if row is None:
            index.remove(stream_id)
            continue
        known[stream_id] = row
        if tracked is None:
            index.add(row)
        else:
            index.replace(tracked, row)
        if before is None or _place(before) != _place(row):
            holders |= {row.path: stream_id, row.sighting.locator: stream_id}

    assert {tracked.stream_id: tracked.row for tracked in index} == known
    assert len(index) == len(known)
    for row in known.values():
        _check_ways(index, known, holders, row)


def _place(row: OpenGeneration) -> tuple[object, ...]:
    return row.path, row.sighting.locator, row.evidence.prefix_hash


def _check_ways(
    index: Index, known: dict[int, OpenGeneration], holders: dict[object, int], row: OpenGeneration
) -> None:
    where, prefix = row.sighting.locator, row.evidence.prefix_hash
    for found, place in [(index.at_path(row.path), row.path), (index.at_locator(where), where)]:
        if found is not None:
            assert found.stream_id == holders[place]
        else:
            assert holders[place] != row.stream_id
    name = os.path.basename(row.path)
    found_alike = [tracked.stream_id for tracked in index.alike(prefix, row.path)]
    assert sorted(found_alike) == sorted(
        one.stream_id
        for one in known.values()
        if prefix in {one.evidence.prefix_hash} - {None} or os.path.basename(one.path) == name
    )


def test_what_was_never_seen_is_not_found() -> None:
    index = Index()

    assert index.stream(1) is None
    assert index.at_path(b"/a") is None
    assert index.at_locator(Locator(1, 1)) is None
    assert index.alike(b"hash of 16 bytes", b"/a") == []
    assert index.remove(1) is None
