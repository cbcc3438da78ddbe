"""Recall: what an agent is reminded of, and when it is better not reminded of anything."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memory.remembered import NOW, Local, local, note, paragraph, talk
from retaind.core.recall import compose_query
from retaind.memory.local import Limits, recall
from retaind.memory.port import Filters


@pytest.fixture(name="memory")
def _memory(tmp_path: Path) -> Iterator[Local]:
    with local(tmp_path) as opened:
        yield opened


def chatter(memory: Local, count: int = 30) -> None:
    """Fill the memory with talk about other things."""
    for n in range(count):
        memory.take(
            talk(
                ("user", f"please fix the build of module m{n}"),
                ("assistant", f"the build of module m{n} works again"),
                session=f"other{n}",
            )
        )


def test_a_hit_comes_with_what_was_said_before_and_after(memory: Local) -> None:
    memory.take(
        talk(
            ("user", "which port does the gateway use"),
            ("assistant", "it listens on 9077"),
            ("user", "thanks, write that down"),
            ("assistant", "done"),
            ("user", "what is for lunch"),
        )
    )

    text = memory.recall("is anything on 9077?").results[0].text
    assert text == (
        "user: which port does the gateway use\nassistant: it listens on 9077\n"
        "user: thanks, write that down\nassistant: done"
    )


def test_a_neighbour_is_found_across_the_edge_of_a_document(tmp_path: Path) -> None:
    with local(tmp_path, Limits(batch_tokens=300)) as memory:
        memory.take(talk(("user", paragraph("filler")), ("user", "the question before")))
        memory.take(talk(("assistant", "answer: walrus " + paragraph("more")), start=100))

        assert len(memory.rows("SELECT id FROM local_document")) > 1
        assert "the question before" in memory.recall("walrus").results[0].text


def test_tool_calls_are_no_neighbours(memory: Local) -> None:
    memory.take(
        talk(
            ("user", "where is the walrus defined"),
            ("assistant", "> Grep walrusdef\n> Read src/a.py"),
            ("tool", "< 12 matches"),
            ("assistant", "in the animal module"),
        )
    )

    text = memory.recall("walrus defined").results[0].text
    assert text == "user: where is the walrus defined\nassistant: in the animal module"


def test_no_message_is_shown_twice(memory: Local) -> None:
    memory.take(
        talk(
            ("user", "walrus one"),
            ("assistant", "walrus two"),
            ("user", "walrus three"),
            ("assistant", "walrus four"),
        )
    )
    memory.take(talk(("user", "walrus one"), session="copy", stream="copy"))

    block = memory.recall("walrus").block
    assert all(block.count(f"walrus {n}") == 1 for n in ("one", "two", "three", "four"))


def test_a_question_is_looked_up_by_its_telling_words(memory: Local) -> None:
    chatter(memory)
    memory.take(talk(("user", "Caroline went to the support group on Tuesday")))

    found = memory.recall("When did Caroline go to that support group that you told me about?")
    assert "on Tuesday" in found.results[0].text


def test_rare_words_tell_more_than_common_ones(memory: Local) -> None:
    chatter(memory)
    memory.take(talk(("user", "the zeppelin module is slow")))

    assert "zeppelin" in memory.recall("the build of the zeppelin module").results[0].text


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "yes please, do it",
        "ok thanks",
        "???",
        "how do I bake sourdough bread with rye in a module",
    ],
)
def test_noise_reminds_of_nothing(memory: Local, prompt: str) -> None:
    chatter(memory)

    assert memory.recall(prompt)[:2] == ((), "")


def test_of_what_tells_as_much_the_newer_comes_first(memory: Local) -> None:
    for session, day in (("old", "2025-01-01"), ("new", "2026-08-20"), ("older", "2024-01-01")):
        memory.take(talk(("user", f"the {session} walrus rule"), session=session, timestamp=day))

    found = memory.recall("walrus rule").results
    assert [one.session_id for one in found] == ["new", "old", "older"]


def test_words_of_the_context_tell_less_than_those_of_the_prompt(memory: Local) -> None:
    chatter(memory)
    memory.take(talk(("user", "the walrus sleeps"), session="context"))
    memory.take(talk(("user", "the zeppelin lands"), session="prompt"))

    asked = compose_query("tell me of the zeppelin", [("user", "we spoke of the walrus")], 800)
    found = memory.recall(asked).results
    assert [one.session_id for one in found] == ["prompt", "context"]


def test_what_was_said_at_the_time_that_is_asked_for_comes_first(memory: Local) -> None:
    for session, day in (("spring", "2026-04-10"), ("summer", "2026-07-10"), ("now", "2026-08-28")):
        memory.take(talk(("user", f"the walrus rule of {session}"), session=session, timestamp=day))

    found = memory.recall("which walrus rule did we have in April?").results
    assert [one.session_id for one in found] == ["spring", "now", "summer"]


def days(memory: Local) -> None:
    """Two days of work in two projects, and what a sub-agent did on the second."""
    for hour, session, project in [
        ("2026-08-27T10", "first", "shop"),
        ("2026-08-28T10", "second", "shop"),
        ("2026-08-28T12", "third", "lab"),
    ]:
        memory.take(
            talk(
                ("user", f"begin the {session} task"),
                ("assistant", f"the {session} task is begun"),
                ("user", f"end the {session} task"),
                ("assistant", f"the {session} task is done"),
                session=session,
                project=project,
                timestamp=f"{hour}:00:00Z",
            )
        )
    memory.take(talk(("user", "dig"), session="agent", kind="subagent", timestamp="2026-08-28"))


def test_a_question_for_a_time_alone_is_answered_by_what_was_said_then(memory: Local) -> None:
    days(memory)

    found = memory.recall("what did we do yesterday?").results

    assert [one.session_id for one in found] == ["third", "second", "agent"]
    assert found[1].text.split("\n") == [
        "user: begin the second task",
        "assistant: the second task is begun",
        "user: end the second task",
        "assistant: the second task is done",
    ]
    assert {one.session_id for one in memory.recall("recap 2026-08-27").results} == {"first"}
    assert memory.recall("what did we do in May?").results == ()


def test_of_a_time_the_end_is_told_first_where_room_is_little(memory: Local) -> None:
    days(memory)

    block = memory.recall("what did we do yesterday?", max_tokens=130).block

    assert "the third task is done" in block
    assert "the second task is done" in block
    assert "begun" not in block


def test_a_turn_that_reaches_over_the_edge_of_a_document_is_one(tmp_path: Path) -> None:
    with local(tmp_path, Limits(batch_tokens=300)) as memory:
        memory.take(
            talk(("user", "it is short"), session="short", timestamp="2026-08-28T10:00:00Z")
        )
        for n in range(4):
            said = ("assistant", f"long {n} " + paragraph(f"w{n}x"))
            item = talk(said, session="long", start=100 * n, timestamp="2026-08-28T12:00:00Z")
            memory.take(item)

        found = memory.recall("what did we do yesterday?").results

        assert len(memory.rows("SELECT id FROM local_document")) > 2
        assert [one.session_id for one in found] == ["long", "short"]


def test_what_is_asked_for_of_a_time_keeps_to_project_and_filters(memory: Local) -> None:
    days(memory)
    asked = "what did we do yesterday?"

    found = recall(memory.reader, asked, now=NOW, project="shop").results
    assert found[0].session_id == "second"
    others = memory.recall(asked, filters=Filters(exclude_sessions=("third",))).results
    assert [one.session_id for one in others] == ["second", "agent"]


def test_yesterday_is_that_of_the_place_where_it_is_asked(
    memory: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both on the 28th by UTC; now it is 10:40 on the 29th.
    for hour in ("T05:00:00Z", "T20:00:00Z"):
        memory.take(talk(("user", f"at {hour}"), session=hour, timestamp=f"2026-08-28{hour}"))
    try:
        monkeypatch.setenv("TZ", "XXX-14")  # 14 hours ahead of UTC: it is the 30th
        time.tzset()
        found = memory.recall("what did we do yesterday?").results
    finally:
        monkeypatch.undo()
        time.tzset()

    assert [one.session_id for one in found] == ["T20:00:00Z"]


def test_results_are_those_of_the_block_in_its_order(memory: Local) -> None:
    for n in range(12):
        memory.take(talk(("user", f"walrus {n} " + paragraph(f"w{n}x")), session=f"s{n}"))

    found = memory.recall("walrus", max_tokens=500)
    assert len(found.block) <= 2000
    assert 1 < len(found.results) < 12
    places = [found.block.index(one.text[:20]) for one in found.results]
    assert places == sorted(places)
    assert [one.score for one in found.results] == sorted(
        (one.score for one in found.results), reverse=True
    )
    assert all("walrus" in one.text for one in found.results)


def test_no_limit_shows_everything_and_a_limit_so_many(memory: Local) -> None:
    for n in range(12):
        memory.take(talk(("user", f"walrus {n} " + paragraph(f"w{n}x")), session=f"s{n}"))

    assert len(memory.recall("walrus", max_tokens=0).results) == 12
    assert len(memory.recall("walrus", max_tokens=-1).results) == 12
    assert len(memory.recall("walrus", limit=3).results) == 3


def test_a_long_message_is_shown_around_the_words(memory: Local) -> None:
    said = paragraph("before", 60) + " the walrus sleeps " + paragraph("after", 50)
    memory.take(talk(("user", said)))

    found = memory.recall("walrus", max_tokens=200)
    assert "the walrus sleeps" in found.block
    assert len(found.block) <= 800


def test_of_a_giant_message_the_piece_that_tells_most_is_shown(memory: Local) -> None:
    around = [paragraph(f"p{n}x") for n in range(8)]
    said = ["a walrus", *around[:4], "the walrus has lost its tusk", *around[4:], "walrus"]
    memory.take(talk(("user", "\n\n".join(said))))

    found = memory.recall("walrus tusk", max_tokens=200)
    assert "has lost its tusk" in found.block
    assert len(found.block) <= 800


def test_room_is_used_for_what_tells_less_and_the_best_comes_first(memory: Local) -> None:
    for n in range(60):
        memory.take(talk(("user", f"walrus number {n} sleeps"), session=f"s{n}"))
    memory.take(talk(("user", "the walrus has a tusk"), session="best"))

    found = memory.recall("walrus tusk", max_tokens=512)
    assert found.results[0].session_id == "best"
    assert 1700 < len(found.block) <= 2048


def test_what_was_said_between_two_hits_is_told_before_weaker_ones(memory: Local) -> None:
    for n in range(60):
        memory.take(talk(("user", f"the crew number {n} is on board"), session=f"s{n}"))
    memory.take(
        talk(
            ("user", "did the zeppelin land"),
            ("assistant", "yes, at noon"),
            ("user", "and where is the crew of the zeppelin"),
            session="best",
        )
    )

    found = memory.recall("when did the crew of the zeppelin arrive", max_tokens=150)
    assert "yes, at noon" in found.results[0].text


def test_what_has_other_tags_is_no_neighbour(tmp_path: Path) -> None:
    with local(tmp_path, Limits(batch_tokens=300)) as memory:
        said = talk(("user", "the walrus sleeps " + paragraph("shown") + paragraph("more")))
        memory.take(replace(said, tags=("public",)))
        hidden = talk(("assistant", "a secret beside it"), start=100)
        memory.take(replace(hidden, tags=("private",)))
        wanted = Filters(tags=("public",), tags_match="all_strict")

        assert len(memory.rows("SELECT id FROM local_document")) == 2
        block = memory.recall("walrus", filters=wanted).block
        assert "walrus" in block
        assert "secret" not in block


@pytest.mark.parametrize("max_tokens", range(90, 140, 10))
def test_a_long_memory_is_cut_to_the_little_room_there_is(memory: Local, max_tokens: int) -> None:
    memory.take(talk(("user", "the walrus sleeps " + paragraph("more"))))

    block = memory.recall("walrus", max_tokens=max_tokens).block
    assert "walrus" in block
    assert len(block) <= 4 * max_tokens


def test_the_asking_session_is_left_out(memory: Local) -> None:
    memory.take(talk(("user", "the walrus sings"), session="asking"))
    memory.take(talk(("user", "the walrus dances"), session="other"))

    found = memory.recall("walrus", filters=Filters(exclude_sessions=("asking",)))
    assert [one.session_id for one in found.results] == ["other"]


def test_a_small_memory_reminds_too(memory: Local) -> None:
    memory.take(talk(("user", "we deploy from the release branch")))

    assert memory.recall("which branch do we deploy from?").results
    assert memory.recall("wie wird deployt? branch?").results


def test_a_bullet_names_date_and_project(memory: Local) -> None:
    memory.take(talk(("user", "the walrus"), timestamp="2026-08-20T10:00:00Z"))
    memory.retain(note("a walrus noted"))

    block = memory.recall("walrus").block
    assert "- [2026-08-20, proj] user: the walrus" in block
    assert "- a walrus noted" in block
    assert "Current time - 2026-08-29" in block


def test_a_script_without_spaces_is_recalled(memory: Local) -> None:
    chatter(memory)
    memory.take(talk(("user", "全文検索のテストを書く")))

    assert "全文検索" in memory.recall("検索のテスト").results[0].text
