"""What one record says and does, once policy has looked at its blocks."""

from typing import Final

import msgspec

from retaind.core import actions
from retaind.core.actions import Clean
from retaind.core.carry import bounded_id, remember_due
from retaind.core.conversation import conversational_text, is_channel_message, is_dropped_tool
from retaind.core.messages import Action
from retaind.core.policy import RetainPolicy
from retaind.core.records import Block, Record

_ACTING_ROLE: Final = "assistant"


class Content(msgspec.Struct, gc=False):
    """What a record holds.

    `text` is its conversational text; `actions` are what `tools` lets through. `calls` and `results`
    say that there were tool calls or results at all, `withheld` that some were a memory's own.
    """

    text: str = ""
    actions: list[Action] = msgspec.field(default_factory=list)
    calls: bool = False
    results: bool = False
    withheld: bool = False


def content_of(record: Record, policy: RetainPolicy, due: dict[str, None], clean: Clean) -> Content:
    """Read a record. `due` holds the ids of dropped calls whose results are awaited; it is kept up here."""
    content = Content()
    if isinstance(record.content, str):
        content.text = conversational_text(record, policy)
        return content
    speaks = False
    acts = record.role == _ACTING_ROLE
    for block in record.content:
        kind = block.type
        if kind == "text":
            speaks = True
        elif kind == "tool_result":
            _take_result(block, content, policy, due, clean)
        elif kind == "tool_use" and acts:
            speaks = _take_call(block, content, policy, due, clean) or speaks
    if speaks:
        content.text = conversational_text(record, policy)
    return content


def _take_call(
    block: Block, content: Content, policy: RetainPolicy, due: dict[str, None], clean: Clean
) -> bool:
    """Take a tool call; True when it is something said to a person."""
    content.calls = True
    if is_dropped_tool(block, policy):
        content.withheld = True
        if block.id:
            remember_due(due, block.id)
        return False
    if is_channel_message(block, policy):
        return True
    if policy.tools != "none":
        content.actions.append(actions.called(block, policy, clean))
    return False


def _take_result(
    block: Block, content: Content, policy: RetainPolicy, due: dict[str, None], clean: Clean
) -> None:
    """Take a tool result; the result of a dropped call is dropped with it."""
    if due and bounded_id(block.tool_use_id) in due:
        del due[bounded_id(block.tool_use_id)]
        content.withheld = True
        return
    content.results = True
    if policy.tools == "full" and (action := actions.returned(block, policy, clean)):
        content.actions.append(action)
