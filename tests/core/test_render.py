"""What a memory is given: the three forms of a document, its parts, its tags and metadata."""

import json
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.talk import Talk, call, planned, result, text
from retaind.core.facts import SessionFacts
from retaind.core.forms import form_of, message_bytes
from retaind.core.messages import Draft, Message, tokens
from retaind.core.policy import Format, RetainPolicy, Tools
from retaind.core.records import Block
from retaind.core.render import metadata, render, tags


def small_talk(policy: RetainPolicy) -> Draft:
    talk = Talk()
    talk.user("Where is “it”?")
    talk.agent("Looking.", message="m1")
    talk.agent(call("Bash", "t1", command="ls -la\nrm x", description="look around"), message="m1")
    talk.user(result("t1", [{"type": "text", "text": " a.py "}, {"type": "image"}]))
    talk.agent("Here.\nSee?", message="m2")
    return planned(talk.window(), policy=policy).documents[0]


def rendered(policy: RetainPolicy) -> str:
    return render(small_talk(policy), policy).content


def test_the_text_form_names_the_role_at_both_ends_of_a_message() -> None:
    assert rendered(RetainPolicy(tools="none")) == (
        "[role: user]\nWhere is “it”?\n[user:end]\n\n"
        "[role: assistant]\nLooking.\n[assistant:end]\n\n"
        "[role: assistant]\nHere.\nSee?\n[assistant:end]"
    )


def test_a_summary_has_one_line_for_each_tool_call() -> None:
    assert rendered(RetainPolicy()) == (
        "[role: user]\nWhere is “it”?\n[user:end]\n\n"
        "[role: assistant]\nLooking.\n> Bash ls -la\n[assistant:end]\n\n"
        "[role: assistant]\nHere.\nSee?\n[assistant:end]"
    )


def test_full_tools_add_inputs_and_results_and_nobody_is_said_to_speak_results() -> None:
    assert rendered(RetainPolicy(tools="full")) == (
        "[role: user]\nWhere is “it”?\n[user:end]\n\n"
        "[role: assistant]\nLooking.\n"
        '> Bash {"command":"ls -la\\nrm x","description":"look around"}\n[assistant:end]\n\n'
        "[role: tool]\n< a.py\n[tool:end]\n\n"
        "[role: assistant]\nHere.\nSee?\n[assistant:end]"
    )


def test_the_json_form_is_one_array_of_roles_and_blocks() -> None:
    assert rendered(RetainPolicy(format="json", tools="none")).startswith(
        '[{"role":"user","content":[{"type":"text","text":"Where is “it”?"}]},{"role":'
    )
    assert json.loads(rendered(RetainPolicy(format="json", tools="full"))) == [
        {"role": "user", "content": [{"type": "text", "text": "Where is “it”?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Looking."},
                {
                    "type": "tool_use",
                    "id": "t1",
                    "name": "Bash",
                    "input": {"command": "ls -la\nrm x", "description": "look around"},
                },
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a.py"}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Here.\nSee?"}]},
    ]


def test_the_json_form_of_a_summary_names_the_target() -> None:
    made = json.loads(rendered(RetainPolicy(format="json")))

    assert made[1]["content"][1] == {"type": "tool_use", "name": "Bash", "target": "ls -la"}


def test_the_jsonl_form_is_one_message_a_line() -> None:
    lines = [json.loads(line) for line in rendered(RetainPolicy(format="jsonl")).split("\n")]

    assert lines[0] == {
        "role": "user",
        "timestamp": "2026-09-15T08:00:01.000Z",
        "uuid": "uuid-1",
        "text": "Where is “it”?",
    }
    assert [line["text"] for line in lines] == ["Where is “it”?", "Looking.", "Here.\nSee?"]
    assert lines[1]["actions"] == ["> Bash ls -la"]


@pytest.mark.parametrize("form", get_args(Format))
@pytest.mark.parametrize("tools", get_args(Tools))
def test_parts_are_where_their_messages_are(form: Format, tools: Tools) -> None:
    policy = RetainPolicy(format=form, tools=tools)
    draft = small_talk(policy)
    made = render(draft, policy)

    assert len(made.parts) == len(draft.messages)
    last = 0
    for part, message in zip(made.parts, draft.messages, strict=True):
        assert last <= part.start < part.end <= len(made.content)
        written = made.content[part.start : part.end]
        assert (
            json.dumps(message.text, ensure_ascii=False)[1:-1] in written or message.text in written
        )
        assert (part.timestamp, part.turn) == (message.timestamp, 0)
        last = part.end
    assert [part.role for part in made.parts][:2] == ["user", "assistant"]


@pytest.mark.parametrize("form", get_args(Format))
@pytest.mark.parametrize("tools", get_args(Tools))
def test_a_plan_sizes_documents_without_writing_them(form: Format, tools: Tools) -> None:
    policy = RetainPolicy(format=form, tools=tools)
    draft = small_talk(policy)
    written = len(render(draft, policy).content.encode())
    sized = sum(message_bytes(form_of(policy), message) for message in draft.messages)

    assert written <= sized + 2
    assert sized - written < 16 * len(draft.messages)


def action_of(block: Block, policy: RetainPolicy | None = None) -> str:
    talk = Talk()
    talk.agent(block, message="m1")
    return planned(talk.window(), policy=policy).documents[0].messages[0].actions[0].body


@pytest.mark.parametrize(
    ("given_input", "target"),
    [
        ({"file_path": "/a", "command": "ls"}, "/a"),
        ({"command": "ls", "path": "/b"}, "/b"),
        ({"file_path": "  ", "url": "https://x"}, "https://x"),
        ({"file_path": ["/a"], "notebook_path": 3, "pattern": "p"}, "p"),
        ({"query": "\n first \nsecond"}, "first"),
        ({"name": "n", "id": "i"}, "n"),
        ({"id": "i"}, "i"),
        ({"command": "ls", "description": "List files"}, "ls"),
        (
            {"description": "Count nests", "prompt": "Count them", "subagent_type": "x"},
            "Count nests",
        ),
        ({"skill": "review", "args": "x"}, "review"),
        ({"description": "d", "subject": "Mend it"}, "Mend it"),
        ({"command": "x" * 101}, "x" * 99 + "…"),
        ({"command": "x" * 100}, "x" * 100),
        ({"prompt": "unknown"}, ""),
        ({}, ""),
    ],
)
def test_the_target_is_the_first_line_of_the_first_field_that_names_something(
    given_input: dict[str, Any], target: str
) -> None:
    assert action_of(call("Tool", **given_input)) == target


@pytest.mark.parametrize("junk", [b"", b"[1]", b'"ls"', b"null", b"{", b'{"path": "\xff"}'])
def test_a_strange_input_still_names_its_tool(junk: bytes) -> None:
    block = Block("tool_use", name="Tool", input=msgspec.Raw(junk))

    assert action_of(block) in {"", "\ufffd"}
    action_of(block, RetainPolicy(tools="full"))


def test_a_lone_surrogate_can_be_encoded() -> None:
    block = Block("tool_use", name="Tool", input=msgspec.Raw(b'{"path": "a\\ud83d"}'))

    for tools in ("summary", "full"):
        assert "a\ufffd" in action_of(block, RetainPolicy(tools=tools))


def test_inputs_and_results_are_capped_with_a_note() -> None:
    policy = RetainPolicy(tools="full", tool_input_chars=20, tool_result_chars=10)
    talk = Talk()
    talk.agent(call("Write", "t1", content="x" * 50_000), message="m1")
    talk.user(result("t1", "y" * 11))
    talk.user(result("t2", "z" * 10))
    bodies = [
        action.body
        for message in planned(talk.window(), policy=policy).documents[0].messages
        for action in message.actions
    ]

    assert bodies == [
        '{"content":"xxxxxxxx… [cut, 50014 characters in all]',
        "yyyyyyyyyy… [cut, 11 characters in all]",
        "zzzzzzzzzz",
    ]


def test_a_secret_is_taken_out_before_a_target_or_an_input_is_cut() -> None:
    def redact(what: str) -> tuple[str, dict[str, int]]:
        return what.replace("S" * 90, "[s]"), {
            "s": what.count("S" * 90)
        } if "S" * 90 in what else {}

    for tools in ("summary", "full"):
        policy = RetainPolicy(tools=tools, tool_input_chars=70)
        talk = Talk()
        talk.user("the key is " + "S" * 90)
        talk.agent(call("Bash", command="x" * 40 + "S" * 90), message="m1")
        made = render(planned(talk.window(), policy=policy, redact=redact).documents[0], policy)

        assert "SS" not in made.content
        assert made.redacted == {"s": 2}


def test_an_input_that_was_cut_is_text_in_the_json_form() -> None:
    policy = RetainPolicy(format="json", tools="full", tool_input_chars=5)
    made = json.loads(rendered(policy))

    assert made[1]["content"][1]["input"].startswith('{"com… [cut')


def test_a_user_who_says_something_beside_a_result_speaks() -> None:
    policy = RetainPolicy(tools="full")
    talk = Talk()
    talk.user(result("t1", "out"), text("Stop."))
    made = render(planned(talk.window(), policy=policy).documents[0], policy)

    assert made.content == "[role: user]\nStop.\n< out\n[user:end]"


def test_a_draft_occurs_when_its_first_dated_message_does() -> None:
    def message(timestamp: str) -> Message:
        return Message("user", "hi", (), timestamp, "", 0, 1, 0, True, "")

    assert Draft(0, 1, (message(""), message("2026-01-01T00:00:00Z"))).timestamp == (
        "2026-01-01T00:00:00Z"
    )
    assert Draft(0, 1, (message(""),)).timestamp is None
    assert render(Draft(0, 1, (message(""),)), RetainPolicy()).parts[0].timestamp is None


@given(st.text())
def test_tokens_are_bytes_divided_by_four_and_rounded_up(what: str) -> None:
    try:
        size = len(what.encode())
    except UnicodeEncodeError:
        return

    assert (tokens(what) - 1) * 4 < size <= tokens(what) * 4


FACTS = SessionFacts("claude_code", "s-1", project="proj", bank_id="b", user_id="{host}")


def test_tags_are_filled_in_once_and_unknown_placeholders_stay() -> None:
    policy = RetainPolicy(
        tags=("{session_id}", "user:{user_id}", "{bank_id}/{project}", "{what}", "at:{timestamp}")
    )

    assert tags(policy, FACTS, "2026-01-02T03:04:05Z") == (
        "s-1", "user:{host}", "b/proj", "{what}", "at:2026-01-02T03:04:05Z",
    )  # fmt: skip


def test_a_tag_with_an_empty_value_is_dropped_and_one_without_colon_never() -> None:
    policy = RetainPolicy(
        tags=("user:{user_id}", "a:b:{user_id}", "{user_id}", "project:{project}")
    )
    unknown = SessionFacts("claude_code", "s-1")

    assert tags(policy, unknown, "now") == ("a:b:", "")


def test_our_metadata_wins_over_the_users() -> None:
    policy = RetainPolicy(
        metadata=(("session_id", "mine"), ("team", "{project}-{host}"), ("range", "mine"))
    )

    assert metadata(policy, FACTS, "2026-01-02T03:04:05Z", 3, {"range": "0-10"}) == {
        "session_id": "s-1",
        "team": "proj-claude_code",
        "range": "0-10",
        "retained_at": "2026-01-02T03:04:05Z",
        "message_count": "3",
        "host": "claude_code",
        "project": "proj",
    }
    assert "project" not in metadata(policy, SessionFacts("claude_code", "s"), "now", 0)
