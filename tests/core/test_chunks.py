"""Chunks: pieces of a text that do not change while it grows."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retaind.core.chunks import chunk_ends, chunk_hash, messages_in, pieces, separator

SIZE = 60
TEXTS = st.text(st.sampled_from('ab cd.\n\n[]:{},"é語 '), max_size=600)
MESSAGES = st.lists(
    st.tuples(st.sampled_from(["user", "assistant"]), st.text("ab .\n", min_size=1, max_size=150)),
    max_size=12,
)


def block(role: str, text: str) -> str:
    return f"[role: {role}]\n{text}\n[{role}:end]"


def blocks(messages: list[tuple[str, str]]) -> tuple[str, list[int]]:
    text, ends = "", []
    for role, said in messages:
        text += ("\n\n" if text else "") + block(role, said)
        ends.append(len(text))
    return text, ends


def chunks_of(text: str, size: int = SIZE, messages: list[int] | None = None) -> list[str]:
    return pieces(text, chunk_ends(text, size, messages or []))


@given(TEXTS)
def test_the_chunks_are_the_text_and_none_is_empty_or_too_large(text: str) -> None:
    chunks = chunks_of(text)

    assert "".join(chunks) == text
    assert all(0 < len(chunk) <= SIZE for chunk in chunks)


@given(TEXTS)
def test_a_chunk_cut_again_is_itself(text: str) -> None:
    assert all(chunks_of(chunk) == [chunk] for chunk in chunks_of(text))


@given(TEXTS, TEXTS)
def test_a_tail_changes_the_last_chunk_only(text: str, tail: str) -> None:
    before, after = chunks_of(text), chunks_of(text + tail)

    assert after[: len(before) - 1] == before[:-1]


@given(MESSAGES, st.data())
def test_it_cannot_be_seen_how_a_conversation_arrived(
    messages: list[tuple[str, str]], data: st.DataObject
) -> None:
    whole, ends = blocks(messages)
    settled: list[str] = []
    tail, at = "", 0
    tail_ends: list[int] = []
    while at < len(messages):
        count = data.draw(st.integers(1, len(messages) - at))
        added, added_ends = blocks(messages[at : at + count])
        between = separator(tail, added)
        tail_ends = tail_ends + [len(tail) + len(between) + end for end in added_ends]
        tail += between + added
        cut = chunks_of(tail, SIZE, tail_ends)
        settled += cut[:-1]
        gone = sum(map(len, cut[:-1]))
        tail, tail_ends = cut[-1], [end - gone for end in tail_ends if end > gone]
        at += count

    assert settled + ([tail] if tail else []) == chunks_of(whole, SIZE, ends)


@given(MESSAGES)
def test_no_message_is_cut_that_fits_in_a_chunk_with_what_separates_it(
    messages: list[tuple[str, str]],
) -> None:
    text, ends = blocks(messages)
    cuts = set(chunk_ends(text, SIZE, ends))

    for start, end in pairwise([0, *ends]):
        if end - start <= SIZE:
            assert not cuts & set(range(start + 2, end))


@given(st.lists(st.text("ab. ", min_size=1, max_size=SIZE - 1), min_size=1, max_size=20))
@example(["a", "a" * 58 + " ", "a"])
def test_no_line_is_cut_that_fits_in_a_chunk(lines: list[str]) -> None:
    text = "\n".join("x" + line[1:] for line in lines)

    line_ends = {end for end, one in enumerate(text) if one == "\n"} | {len(text)}
    assert set(chunk_ends(text, SIZE)) <= line_ends


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("a" * 40 + "\n\n" + "b" * 10 + "\n" + "c" * 40, "a" * 40),
        ("a" * 20 + "\n" + "b" * 90, "a" * 20),
        (
            "It is so. " * 4 + "Then it goes on and on without an end",
            "It is so. " * 3 + "It is so.",
        ),
        ("word " * 30, ("word " * 12).rstrip()),
        ("語" * 40 + "。" + "語" * 40, "語" * 40 + "。"),
        ("x" * 100, "x" * 60),
        ("[role: user]\n" + "word " * 30, ("[role: user]\n" + "word " * 9).rstrip()),
    ],
)
def test_a_large_text_is_cut_at_a_paragraph_a_line_a_sentence_or_a_word(
    text: str, first: str
) -> None:
    assert chunks_of(text)[0] == first


def test_messages_are_found_in_each_form_that_retaind_writes() -> None:
    plain = block("user", "one") + "\n\n" + block("assistant", "two [role: x]\n")
    lines = '{"role":"user","text":"one"}\n{"role":"tool","text":"two","timestamp":"2026-01-02"}'
    array = '[{"role":"user","content":[{"type":"text","text":"},{"}]},{"role":"assistant"}]'

    assert [one.role for one in messages_in(plain)] == ["user", "assistant"]
    assert [one.role for one in messages_in(lines)] == ["user", "tool"]
    assert messages_in(lines)[1].timestamp == "2026-01-02"
    assert [one.role for one in messages_in(array)] == ["user", "assistant"]
    assert [array[one.start : one.end][0] for one in messages_in(array)] == ["{", "{"]


@given(TEXTS)
def test_whatever_is_said_is_in_a_region(text: str) -> None:
    regions = messages_in(text)
    outside = text
    for one in reversed(regions):
        outside = outside[: one.start] + outside[one.end :]

    assert not outside.strip(" \r\n\t,[]")
    assert all(one.end <= other.start for one, other in pairwise(regions))


def test_openings_without_an_end_are_text_and_cost_no_more_for_being_many() -> None:
    text = "[role: user]\n" * 20_000

    assert [one.role for one in messages_in(text)] == [None]


def test_equal_texts_have_equal_hashes_of_16_bytes() -> None:
    assert chunk_hash("é") == chunk_hash("é")
    assert chunk_hash("é") != chunk_hash("e")
    assert len(chunk_hash("")) == 16
