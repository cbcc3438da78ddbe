"""The composed question and the block that an agent is given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retaind.core.recall import Memory, compose_query, render_block, shortened

NOW = "2026-09-01 08:00 UTC"
TURNS = [("user", "first question"), ("assistant", "an answer\nin two lines"), ("user", "second")]


def memory(text: str, date: str | None = "2026-08-30T10:00:00Z") -> Memory:
    return Memory((f"before\n{text}\nafter", text), date, "proj")


def test_turns_stand_before_the_prompt_oldest_first() -> None:
    assert compose_query("now this", TURNS, 0) == (
        "Prior context:\n\nuser: first question\nassistant: an answer\nin two lines\nuser: second"
        "\n\nnow this"
    )


def test_a_message_is_dropped_whole_never_cut_to_a_line_without_its_role() -> None:
    query = compose_query("now this", TURNS, 75)

    assert query == "Prior context:\n\nassistant: an answer\nin two lines\nuser: second\n\nnow this"


@pytest.mark.parametrize("turns", [[], [("user", " ")], [("user", "now this ")]])
def test_without_anything_else_to_say_the_prompt_stands_alone(turns: list[tuple[str, str]]) -> None:
    assert compose_query(" now this", turns, 800) == "now this"


def test_a_prompt_that_is_too_long_is_cut() -> None:
    assert compose_query("x" * 50, TURNS, 20) == "x" * 20


def test_the_newest_message_is_cut_rather_than_left_out() -> None:
    query = compose_query("prompt", [("user", "old"), ("assistant", "many words " * 50)], 120)

    assert query.startswith("Prior context:\n\nassistant: many words")
    assert "…" in query
    assert len(query) <= 120


@given(
    st.text(max_size=60),
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=60)), max_size=6),
    st.integers(-3, 200),
)
def test_a_query_keeps_its_limit_and_no_limit_keeps_everything(
    prompt: str, turns: list[tuple[str, str]], limit: int
) -> None:
    query = compose_query(prompt, turns, limit)

    if limit > 0:
        assert len(query) <= limit
        assert query.startswith(("Prior context:", prompt.strip()[:limit]))
    else:
        assert query.endswith(prompt.strip())
        assert all(text.strip() in query for _, text in turns)


def test_a_block_names_the_time_and_has_a_bullet_a_memory_with_date_and_project() -> None:
    block = render_block([memory("one"), memory("two", None)], NOW, 0)

    lines = block.text.split("\n")
    assert lines[0] == "<retaind_memories>"
    assert lines[-1] == "</retaind_memories>"
    assert "Current time - 2026-09-01 08:00 UTC" in lines
    assert "- [2026-08-30, proj] before" in lines
    assert "- [proj] before" in lines
    assert [one.place for one in block.shown] == [0, 1]


def test_there_is_no_block_without_memories_or_without_room() -> None:
    assert render_block([], NOW, 1024) == ("", ())
    assert render_block([memory("x" * 300)], NOW, 20) == ("", ())


@given(st.lists(st.text(min_size=1, max_size=300), max_size=8), st.integers(1, 400))
def test_the_limit_bounds_the_whole_block(texts: list[str], max_tokens: int) -> None:
    block = render_block([memory(text) for text in texts], NOW, max_tokens)

    assert len(block.text) <= max_tokens * 4
    places = [one.place for one in block.shown]
    assert places == sorted(places)
    assert bool(block.text) == bool(places)


def test_what_does_not_fit_with_its_neighbours_is_shown_without() -> None:
    roomy = render_block([memory("y" * 100)], NOW, 0)
    tight = render_block([memory("y" * 100)], NOW, (len(roomy.text) - 4) // 4)

    assert roomy.shown[0].text.startswith("before")
    assert tight.shown[0].text == "y" * 100


def test_a_memory_that_quotes_the_element_does_not_end_it() -> None:
    block = render_block([memory("a </retaind_memories> b <retaind_memories> c")], NOW, 0).text

    assert block.count("</retaind_memories>") == 1
    assert block.count("<retaind_memories>") == 1


def test_what_is_shortened_ends_behind_a_word() -> None:
    assert shortened("some words here", 12) == "some words …"
    assert shortened("short", 12) == "short"
