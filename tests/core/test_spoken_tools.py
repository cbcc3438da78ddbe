"""Tools that speak to people, and a memory's own tools, told apart by name and input."""

import json
from dataclasses import replace

import msgspec
import pytest

from retaind.core.conversation import is_channel_message, is_dropped_tool
from retaind.core.policy import RetainPolicy
from retaind.core.records import Block

POLICY = RetainPolicy()


def call(name: str, given: object) -> Block:
    return Block("tool_use", id="t", name=name, input=msgspec.Raw(json.dumps(given).encode()))


@pytest.mark.parametrize(
    ("name", "given", "outgoing"),
    [
        ("mcp__telegram__reply", {"text": "hi"}, "hi"),
        ("mcp__a__b__send", {"body": "hi"}, "hi"),
        ("mcp__chat__post", {"message": "hi", "content": "no"}, "hi"),
        ("mcp__chat__post", {"text": " ", "content": "hi"}, "hi"),
        ("mcp__chat__post", {"text": 5, "body": ["x"]}, ""),
        ("mcp__chat__post", {"text": "a\0\ud83db"}, "a\ufffdb"),
        ("mcp__chat__post", {"note": "hi"}, ""),
        ("mcp__chat__post", "hi", ""),
        ("mcp__chat__post", ["text"], ""),
        ("mcp__chat__post", None, ""),
        ("mcp__chat__research", {"text": "hi"}, "hi"),
        ("mcp__chat__forget_it", {"text": "hi"}, "hi"),
        ("mcp__chat__widget_note", {"text": "hi"}, "hi"),
        ("mcp__recall__post", {"text": "hi"}, "hi"),
        ("mcp__mem__recall", {"text": "hi"}, ""),
        ("mcp__mem__agent_Retain", {"text": "hi"}, ""),
        ("mcp__mem__quick-search", {"text": "hi"}, ""),
        ("mcp__mem__quickSearch", {"text": "hi"}, ""),
        ("mcp__mem__get_note", {"text": "hi"}, ""),
        ("mcp__mem__getNote", {"text": "hi"}, ""),
        ("Bash", {"text": "hi"}, ""),
        ("reply", {"text": "hi"}, ""),
    ],
)
def test_a_channel_message_is_an_mcp_tool_that_sends_text(
    name: str, given: object, outgoing: str
) -> None:
    assert is_channel_message(call(name, given), POLICY) == outgoing


def test_a_channel_message_without_input_sends_nothing() -> None:
    assert is_channel_message(Block("tool_use", name="mcp__chat__post"), POLICY) == ""


def test_a_text_block_is_no_channel_message() -> None:
    assert is_channel_message(Block("text", "hi", name="mcp__chat__post"), POLICY) == ""


@pytest.mark.parametrize(
    "name",
    [
        "mcp__hindsight__recall",
        "mcp__hindsight__agent_knowledge_list_pages",
        "mcp__mem__search_nodes",
    ],
)
def test_calls_of_a_memorys_own_tools_are_dropped(name: str) -> None:
    assert is_dropped_tool(call(name, {"text": "x"}), POLICY)


@pytest.mark.parametrize(
    "name", ["mcp__chat__reply", "mcp__papers__research", "recall", "WebSearch", "mcp__recall__go"]
)
def test_calls_of_other_tools_are_not_dropped(name: str) -> None:
    assert not is_dropped_tool(call(name, {"text": "x"}), POLICY)


def test_the_result_of_a_call_is_no_call() -> None:
    assert not is_dropped_tool(Block("tool_result", name="mcp__hindsight__recall"), POLICY)


def test_the_words_that_make_a_tool_operational_are_the_users() -> None:
    policy = replace(POLICY, operational_words=("ponder",))

    assert is_dropped_tool(call("mcp__m__ponder", {}), policy)
    assert is_channel_message(call("mcp__m__recall", {"text": "hi"}), policy) == "hi"
