"""Chunked mode: groups of turns with overlap, without loss and without doubling."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.talk import WIDE, Talk, as_it_is, call, planned, result, texts
from retaind.core.cadence import Cadence, plan_chunked
from retaind.core.messages import Message, tokens
from retaind.core.plan import Carry, Counts, Limits, Plan, Window
from retaind.core.policy import RetainPolicy
from retaind.core.render import render

POLICY = RetainPolicy()


def chunked(
    window: Window,
    carry: Carry,
    cadence: Cadence,
    talk: Talk,
    *,
    force: bool = False,
    policy: RetainPolicy = POLICY,
    limits: Limits = WIDE,
) -> Plan:
    """Plan as a caller does: it reads the overlap again from where the carry says."""
    since = carry.overlap_start(cadence.overlap_turns)
    overlap = tuple(
        record
        for record in talk.records
        if since is not None and since <= record.start < window.start
    )
    return plan_chunked(
        carry, window, policy, limits, as_it_is, cadence, overlap=overlap, force=force
    )


def add_turns(talk: Talk, *numbers: int) -> None:
    for number in numbers:
        talk.user(f"question {number}")
        talk.agent(f"answer {number}", message=f"m{number}")


def said(messages: Sequence[Message]) -> list[str]:
    return [message.text for message in messages]


def test_a_group_waits_until_the_turn_after_it_has_started() -> None:
    talk = Talk()
    cadence = Cadence(every_n_turns=2, overlap_turns=0)
    add_turns(talk, 1, 2)
    waiting = chunked(talk.window(), Carry(), cadence, talk)
    add_turns(talk, 3)
    made = chunked(talk.window(), Carry(), cadence, talk)

    assert waiting == Plan((), 0, Carry(), Counts(), ())
    assert texts(made) == ["question 1", "answer 1", "question 2", "answer 2"]
    assert made.offset == talk.records[4].start
    assert made.counts == Counts(4, 4, 2, 4, {})


@pytest.mark.parametrize("closed", [True, False])
def test_a_forced_flush_and_a_closed_generation_leave_nothing_behind(closed: bool) -> None:  # noqa: FBT001 -- a table's column
    talk = Talk()
    add_turns(talk, 1, 2, 3)
    made = chunked(talk.window(closed=closed), Carry(), Cadence(2, 0), talk, force=not closed)

    assert [len(document.messages) for document in made.documents] == [4, 2]
    assert made.offset == talk.end


def test_what_follows_a_flush_in_the_middle_of_a_turn_opens_the_next_group() -> None:
    talk = Talk()
    cadence = Cadence(every_n_turns=2, overlap_turns=1)
    add_turns(talk, 1, 2)
    first = chunked(talk.window(), Carry(), cadence, talk, force=True)
    talk.agent("more of answer 2", message="m2b")
    add_turns(talk, 3, 4, 5)
    second = chunked(talk.window(first.offset), first.carry, cadence, talk)

    assert texts(second) == ["more of answer 2", "question 3", "answer 3", "question 4", "answer 4"]
    assert said(second.documents[0].context) == ["question 2", "answer 2"]
    assert [message.turn for message in second.documents[0].messages] == [1, 2, 2, 3, 3]


def test_the_last_turns_before_a_group_are_its_context() -> None:
    talk = Talk()
    add_turns(talk, 1, 2, 3, 4, 5)
    cadence = Cadence(every_n_turns=2, overlap_turns=1)
    first = chunked(talk.window(), Carry(), cadence, talk)
    add_turns(talk, 6, 7)
    second = chunked(talk.window(first.offset), first.carry, cadence, talk)

    assert [said(document.context) for document in first.documents] == [
        [],
        ["question 2", "answer 2"],
    ]
    assert first.carry.overlap_start(1) == talk.records[6].start
    assert said(second.documents[0].context) == ["question 4", "answer 4"]
    assert [message.turn for message in second.documents[0].context] == [3, 3]
    content = render(second.documents[0], POLICY).content
    assert content.index("answer 4") < content.index("question 5")
    assert second.counts == Counts(4, 4, 2, 4, {})


def test_results_of_tools_are_no_context_since_their_call_may_have_been_dropped() -> None:
    talk = Talk()
    talk.agent(call("mcp__memory__recall", "t1", query="tea"), message="m0")
    talk.user("wait")
    talk.user(result("t1", "the user likes tea"))
    add_turns(talk, 2, 3)
    cadence = Cadence(every_n_turns=1, overlap_turns=1)
    full = RetainPolicy(tools="full")
    first = chunked(
        Window(0, talk.records[3].start, tuple(talk.records[:3])),
        Carry(), cadence, talk, force=True, policy=full,
    )  # fmt: skip
    second = chunked(talk.window(first.offset), first.carry, cadence, talk, policy=full)

    assert said(second.documents[0].context) == ["wait"]
    assert not any("tea" in render(one, full).content for one in second.documents)


def test_a_large_context_is_shortened_and_documents_stay_within_their_limit() -> None:
    talk = Talk()
    for turn in range(6):
        talk.user(f"question {turn} " + "x" * 700)
        talk.agent("y" * 900, message=f"m{turn}a")
        talk.agent(f"answer {turn}", message=f"m{turn}b")
    made = chunked(talk.window(), Carry(), Cadence(2, 2), talk, force=True, limits=Limits(400))

    assert all(tokens(render(document, POLICY).content) <= 400 for document in made.documents)
    assert [said(one.context) for one in made.documents if one.context] == [
        ["answer 1"],
        ["answer 3"],
    ]


def test_a_record_written_twice_is_planned_once_though_two_groups_hold_it() -> None:
    talk = Talk()
    add_turns(talk, 1, 2)
    talk.again(talk.records[0])
    made = chunked(talk.window(), Carry(), Cadence(1, 0), talk, force=True)

    assert texts(made) == ["question 1", "answer 1", "question 2", "answer 2"]
    assert made.counts.dropped == {"duplicate": 1}


def test_secrets_in_a_context_are_not_counted_again() -> None:
    talk = Talk()
    cadence = Cadence(every_n_turns=1, overlap_turns=1)
    add_turns(talk, 1, 2, 3)
    made = plan_chunked(
        Carry(),
        talk.window(),
        POLICY,
        WIDE,
        lambda text: (text.replace("question", "[q]"), {"q": text.count("question")}),
        cadence,
    )

    assert [render(document, POLICY).redacted.get("q") for document in made.documents] == [1, 1]
    assert "question" not in render(made.documents[1], POLICY).content


def test_planning_without_cadence_forgets_where_turns_began() -> None:
    talk = Talk()
    add_turns(talk, 1, 2)
    first = chunked(talk.window(), Carry(), Cadence(1, 1), talk)
    second = planned(talk.window(first.offset), first.carry)

    assert first.carry.overlap_start(1) == 0
    assert second.carry.overlap_start(1) is None


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["turn", "answer", "long answer", "result", "aside", "again"]),
        st.booleans(),
        st.booleans(),
    ),
    max_size=30,
)


def take_step(talk: Talk, what: str, number: int) -> None:
    if what == "turn":
        talk.user(f"question {number}")
    elif what == "result":
        talk.user(result("t1"))
    elif what == "again" and talk.records:
        talk.again(talk.records[number * 7 % len(talk.records)])
    elif what.endswith("answer"):
        size = 60 if what == "long answer" else 1
        talk.agent(f"answer {number} " * size, message=f"m{number}")
    else:
        talk.aside()


@settings(deadline=None)  # on a busy machine one example may take long
@given(STEPS, st.integers(1, 3), st.integers(0, 3), st.integers(100, 2000))
def test_neither_drift_nor_a_forced_flush_loses_or_doubles_a_turn(
    steps: list[tuple[str, bool, bool]], every: int, overlap: int, limit: int
) -> None:
    talk, cadence = Talk(), Cadence(every, overlap)
    carry, offset, counts, owned = Carry(), 0, Counts(), set[int]()
    messages: list[Message] = []
    for number, (what, look, force) in enumerate([*steps, ("aside", True, True)]):
        take_step(talk, what, number)
        if not look:
            continue
        window = talk.window(offset, duplicates=frozenset(owned))
        made = chunked(window, carry, cadence, talk, force=force, limits=Limits(limit))
        assert all(tokens(render(one, POLICY).content) <= limit for one in made.documents)
        messages += [message for one in made.documents for message in one.messages]
        counts += made.counts
        owned.update(made.keys)
        carry, offset = Carry.decode(made.carry.encode()), made.offset

    whole = [message for one in planned(talk.window()).documents for message in one.messages]
    assert offset == talk.end
    assert "".join(said(messages)) == "".join(said(whole))
    assert [one.turn for one in messages if one.is_first] == [one.turn for one in whole]
    assert counts == planned(talk.window()).counts
