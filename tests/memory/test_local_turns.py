"""Recall gives turns: what was found, with the answer that came later, as far as the room goes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory.remembered import NOW, Local, local, paragraph, talk
from retaind.memory.local import recall

FINDING = "Confirmed: the tax service is called per item; batching brings a cart from 31 s to 0.4 s"


@pytest.fixture(name="memory")
def _memory(tmp_path: Path) -> Iterator[Local]:
    with local(tmp_path) as opened:
        for n in range(30):
            opened.take(
                talk(
                    ("user", f"please fix the build of module m{n}"),
                    ("assistant", f"the build of module m{n} works again"),
                    session=f"other{n}",
                )
            )
        yield opened


def checkout(memory: Local, between: int = 3, filler: str = "") -> None:
    steps = [("assistant", f"> Bash rg checkout {n}\n> Read f{n}.py") for n in range(between)]
    memory.take(
        talk(
            ("user", "why was checkout slow on Tuesday"),
            ("assistant", "I will profile it " + filler),
            *steps,
            ("assistant", FINDING),
            ("user", "thanks, and now to something else entirely"),
            ("assistant", "sure"),
            session="shop",
        )
    )


@pytest.mark.parametrize("max_tokens", [200, 512, 1024, 0])
def test_the_answer_at_the_end_of_the_turn_is_given_with_the_question(
    memory: Local, max_tokens: int
) -> None:
    checkout(memory)

    found = memory.recall("why was checkout slow", max_tokens=max_tokens)

    assert FINDING in found.results[0].text
    assert "rg checkout" not in found.block
    assert not max_tokens or len(found.block) <= 4 * max_tokens


def test_where_there_is_little_room_the_last_message_comes_before_the_ones_between(
    memory: Local,
) -> None:
    checkout(memory, filler=paragraph("progress"))

    text = memory.recall("why was checkout slow", max_tokens=220).results[0].text

    assert FINDING in text
    assert "progress050" not in text


def test_words_that_are_spread_over_a_turn_count_together(memory: Local) -> None:
    checkout(memory)
    memory.take(talk(("user", "checkout of the library book"), session="one"))
    memory.take(talk(("user", "tax office opening hours"), session="two"))

    found = memory.recall("checkout tax", max_tokens=1024)

    assert found.results[0].session_id == "shop"


def test_a_session_that_has_the_other_words_of_the_question_comes_first(memory: Local) -> None:
    for session, subject in (("a", "zeppelin"), ("b", "submarine")):
        memory.take(
            talk(
                ("user", f"let us talk about the {subject}"),
                ("assistant", "gladly"),
                ("user", "which colour is the hull"),
                ("assistant", f"it is {session}-coloured"),
                session=session,
            )
        )

    found = memory.recall("colour of the submarine hull", max_tokens=1024)

    assert "b-coloured" in found.results[0].text


def test_room_that_few_turns_leave_is_used_for_what_was_said_around_them(memory: Local) -> None:
    memory.take(
        talk(
            ("user", "where does the walrus sleep"),
            ("assistant", "step one " + paragraph("first")),
            ("assistant", "step two " + paragraph("second")),
            ("assistant", "on the ice"),
        )
    )

    text = memory.recall("walrus", max_tokens=1024).results[0].text

    assert all(part in text for part in ("first080", "second080", "on the ice"))


def test_a_message_of_several_pieces_is_shown_in_one(memory: Local) -> None:
    long = " ".join(f"part{n:04d}" for n in range(400))
    memory.take(talk(("user", "tell the walrus story"), ("assistant", long)))

    text = memory.recall("walrus story", max_tokens=4096).results[0].text

    assert long in text


def test_what_was_given_before_is_not_given_again_and_the_rest_is(memory: Local) -> None:
    checkout(memory)
    first = memory.recall("why was checkout slow", max_tokens=512)

    again = recall(memory.reader, "tax service batching", now=NOW, max_tokens=512, given=first.keys)

    assert FINDING not in again.block


def test_a_turn_that_reaches_over_the_edge_of_a_document_is_one(tmp_path: Path) -> None:
    from retaind.memory.local import Limits

    with local(tmp_path, Limits(batch_tokens=300)) as memory:
        memory.take(talk(("user", "why is the walrus slow " + paragraph("q"))))
        memory.take(talk(("assistant", "because of the ice " + paragraph("a")), start=100))

        assert "because of the ice" in memory.recall("why walrus slow", 2000).results[0].text


def test_a_question_in_other_words_is_answered_behind_one_in_the_same_words(memory: Local) -> None:
    memory.take(talk(("user", "wishlist quota"), ("assistant", "the cap is 25"), session="one"))
    memory.take(talk(("user", "maximum of wishlists"), ("assistant", "forty"), session="two"))

    found = memory.recall("maximum wishlist entries", max_tokens=1024)

    assert [one.session_id for one in found.results] == ["two", "one"]
