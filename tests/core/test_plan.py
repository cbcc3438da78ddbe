"""Rule R1: each item of a window is planned or dropped by name, however the file is cut into windows."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.talk import (
    WIDE,
    Talk,
    as_it_is,
    call,
    did,
    image,
    planned,
    result,
    text,
    texts,
    thinking,
)  # fmt: skip
from retaind.core.messages import Draft, Message, tokens
from retaind.core.plan import Carry, Counts, Limits, Plan, Window, plan
from retaind.core.policy import RetainPolicy
from retaind.core.reading import Kind, Redact, opens_turn
from retaind.core.records import Block, Fate
from retaind.core.render import render
from retaind.errors import StateDamaged

Planner = Callable[[Carry, Window, RetainPolicy, Limits, Redact], Plan]

NO_TOOLS = RetainPolicy(tools="none")
FULL = RetainPolicy(tools="full")


# The founding cases of R1. A fresh session hides the defect, so each has a second window.


def first_window(planner: Planner, talk: Talk, policy: RetainPolicy = NO_TOOLS) -> Plan:
    talk.user("Where is the tea?")
    talk.agent("In the cupboard.", message="m0")
    return planner(Carry(), talk.window(), policy, WIDE, as_it_is)


def several_human_turns_in_one_window_are_all_retained(planner: Planner) -> None:
    talk = Talk()
    first = first_window(planner, talk)
    for turn in ("one", "two", "three"):
        talk.user(f"question {turn}")
        talk.agent(f"answer {turn}", message=f"m-{turn}")
    second = planner(first.carry, talk.window(first.offset), NO_TOOLS, WIDE, as_it_is)

    assert texts(second) == [
        "question one", "answer one", "question two", "answer two", "question three", "answer three",
    ]  # fmt: skip
    assert second.offset == talk.end


def a_trailing_tool_result_swallows_nothing(planner: Planner) -> None:
    talk = Talk()
    first = first_window(planner, talk)
    talk.user("Run the tests.")
    talk.agent("Running them.", message="m1")
    talk.agent(call("Bash", "t1", command="pytest"), message="m1")
    talk.user(result("t1", "12 passed"))
    second = planner(first.carry, talk.window(first.offset), NO_TOOLS, WIDE, as_it_is)

    assert texts(second) == ["Run the tests.", "Running them."]
    assert second.offset == talk.end


def interleaved_tool_results_keep_all_of_the_agents_text(planner: Planner) -> None:
    talk = Talk()
    first = first_window(planner, talk)
    talk.user("Fix it.")
    for step in range(3):
        talk.agent(f"step {step}", message=f"m{step + 1}")
        talk.agent(call("Bash", f"t{step}", command="make"), message=f"m{step + 1}")
        talk.user(result(f"t{step}"))
    talk.agent("Fixed.", message="m9")
    second = planner(first.carry, talk.window(first.offset), NO_TOOLS, WIDE, as_it_is)

    assert texts(second) == ["Fix it.", "step 0", "step 1", "step 2", "Fixed."]


def nothing_that_was_planned_before_is_planned_again(planner: Planner) -> None:
    talk = Talk()
    first = first_window(planner, talk)
    talk.user("And the milk?")
    talk.agent("In the fridge.", message="m1")
    second = planner(first.carry, talk.window(first.offset), NO_TOOLS, WIDE, as_it_is)
    third = planner(second.carry, talk.window(second.offset), NO_TOOLS, WIDE, as_it_is)

    assert texts(first) == ["Where is the tea?", "In the cupboard."]
    assert texts(second) == ["And the milk?", "In the fridge."]
    assert third.documents == ()


def a_tool_only_window_sends_nothing_and_commits(planner: Planner) -> None:
    talk = Talk()
    first = first_window(planner, talk)
    talk.agent(call("Bash", "t1", command="ls"), message="m1")
    talk.user(result("t1"))
    second = planner(first.carry, talk.window(first.offset), NO_TOOLS, WIDE, as_it_is)

    assert second.documents == ()
    assert second.offset == talk.end
    assert second.counts.dropped == {"empty": 1, "tool_result": 1}
    assert (second.counts.records, second.counts.planned) == (2, 0)


def every_item_of_a_second_window_is_accounted_for(planner: Planner) -> None:
    talk = Talk()
    first = first_window(planner, talk)
    talk.user("Again?")
    talk.aside()
    talk.agent("Again.", message="m1")
    talk.user(result("t0"))
    second = planner(first.carry, talk.window(first.offset), NO_TOOLS, WIDE, as_it_is)

    assert (second.counts.records, second.counts.planned) == (4, 2)
    assert second.counts.dropped == {"transport": 1, "tool_result": 1}
    assert [(one.start, one.end) for one in second.documents] == [(first.offset, talk.end)]


FOUNDING = (
    several_human_turns_in_one_window_are_all_retained,
    a_trailing_tool_result_swallows_nothing,
    interleaved_tool_results_keep_all_of_the_agents_text,
    nothing_that_was_planned_before_is_planned_again,
    a_tool_only_window_sends_nothing_and_commits,
    every_item_of_a_second_window_is_accounted_for,
)


@pytest.mark.parametrize("case", FOUNDING, ids=lambda case: case.__name__)
def test_the_whole_unprocessed_suffix_is_planned(case: Callable[[Planner], None]) -> None:
    case(plan)


def last_turn_only(
    carry: Carry, window: Window, policy: RetainPolicy, limits: Limits, redact: Redact
) -> Plan:
    """Plan as the defect did: from the last user's record on, unless the session is new."""
    whole = plan(carry, window, policy, limits, redact)
    users = [record for record in window.records if record.role == "user"]
    if window.start == 0 or not users:
        return whole
    since = users[-1].start
    rest = tuple(record for record in window.records if record.start >= since)
    narrowed = plan(carry, replace(window, start=since, records=rest), policy, limits, redact)
    return replace(narrowed, offset=whole.offset)


def failing(cases: Sequence[Callable[[Planner], None]], planner: Planner) -> list[str]:
    failed = []
    for case in cases:
        try:
            case(planner)
        except AssertionError:
            failed.append(case.__name__)
    return failed


def test_narrowing_to_the_last_turn_would_be_noticed() -> None:
    failed = failing(FOUNDING, last_turn_only)

    assert len(failed) >= 3, failed
    assert "a_trailing_tool_result_swallows_nothing" in failed


# Rule R2, through the plan: which of a user's records start a turn.

MEMORIES = "<hindsight_memories>\nthe user likes tea\n</hindsight_memories>"

BOUNDARIES: dict[str, tuple[tuple[Block | str, ...], bool]] = {
    "plain text": (("hello",), True),
    "blank text": (("  \n ",), False),
    "memories only": ((MEMORIES,), False),
    "memories and text": ((MEMORIES + "hello",), True),
    "a channel's envelope": (('<channel source="chat">hello</channel>',), True),
    "an empty envelope": (("<channel></channel>",), False),
    "a tool's result": ((result("t"),), False),
    "a tool's result and text": ((result("t"), text("stop")), True),
    "a tool's result and blank text": ((result("t"), text("  ")), False),
    "text blocks": ((text("a"), text("b")), True),
    "an image": ((image(),), False),
    "an image and text": ((image(), text("what is this?")), True),
    "nothing": ((), False),
    "a tool call": ((call("mcp__chat__send", text="hi"),), False),
    "a reminder": (("<system-reminder>be brief</system-reminder>",), False),
    "a command's echo": (("<command-name>/clear</command-name>",), False),
}


def boundary_case(name: str) -> Callable[[Planner], None]:
    content, starts = BOUNDARIES[name]

    def case(planner: Planner) -> None:
        talk = Talk()
        talk.user("before")
        talk.user(*content)
        talk.agent("answer", message="m1")
        made = planner(Carry(), talk.window(), RetainPolicy(), WIDE, as_it_is)
        assert made.counts.turns == 1 + starts

    case.__name__ = name
    return case


@pytest.mark.parametrize("name", BOUNDARIES)
def test_only_what_a_person_says_starts_a_turn(name: str) -> None:
    boundary_case(name)(plan)


def every_user_record_is_a_turn(
    carry: Carry, window: Window, policy: RetainPolicy, limits: Limits, redact: Redact
) -> Plan:
    made = plan(carry, window, policy, limits, redact)
    users = sum(record.role == "user" for record in window.records)
    return replace(made, counts=replace(made.counts, turns=users))


def test_counting_every_user_record_as_a_turn_would_be_noticed() -> None:
    failed = failing([boundary_case(name) for name in BOUNDARIES], every_user_record_is_a_turn)

    assert len(failed) >= 5, failed


# Messages.


def test_lines_of_one_message_become_one_message() -> None:
    talk = Talk()
    talk.user("Go.")
    first = talk.agent(thinking(), message="m1")
    talk.aside()
    talk.agent("Looking.", message="m1")
    talk.agent(call("Read", "t1", file_path="/a.py"), message="m1")
    last = talk.agent(call("Bash", "t2", command="ls\n-la"), message="m1")
    made = planned(talk.window())

    message = made.documents[0].messages[1]
    assert message.text == "Looking."
    assert [(action.name, action.body) for action in message.actions] == [
        ("Read", "/a.py"),
        ("Bash", "ls"),
    ]
    assert (message.start, message.end) == (first.end + 40, last.end)
    assert made.counts == Counts(3, 2, 1, 2, {"transport": 1})


def test_a_message_counts_once_when_a_window_ends_inside_it() -> None:
    talk = Talk()
    talk.agent(thinking(), message="m1")
    first = planned(talk.window())
    talk.aside()
    talk.agent("Now I know.", message="m1")
    second = planned(talk.window(first.offset), first.carry)
    talk.agent("And more.", message="m1")
    third = planned(talk.window(second.offset), second.carry)

    assert first.counts == Counts(1, 0, 0, 0, {"empty": 1})
    assert second.counts == Counts(1, 1, 0, 1, {"empty": -1, "transport": 1})
    assert third.counts == Counts(0, 0, 0, 0, {})
    assert texts(third) == ["And more."]
    assert [document.planned for document in (*second.documents, *third.documents)] == [1, 0]


def test_tool_results_may_stand_between_the_lines_of_a_message() -> None:
    talk = Talk()
    talk.agent("One.", call("Read", "t1", path="/a"), message="m1")
    talk.user(result("t1", "found"))
    talk.agent("Two.", message="m1")
    summary = planned(talk.window())
    full = planned(talk.window(), policy=FULL)

    assert texts(summary) == ["One.\nTwo."]
    assert summary.counts == Counts(2, 1, 0, 1, {"tool_result": 1})
    assert [message.is_first for message in full.documents[0].messages] == [True, True, False]
    assert full.counts == Counts(2, 1, 0, 2, {})
    assert did(full)[1] == ("result", "", "found")


def test_a_message_id_that_comes_back_after_a_turn_is_another_message() -> None:
    talk = Talk()
    talk.agent("One.", message="m1")
    talk.user("Wait.")
    talk.agent("Two.", message="m1")

    for policy in (RetainPolicy(), RetainPolicy(roles=("assistant",))):
        made = planned(talk.window(), policy=policy)
        assert made.counts.records == 3
        assert [text for text in texts(made) if text != "Wait."] == ["One.", "Two."]


def test_a_message_whose_first_line_is_a_duplicate_does_not_join_an_earlier_one() -> None:
    talk = Talk()
    line = talk.agent("One.", message="m1")
    talk.user("Wait.")
    talk.again(line)
    talk.agent("Two.", message="m1")
    made = planned(talk.window(), policy=RetainPolicy(roles=("assistant",)))

    assert texts(made) == ["One.", "Two."]
    assert made.counts == Counts(3, 3, 1, 2, {"role": 1})


def test_turns_are_numbered_through_all_windows() -> None:
    talk = Talk()
    talk.agent("Welcome.", message="m0")
    talk.user("one")
    talk.agent("answer", message="m1")
    first = planned(talk.window())
    talk.agent("more", message="m2")
    talk.user("two")
    second = planned(talk.window(first.offset), first.carry)

    turns = [message.turn for made in (first, second) for message in made.documents[0].messages]
    assert turns == [0, 0, 0, 0, 1]
    assert [message.starts_turn for message in second.documents[0].messages] == [False, True]


# What is dropped, and by which name.


def test_what_is_no_conversation_is_dropped_under_its_own_name() -> None:
    talk = Talk()
    talk.aside()
    talk.aside(Fate.MARKER, "")
    talk.aside(Fate.UNKNOWN, "")
    talk.aside(Fate.CORRUPT, "nul")
    talk.aside(Fate.CORRUPT, "")
    for reason in ("meta", "sidechain", "compact_summary", "synthetic"):
        talk.user("not a person's words", reason=reason)
    made = planned(talk.window())

    assert made.documents == ()
    assert made.keys == ()
    assert made.counts == Counts(
        9, 0, 0, 0,
        dict.fromkeys(
            ("transport", "marker", "unknown", "nul", "corrupt",
             "meta", "sidechain", "compact_summary", "synthetic"), 1,
        ),
    )  # fmt: skip


def test_a_subagents_own_stream_is_a_conversation() -> None:
    talk = Talk()
    talk.user("Find the bug.", reason="sidechain")
    talk.agent("Found it.", message="m1", reason="sidechain")
    talk.user("a skill's body", reason="meta")
    made = planned(talk.window(kind="subagent"))

    assert texts(made) == ["Find the bug.", "Found it."]
    assert made.counts == Counts(3, 2, 1, 2, {"meta": 1})


def test_a_memorys_own_tools_are_dropped_with_their_results_in_a_later_window() -> None:
    talk = Talk()
    talk.user("What did we decide?")
    talk.agent(call("mcp__memory__recall", "t1", query="decision"), message="m1")
    first = planned(talk.window(), policy=FULL)
    talk.user(result("t1", "tea"))
    talk.agent("Tea.", message="m2")
    second = planned(talk.window(first.offset), first.carry, FULL)

    assert first.counts.dropped == second.counts.dropped == {"memory_tool": 1}
    assert first.carry.due == ("t1",)
    assert second.carry.due == ()
    assert texts(second) == ["Tea."]
    assert did(first) == did(second) == []


def test_only_the_latest_of_very_many_unanswered_calls_are_remembered() -> None:
    talk = Talk()
    for nth in range(1000):
        talk.agent(call("mcp__memory__recall", f"t{nth}"), message=f"m{nth}")
    due = planned(talk.window()).carry.due

    assert 10 <= len(due) <= 100
    assert due[-1] == "t999"


def test_what_an_agent_sends_to_a_person_is_text_and_not_an_action() -> None:
    talk = Talk()
    talk.agent(call("mcp__chat__reply", "t1", text="On my way."), message="m1")

    for policy in (NO_TOOLS, RetainPolicy(), FULL):
        made = planned(talk.window(), policy=policy)
        assert texts(made) == ["On my way."]
        assert did(made) == []


def test_roles_and_short_texts_are_dropped_by_policy() -> None:
    talk = Talk()
    talk.user("y")
    talk.agent("A long answer.", message="m1")

    only_user = planned(talk.window(), policy=RetainPolicy(roles=("user",)))
    assert only_user.counts == Counts(2, 2, 1, 1, {"role": 1})
    long_only = planned(talk.window(), policy=RetainPolicy(min_chars=5))
    assert long_only.counts == Counts(2, 2, 1, 1, {"too_short": 1})
    assert texts(long_only) == ["A long answer."]


def test_a_record_that_is_owned_already_is_a_duplicate() -> None:
    parent = Talk()
    parent.user("one")
    parent.agent("two", message="m1")
    owned = planned(parent.window())
    child = Talk()
    for record in parent.records:
        child.again(record)
    child.user("three")
    child.again(child.records[-1])
    made = planned(child.window(duplicates=frozenset(owned.keys)))

    assert len(owned.keys) == 2
    assert texts(made) == ["three"]
    assert made.counts == Counts(4, 4, 3, 1, {"duplicate": 3})
    assert len(made.keys) == 1


def test_a_duplicate_call_of_a_memorys_tool_still_drops_a_fresh_result() -> None:
    talk = Talk()
    recall = talk.agent(call("mcp__memory__recall", "t1"), message="m1")
    talk.user(result("t1", "tea"))
    made = planned(talk.window(duplicates=frozenset({recall.key})), policy=FULL)

    assert made.documents == ()
    assert made.counts.dropped == {"duplicate": 1, "memory_tool": 1}


def test_records_without_identity_are_never_owned() -> None:
    talk = Talk()
    talk.user("same")
    talk.records = [msgspec.structs.replace(talk.records[0], key=0)]
    talk.again(talk.records[0])
    made = planned(talk.window())

    assert texts(made) == ["same", "same"]
    assert made.keys == ()


def test_an_empty_window_plans_nothing() -> None:
    assert planned(Window(7, 9, ())) == Plan((), 9, Carry(), Counts(), ())


# The carry.


def test_the_carry_survives_as_bytes() -> None:
    carry = Carry("m1", "planned", True, ("t1",), 4, "/home", (10, 20))

    assert Carry.decode(carry.encode()) == carry
    assert Carry.decode(b"") == Carry()
    with pytest.raises(StateDamaged):
        Carry.decode(b"[")


def test_the_first_cwd_is_pinned() -> None:
    talk = Talk()
    talk.user("one")
    first = planned(talk.window())
    talk.records.append(
        msgspec.structs.replace(
            talk.user("two"), cwd="/elsewhere", start=talk.end, end=talk.end + 10
        )
    )
    second = planned(talk.window(first.offset), first.carry)

    assert first.carry.cwd == second.carry.cwd == "/home/dev/work/proj"


def test_the_carry_is_small_whatever_a_transcript_holds() -> None:
    talk = Talk()
    for nth in range(300):
        talk.agent(call("mcp__memory__recall", f"{nth}" * 5000), message="m" * 100_000)
    talk.records[0] = msgspec.structs.replace(talk.records[0], cwd="/x" * 100_000)

    assert len(planned(talk.window()).carry.encode()) < 16_384


# Documents within their limit.


def test_documents_are_cut_between_turns() -> None:
    talk = Talk()
    for turn in range(6):
        talk.user(f"question {turn} " + "x" * 400)
        talk.agent("answer " + "y" * 400, message=f"m{turn}")
    made = planned(talk.window(), limits=Limits(500))

    assert [len(document.messages) for document in made.documents] == [4, 4, 4]
    assert all(document.messages[0].starts_turn for document in made.documents)


def test_a_turn_that_is_too_large_is_cut_between_messages() -> None:
    talk = Talk()
    talk.user("Go.")
    for step in range(6):
        talk.agent("step " + "z" * 900, message=f"m{step}")
    made = planned(talk.window(), limits=Limits(500))

    assert [len(document.messages) for document in made.documents] == [3, 2, 2]


def test_a_message_that_is_too_large_is_cut_at_a_paragraph_else_a_line_else_a_space() -> None:
    for mark in ("\n\n", "\n", " "):
        talk = Talk()
        said = mark.join(["w" * 50] * 200)
        record = talk.agent(said, message="m1")
        made = planned(talk.window(), limits=Limits(500))

        parts = [document.messages[0] for document in made.documents]
        assert "".join(part.text for part in parts) == said
        assert all(part.text.endswith(mark) for part in parts[:-1])
        assert [part.is_first for part in parts] == [True] + [False] * (len(parts) - 1)
        assert [part.start for part in parts] == sorted({part.start for part in parts})
        assert (parts[0].start, parts[-1].end) == (record.start, record.end)
        assert made.counts.planned == 1


def test_a_cut_never_falls_inside_a_character() -> None:
    talk = Talk()
    said = "é漢😀" * 2000
    talk.agent(said, message="m1")
    made = planned(talk.window(), limits=Limits(100))

    assert "".join(texts(made)) == said
    assert len(made.documents) > 10


def test_a_secret_is_taken_out_before_a_cut_could_hide_half_of_it() -> None:
    def redact(what: str) -> tuple[str, dict[str, int]]:
        found = what.count("BEGIN\n" + "KEY\n" * 300 + "END")
        return what.replace("BEGIN\n" + "KEY\n" * 300 + "END", "[key]"), {"key": found}

    talk = Talk()
    talk.user("x" * 1500 + "\nBEGIN\n" + "KEY\n" * 300 + "END\n" + "y" * 3000)
    made = planned(talk.window(), limits=Limits(500), redact=redact)

    assert len(made.documents) > 1
    assert not any("KEY" in said for said in texts(made))
    redacted = [render(document, RetainPolicy()).redacted for document in made.documents]
    assert [found.get("key", 0) for found in redacted] == [1] + [0] * (len(redacted) - 1)


def test_redaction_can_be_switched_off() -> None:
    talk = Talk()
    talk.user("hello")
    talk.agent(call("Bash", command="hello"), message="m1")

    made = planned(
        talk.window(), policy=RetainPolicy(redact=False), redact=lambda _: ("gone", {"all": 1})
    )
    assert texts(made) == ["hello"]
    made = planned(talk.window(), redact=lambda _: ("gone", {"all": 1}))
    assert texts(made) == ["gone"]
    assert did(made) == [("call", "Bash", "gone")]
    assert [message.redacted for message in made.documents[0].messages] == [(("all", 1),)] * 2


# Properties, over any conversation and any way to cut it.

ANY_SPEED = settings(deadline=None)  # on a busy machine one example may take long

WORDS = st.sampled_from(
    ["hello", "y", "two\n\nparagraphs", "漢字 😀", 'a\ttab and \\ and "', "long " * 300, " ", MEMORIES]
)  # fmt: skip
IDS = st.sampled_from(["t1", "t2", "t3", "t4"])
MESSAGES = st.sampled_from(["m1", "m2", "m3", "m4"])
BLOCKS = st.one_of(
    st.builds(text, WORDS),
    st.builds(thinking),
    st.builds(lambda identifier, said: call("Bash", identifier, command=said), IDS, WORDS),
    st.builds(lambda identifier: call("mcp__memory__recall", identifier, query="q"), IDS),
    st.builds(lambda said: call("mcp__chat__reply", text=said), WORDS),
)
RESULTS = st.builds(result, IDS, WORDS)
LINES = st.one_of(
    st.tuples(st.just("user"), st.tuples(WORDS)),
    st.tuples(st.just("user"), st.lists(RESULTS, min_size=1, max_size=2)),
    st.tuples(st.just("user"), st.lists(st.one_of(RESULTS, st.builds(text, WORDS)), max_size=3)),
    st.tuples(st.just("meta"), st.tuples(WORDS)),
    st.tuples(st.just("sidechain"), st.lists(BLOCKS, min_size=1, max_size=1)),
    st.tuples(st.just("aside"), st.sampled_from(list(Fate)[1:])),
    st.tuples(st.just("again"), st.integers(0, 30)),
    st.tuples(st.just("m"), st.tuples(MESSAGES, st.lists(BLOCKS, min_size=1, max_size=3))),
    st.tuples(st.just("m"), st.tuples(MESSAGES, st.lists(BLOCKS, min_size=1, max_size=1))),
)


def talk_of(lines: Sequence[tuple[str, Any]]) -> Talk:
    talk = Talk()
    for kind, what in lines:
        if kind == "aside":
            talk.aside(what, "")
        elif kind == "again" and talk.records:
            talk.again(talk.records[what % len(talk.records)])
        elif kind == "m":
            talk.agent(*what[1], message=what[0])
        elif kind != "again":
            talk.user(*what, reason="" if kind == "user" else kind)
    return talk


TALKS = st.lists(LINES, max_size=25).map(talk_of)
POLICIES = st.builds(
    RetainPolicy,
    format=st.sampled_from(["text", "json", "jsonl"]),
    tools=st.sampled_from(["none", "summary", "full"]),
    roles=st.sampled_from([("user", "assistant"), ("assistant",)]),
    min_chars=st.sampled_from([1, 6]),
    tool_input_chars=st.sampled_from([50, 5000]),
)
CUTS = st.sets(st.integers(0, 25))


def in_windows(
    talk: Talk, cuts: set[int], policy: RetainPolicy, limits: Limits, kind: Kind = "session"
) -> list[Plan]:
    """Plan window after window, each from the bytes of the carry, as the daemon does."""
    edges = sorted({0, len(talk.records), *(cut for cut in cuts if cut < len(talk.records))})
    carry, offset, owned, plans = b"", 0, set[int](), []
    for first, last in pairwise(edges):
        records = tuple(talk.records[first:last])
        window = Window(offset, records[-1].end, records, kind, owned)
        made = plan(Carry.decode(carry), window, policy, limits, as_it_is)
        assert made.offset == window.end
        carry, offset = made.carry.encode(), made.offset
        owned |= set(made.keys)
        plans.append(made)
    return plans


def total(plans: Sequence[Plan]) -> Counts:
    return sum((made.counts for made in plans), Counts())


def messages_of(plans: Sequence[Plan]) -> list[Message]:
    return [message for made in plans for one in made.documents for message in one.messages]


@ANY_SPEED
@given(TALKS, CUTS, POLICIES, st.sampled_from(["session", "subagent"]))
def test_any_way_of_cutting_gives_the_same_counts_and_content(
    talk: Talk, cuts: set[int], policy: RetainPolicy, kind: Kind
) -> None:
    cut = in_windows(talk, cuts, policy, WIDE, kind)
    whole = in_windows(talk, set(), policy, WIDE, kind)

    assert total(cut) == total(whole)
    assert [key for made in cut for key in made.keys] == [k for made in whole for k in made.keys]
    assert [made.carry for made in cut[-1:]] == [made.carry for made in whole]
    said, said_whole = (
        "\n".join(message.text for message in messages_of(plans) if message.text)
        for plans in (cut, whole)
    )
    assert said == said_whole
    done, done_whole = (
        [action for message in messages_of(plans) for action in message.actions]
        for plans in (cut, whole)
    )
    assert done == done_whole


@ANY_SPEED
@given(TALKS, CUTS, POLICIES)
def test_each_item_is_planned_or_dropped_once(
    talk: Talk, cuts: set[int], policy: RetainPolicy
) -> None:
    plans = in_windows(talk, cuts, policy, WIDE)

    for made in plans:
        counts = made.counts
        assert counts.records == counts.planned + sum(counts.dropped.values())
        assert counts.planned == sum(document.planned for document in made.documents)
        assert 0 not in made.keys
        assert 0 not in counts.dropped.values()
    assert min(total(plans).dropped.values(), default=0) >= 0
    assert total(plans).records <= len(talk.records)


@ANY_SPEED
@given(TALKS, CUTS, POLICIES)
def test_turns_are_counted_by_the_one_predicate(
    talk: Talk, cuts: set[int], policy: RetainPolicy
) -> None:
    starting = sum(opens_turn(record, "session", policy) for record in talk.records)

    assert total(in_windows(talk, cuts, policy, WIDE)).turns == starting


@ANY_SPEED
@given(TALKS, CUTS, POLICIES, st.integers(120, 400))
def test_documents_stay_within_their_limit_and_lose_nothing(
    talk: Talk, cuts: set[int], policy: RetainPolicy, limit: int
) -> None:
    small = in_windows(talk, cuts, policy, Limits(limit))
    wide = in_windows(talk, cuts, policy, WIDE)

    for made in small:
        for document in made.documents:
            assert tokens(render(document, policy).content) <= limit
            assert document.messages
    assert total(small) == total(wide)
    assert sum(one.planned for made in small for one in made.documents) == total(small).planned
    said, said_wide = (
        "".join(message.text for message in messages_of(plans)) for plans in (small, wide)
    )
    assert said == said_wide
    done, done_wide = (
        "".join(action.body for message in messages_of(plans) for action in message.actions)
        for plans in (small, wide)
    )
    assert done == done_wide


@ANY_SPEED
@given(TALKS, CUTS, POLICIES, st.integers(120, 400))
def test_the_ranges_of_documents_follow_each_other_without_a_gap(
    talk: Talk, cuts: set[int], policy: RetainPolicy, limit: int
) -> None:
    offset = 0
    for made in in_windows(talk, cuts, policy, Limits(limit)):
        assert_partition(made.documents, offset, made.offset)
        offset = made.offset
    assert offset == talk.end


def assert_partition(documents: Sequence[Draft], start: int, end: int) -> None:
    if not documents:
        return
    assert (documents[0].start, documents[-1].end) == (start, end)
    for before, after in pairwise(documents):
        assert before.start < before.end == after.start
    for document in documents:
        at = document.start
        for message in document.messages:
            assert at <= message.start < message.end <= document.end
            at = message.end


@ANY_SPEED
@given(TALKS, CUTS, POLICIES)
def test_a_window_is_planned_the_same_every_time(
    talk: Talk, cuts: set[int], policy: RetainPolicy
) -> None:
    assert in_windows(talk, cuts, policy, WIDE) == in_windows(talk, cuts, policy, WIDE)
