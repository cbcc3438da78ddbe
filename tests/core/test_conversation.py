"""What was said, and where a turn starts: one truth for windows, counts and recall."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retaind.core.conversation import conversational_text, starts_turn
from retaind.core.policy import RetainPolicy
from retaind.core.records import Block, Fate, Record

POLICY = RetainPolicy()
KEEPING = RetainPolicy(harness_wrappers=True)
MEMORY = "<hindsight_memories>\n- likes tea\n</hindsight_memories>"
TAGS = [
    "hindsight_memories", "hindsight_memory", "relevant_memories", "hindsight_bank",
    "user_feedback", "hindsight_knowledge", "hindsight_knowledge_refresh", "retaind_memories",
]  # fmt: skip
REMINDERS = ["system-reminder", "task-notification", "hook_prompt"]
COMMANDS = [
    "command-name", "command-message", "command-args", "local-command-stdout",
    "local-command-stderr", "local-command-caveat", "bash-input", "bash-stdout", "bash-stderr",
]  # fmt: skip


def raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode())


def said(what: str) -> Block:
    return Block("text", what)


def result(content: object = "ok") -> Block:
    return Block("tool_result", tool_use_id="t", content=raw(content))


def call(name: str, given: object) -> Block:
    return Block("tool_use", id="t", name=name, input=raw(given))


IMAGE = Block("image")
CHANNEL_CALL = call("mcp__telegram__reply", {"text": "on it"})


def record(content: str | tuple[Block, ...], role: str = "user", **fields: Any) -> Record:
    return Record(0, 1, Fate.CONVERSATION, role, role=role, content=content, **fields)


def text_of(content: str | tuple[Block, ...], role: str = "user") -> str:
    return conversational_text(record(content, role), POLICY)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        pytest.param("hello", "hello", id="plain string"),
        pytest.param("", "", id="empty string"),
        pytest.param(" \n\t", "", id="whitespace string"),
        pytest.param(MEMORY, "", id="memory block only"),
        pytest.param(f"{MEMORY}\n{MEMORY}", "", id="memory blocks only"),
        pytest.param(f"{MEMORY}\nhello", "hello", id="memory block and text"),
        pytest.param("<hindsight_memories>\n- likes tea", "", id="unclosed memory tag"),
        pytest.param('<hindsight_memories n="1">x</hindsight_memories>', "", id="attributed tag"),
        pytest.param("<channel>hello</channel>", "hello", id="channel envelope with text"),
        pytest.param("<channel> </channel>", "", id="channel envelope that is empty"),
        pytest.param(f"<channel>{MEMORY}</channel>", "", id="channel envelope with memory only"),
        pytest.param((result(),), "", id="tool_result only"),
        pytest.param((result(), said("hello")), "hello", id="tool_result and text"),
        pytest.param((result(), said(" ")), "", id="tool_result and blank text"),
        pytest.param((said("hello"),), "hello", id="text only"),
        pytest.param((IMAGE,), "", id="image only"),
        pytest.param((IMAGE, said("hello")), "hello", id="image and text"),
        pytest.param((Block("thinking"),), "", id="thinking only"),
        pytest.param((), "", id="empty list; null, number or object content"),
        pytest.param((Block(content=raw("bare")),), "", id="list of bare strings"),
        pytest.param((call("Bash", {"command": "ls"}),), "", id="tool_use in a user record"),
        pytest.param((CHANNEL_CALL,), "", id="channel tool in a user record"),
        pytest.param("<system-reminder>x</system-reminder>", "", id="system-reminder only"),
        pytest.param("<task-notification>x</task-notification>", "", id="task-notification only"),
        pytest.param("<command-name>/clear</command-name>", "", id="slash-command echo"),
        pytest.param("<local-command-stdout>x</local-command-stdout>", "", id="command output"),
        pytest.param("[Request interrupted by user]", "", id="interruption marker"),
        pytest.param(
            (said("[Request interrupted by user for tool use]"),), "", id="interruption of a tool"
        ),
    ],
)
def test_a_users_record_starts_a_turn_if_something_is_said_in_it(
    content: str | tuple[Block, ...], text: str
) -> None:
    assert text_of(content) == text
    assert starts_turn(record(content), POLICY) is (text != "")


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(record("hello", fate_of), id=fate_of)
        for fate_of in ("assistant", "system", "tool", "")
    ]
    + [
        pytest.param(
            msgspec.structs.replace(record("hello"), fate=fate, reason=reason),
            id=reason or fate.name,
        )
        for fate, reason in (
            (Fate.TRANSPORT, "meta"),
            (Fate.TRANSPORT, "compact_summary"),
            (Fate.CONVERSATION, "sidechain"),
            (Fate.CONVERSATION, "meta"),
            (Fate.MARKER, ""),
            (Fate.TRANSPORT, ""),
            (Fate.UNKNOWN, ""),
            (Fate.CORRUPT, ""),
        )
    ],
)
def test_nothing_but_a_users_conversation_starts_a_turn(other: Record) -> None:
    assert starts_turn(record("hello"), POLICY)
    assert not starts_turn(other, POLICY)


def test_blocks_are_trimmed_and_joined_by_newlines() -> None:
    assert text_of((said(" one\n"), IMAGE, said(""), said("two "))) == "one\ntwo"


def test_the_agents_words_through_a_chat_tool_are_conversation() -> None:
    content = (said("Looking."), CHANNEL_CALL, call("Bash", {"text": "no"}))

    assert text_of(content, "assistant") == "Looking.\non it"


@pytest.mark.parametrize("tag", TAGS + REMINDERS + COMMANDS)
def test_every_wrapper_goes_and_the_text_around_it_stays(tag: str) -> None:
    text = f"before <{tag} a='1'>\ninside\n</{tag}> between <{tag}>\nx</{tag}\n> after <{tag}/>"

    assert text_of(text) == "before  between  after"
    assert text_of(text, "assistant") == "before  between  after"


@pytest.mark.parametrize("tag", COMMANDS)
def test_echoes_of_commands_stay_where_the_policy_keeps_them(tag: str) -> None:
    text = f"<{tag}>/review the parser</{tag}>"

    assert conversational_text(record(text), KEEPING) == text


def test_interruptions_stay_where_the_policy_keeps_them() -> None:
    text = "[Request interrupted by user]"

    assert conversational_text(record(text), KEEPING) == text


@pytest.mark.parametrize("tag", TAGS + REMINDERS)
def test_injected_text_goes_whatever_the_policy_keeps(tag: str) -> None:
    assert conversational_text(record(f"<{tag}>x</{tag}> y"), KEEPING) == "y"


@pytest.mark.parametrize("tag", TAGS)
def test_an_unclosed_memory_ends_with_the_text(tag: str) -> None:
    assert text_of(f"hello <{tag} b=2>\n- likes tea\n<p>") == "hello"


def test_an_agent_may_write_about_a_memory_tag() -> None:
    text = "The tag <hindsight_memories> wraps them."

    assert text_of(text, "assistant") == text


@pytest.mark.parametrize("tag", REMINDERS + COMMANDS)
def test_a_person_may_write_about_a_wrapper(tag: str) -> None:
    text = f"what does <{tag}> mean, and </{tag}x> or <{tag}y>?"

    assert text_of(text) == text


def test_all_envelopes_are_opened_in_place() -> None:
    text = (
        'Note: <channel source="telegram" user="a>b">first</channel>, then '
        "<channel>second <hindsight_memory>m</hindsight_memory></channel>. <channel>open"
    )

    assert text_of(text) == "Note: first, then second . <channel>open"


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("<user_feedback>a <user_feedback>b</user_feedback> c</user_feedback> d", "d"),
        ("<user_feedback>quotes <user_feedback> once</user_feedback> kept", "kept"),
        ("<system-reminder>a <system-reminder> b</system-reminder> kept", "kept"),
        ("<hindsight_memory>a </hindsight_memories> b", ""),
        ("kept </hindsight_memories> kept", "kept </hindsight_memories> kept"),
        (f"<channel>x {MEMORY} y</channel>", "x  y"),
        ("<hindsight_memory><channel>x</channel></hindsight_memory> kept", "kept"),
        ("<hindsight_memory", "<hindsight_memory"),
        ("<Hindsight_Memory>kept</Hindsight_Memory>", "<Hindsight_Memory>kept</Hindsight_Memory>"),
        ("a < b and <p>c</p>", "a < b and <p>c</p>"),
    ],
)
def test_odd_markup_is_settled(text: str, cleaned: str) -> None:
    assert text_of(text) == cleaned


def test_an_interruption_counts_as_such_only_on_a_line_of_its_own() -> None:
    text = 'Why "[Request interrupted by user]" here?\n[Request interrupted by user]\nGo on.'

    assert text_of(text) == 'Why "[Request interrupted by user]" here?\n\nGo on.'


def test_text_that_no_encoder_takes_comes_out_mended() -> None:
    assert text_of("a\0b \ud83d <p> \ud83d\ude00").encode() == "ab \ufffd <p> 😀".encode()


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("<channel " * 110_000, id="half-open"),
        pytest.param("<channel '\"" * 90_000, id="quotes"),
        pytest.param("<hindsight_memory a" + ' a="b"' * 160_000, id="attributes"),
        pytest.param("<channel>" * 60_000 + "</channel>" * 50_000, id="nested"),
        pytest.param("<system-reminder>" * 60_000, id="unclosed"),
        pytest.param("<" * 1_000_000, id="brackets"),
        pytest.param("[Request interrupted by user" * 36_000, id="interruptions"),
        pytest.param("[Request interrupted by user]" + " " * 1_000_000 + "x", id="blanks"),
    ],
)
@pytest.mark.timeout(10)
def test_a_hostile_text_of_a_megabyte_costs_little(text: str) -> None:
    conversational_text(record(text), POLICY)


pieces = st.sampled_from(
    ["<channel>", "</channel>", "<hindsight_memories>", "</hindsight_memories>", "<system-reminder>",
     "</system-reminder>", "<command-name a='>'>", "</command-name>", "word", " ", "\n", "<", ">"]
)  # fmt: skip


@given(st.lists(st.one_of(pieces, st.text(max_size=3)), max_size=12).map("".join))
def test_what_was_said_is_trimmed_and_nothing_is_made_up(text: str) -> None:
    cleaned = text_of(text)

    assert cleaned == cleaned.strip()
    rest = iter(text)
    assert all(char in rest for char in cleaned.replace("\ufffd", ""))
