"""Claude Code's lines as records: every type has its fate, and no line costs more than itself."""

from typing import Any

import pytest

from hosts.claude_lines import assistant, line, one, user
from retaind.core.conversation import conversational_text, starts_turn
from retaind.core.policy import RetainPolicy
from retaind.core.records import Fate, Record, raw_value
from retaind.hosts.claude_code.fates import ATTACHMENTS, BOOKKEEPING, MARKERS, SYSTEM

POLICY = RetainPolicy()


def test_a_prompt_is_a_users_conversation() -> None:
    record = one(user("fix it"))

    assert (record.fate, record.kind, record.reason) == (Fate.CONVERSATION, "user", "")
    assert (record.role, record.content) == ("user", "fix it")
    assert (record.uuid, record.cwd) == ("u-1", "/home/dev/work")
    assert record.timestamp == "2026-01-01T00:00:00.000Z"
    assert record.message_id == ""
    assert starts_turn(record, POLICY)


def test_the_lines_of_one_answer_share_its_message_id() -> None:
    thinking = one(assistant({"type": "thinking", "thinking": "hm", "signature": "x"}))
    text = one(assistant({"type": "text", "text": "Done."}))

    assert thinking.message_id == text.message_id == "msg_1"
    assert thinking.role == "assistant"
    assert conversational_text(thinking, POLICY) == ""
    assert conversational_text(text, POLICY) == "Done."


def test_a_users_record_stands_alone() -> None:
    message = {"role": "user", "content": "hello", "id": "msg_1"}

    assert one(line("user", message=message)).message_id == ""


def test_what_a_tool_got_and_gave_stays_undecoded() -> None:
    use = one(
        assistant({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}})
    )
    gave = one(
        user([{"type": "tool_result", "tool_use_id": "t", "content": "a\nb", "is_error": True}])
    )

    assert not isinstance(use.content, str)
    assert not isinstance(gave.content, str)
    assert (use.content[0].id, use.content[0].name) == ("t", "Bash")
    assert raw_value(use.content[0].input) == {"command": "ls"}
    assert (gave.content[0].tool_use_id, gave.content[0].is_error) == ("t", True)
    assert raw_value(gave.content[0].content) == "a\nb"
    assert not starts_turn(gave, POLICY)


@pytest.mark.parametrize(
    ("data", "fate", "reason"),
    [
        (user("skill body", isMeta=True), Fate.TRANSPORT, "meta"),
        (user("recap", isCompactSummary=True), Fate.TRANSPORT, "compact_summary"),
        (user("task", isSidechain=True), Fate.CONVERSATION, "sidechain"),
        (user("body", isSidechain=True, isMeta=True), Fate.TRANSPORT, "meta"),
        (
            assistant({"type": "text", "text": "x"}, model="<synthetic>"),
            Fate.TRANSPORT,
            "synthetic",
        ),
        (
            line(
                "assistant", isApiErrorMessage=True, message={"role": "assistant", "content": "x"}
            ),
            Fate.TRANSPORT,
            "synthetic",
        ),
    ],
)
def test_flags_keep_a_record_out_of_the_conversation(data: bytes, fate: Fate, reason: str) -> None:
    record = one(data)

    assert (record.fate, record.reason) == (fate, reason)
    assert not starts_turn(record, POLICY)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("It booms in the", ""),
        ("No response requested.", "synthetic"),
        ("(no content)", "synthetic"),
    ],
)
def test_an_answer_that_was_interrupted_is_conversation_and_a_placeholder_is_not(
    text: str, reason: str
) -> None:
    message = {
        "role": "assistant",
        "model": "<synthetic>",
        "content": [{"type": "text", "text": text}],
    }

    assert one(line("assistant", isApiErrorMessage=False, message=message)).reason == reason


@pytest.mark.parametrize("size", [10, 40_000, 2_000_000])
def test_a_sidechain_is_known_whatever_its_size(size: int) -> None:
    assert one(user("x" * size, isSidechain=True)).reason == "sidechain"


@pytest.mark.parametrize("kind", sorted(BOOKKEEPING))
def test_bookkeeping_is_transport(kind: str) -> None:
    record = one(line(kind, content="x", message={"role": "user", "content": "hello"}))

    assert (record.fate, record.kind, record.reason) == (Fate.TRANSPORT, kind, "transport")


@pytest.mark.parametrize("subtype", sorted(SYSTEM))
def test_what_the_system_says_is_transport(subtype: str) -> None:
    record = one(line("system", subtype=subtype or None, content="x"))

    assert (record.fate, record.kind) == (Fate.TRANSPORT, f"system/{subtype}")


@pytest.mark.parametrize("subtype", sorted(ATTACHMENTS))
def test_most_attachments_are_transport(subtype: str) -> None:
    record = one(line("attachment", attachment={"type": subtype, "content": ["x"]}))

    assert (record.fate, record.kind) == (Fate.TRANSPORT, f"attachment/{subtype}")


@pytest.mark.parametrize("kind", sorted(MARKERS))
def test_a_compaction_is_a_marker(kind: str) -> None:
    record = one(line("system", subtype=kind.partition("/")[2], content="Conversation compacted"))

    assert (record.fate, record.kind, record.reason) == (Fate.MARKER, kind, "marker")


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (line("hologram", message={"role": "user", "content": "hi"}), "hologram"),
        (line("system", subtype="hologram"), "system/hologram"),
        (line("attachment", attachment={"type": "hologram"}), "attachment/hologram"),
        (line("attachment"), "attachment/"),
        (b'{"display":"hi","project":"/p"}', ""),
        (b"{}", ""),
    ],
)
def test_a_type_that_the_table_does_not_name_is_unknown(data: bytes, kind: str) -> None:
    record = one(data)

    assert (record.fate, record.kind, record.reason) == (Fate.UNKNOWN, kind, "unknown")


def queued(**fields: Any) -> Record:
    return one(line("attachment", attachment={"type": "queued_command", **fields}))


@pytest.mark.parametrize("prompt", ["also the docs", [{"type": "text", "text": "also the docs"}]])
def test_a_prompt_typed_while_the_agent_works_starts_a_turn(prompt: object) -> None:
    record = queued(prompt=prompt, commandMode="prompt", origin={"kind": "human"})

    assert record.role == "user"
    assert conversational_text(record, POLICY) == "also the docs"
    assert starts_turn(record, POLICY)
    assert record.key > 0


@pytest.mark.parametrize(
    "fields",
    [
        {"commandMode": "task-notification"},
        {"commandMode": "prompt", "origin": {"kind": "peer"}},
        {"isMeta": True},
    ],
)
def test_what_the_host_queues_by_itself_is_meta(fields: dict[str, Any]) -> None:
    record = queued(prompt="carry on", **fields)

    assert (record.fate, record.reason) == (Fate.TRANSPORT, "meta")


def test_a_file_that_a_person_names_counts_as_a_tools_result() -> None:
    file = {"type": "text", "file": {"filePath": "/w/a.txt", "content": "hello\n"}}
    record = one(line("attachment", attachment={"type": "file", "filename": "a", "content": file}))

    assert not isinstance(record.content, str)
    (block,) = record.content
    assert (block.type, block.name, raw_value(block.content)) == ("tool_result", "a", "hello\n")
    assert not starts_turn(record, POLICY)


@pytest.mark.parametrize("content", [None, "x", {"type": "image", "file": {"base64": "x"}}])
def test_a_file_that_is_no_text_has_no_content(content: object) -> None:
    record = one(line("attachment", attachment={"type": "file", "content": content}))

    assert (record.fate, record.content) == (Fate.CONVERSATION, ())


@pytest.mark.parametrize(
    ("data", "role"),
    [
        (b'{"role":"user","content":"hi"}', "user"),
        (b'{"role":"assistant","content":[{"type":"text","text":"hi"}]}', "assistant"),
        (b'{"role":"system","content":"hi"}', "system"),
        (b'{"type":"message","role":"assistant","content":"hi"}', "assistant"),
        (b'{"message":{"role":"user","content":"hi"}}', "user"),
        (b'{"type":"user","content":"hi"}', "user"),
        (b'{"type":"assistant","message":{"content":"hi"}}', "assistant"),
    ],
)
def test_messages_are_taken_from_flat_and_half_filled_records(data: bytes, role: str) -> None:
    record = one(data)

    assert (record.fate, record.role) == (Fate.CONVERSATION, role)
    assert conversational_text(record, POLICY) == "hi"


def test_a_resumed_copy_has_its_originals_key() -> None:
    original = one(user("hello"))
    copy = one(
        user([{"type": "text", "text": "hello"}], sessionId="s-2", version="1", isSidechain=True)
    )

    assert original.key == copy.key > 0


def test_other_content_under_the_same_uuid_has_another_key() -> None:
    contents: list[object] = [
        "a",
        "b",
        [],
        None,
        5,
        6,
        ["a"],
        [{"type": "tool_result", "content": "a"}],
    ]
    keys = {one(user(content)).key for content in contents}

    assert len(keys) == len(contents) - 1  # no content and an empty list are the same


def test_what_is_no_conversation_has_no_key() -> None:
    assert one(line("progress", data={})).key == 0
    assert one(user("body", isMeta=True)).key == 0
    assert one(b'{"type":"user","message":{"role":"user","content":"hi"}}').key == 0
