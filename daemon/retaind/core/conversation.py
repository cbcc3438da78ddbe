"""What was said: the conversational text of a record, and the one predicate of a turn.

A host and its plugins wrap what people type in markup: envelopes of chat channels, injected memories,
reminders, echoes of commands. Here all of it is taken off in one pass over the tags of a text, so that
windows, counts and recall agree on what a person said. Everything is linear in the length of the text.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from retaind.core.policy import RetainPolicy
from retaind.core.records import Block, Fate, Record, raw_value, storable

WRAPPER: Final = "retaind_memories"
"""The element around what retaind injects; retention takes it off again, by this name."""

_ENVELOPES: Final = frozenset({"channel"})
_MEMORIES: Final = frozenset(
    {
        WRAPPER, "hindsight_memories", "hindsight_memory", "relevant_memories", "hindsight_bank",
        "user_feedback", "hindsight_knowledge", "hindsight_knowledge_refresh",
    }
)  # fmt: skip
_REMINDERS: Final = frozenset({"system-reminder", "task-notification", "hook_prompt"})
_COMMANDS: Final = frozenset(
    {
        "command-name", "command-message", "command-args",
        "local-command-stdout", "local-command-stderr", "local-command-caveat",
        "bash-input", "bash-stdout", "bash-stderr",
    }
)  # fmt: skip
_ALWAYS: Final = _MEMORIES | _REMINDERS
_BY_DEFAULT: Final = _ALWAYS | _COMMANDS

# An attribute may quote ">". No alternative crosses "<" and none gives back what it took, so a text
# of half-open tags costs one look at each character.
_TAG: Final = re.compile(
    r"<(?P<close>/?)(?P<name>"
    + "|".join(sorted(_ENVELOPES | _BY_DEFAULT, reverse=True))
    + r""")(?=[\s/>])(?>"[^"<]*"|'[^'<]*'|[^<>])*+>"""
)
_INTERRUPTION: Final = "[Request interrupted by user"
_INTERRUPTED: Final = re.compile(r"^\[Request interrupted by user[^\]\n]*\][ \t\r]*$", re.MULTILINE)

_TOOL_PREFIX: Final = "mcp__"
_OWN_SERVER: Final = "retaind"
"""Tools of our own MCP server only ever repeat what is retained already."""
_OUTGOING: Final = ("text", "body", "message", "content")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def conversational_text(record: Record, policy: RetainPolicy) -> str:
    """Return what the record's speaker said, without wrappers; "" when that is nothing.

    A string is itself; a list gives its text blocks and, for the agent, the outgoing text of
    channel-message tools, joined by newlines. The result can be encoded and stored.
    """
    text = storable(_extracted(record, policy))
    if "<" in text:
        # An agent may write about these tags; what it says after one is not an injection.
        text = _unwrapped(text, policy, open_ended=record.role != "assistant")
    if _INTERRUPTION in text and not policy.harness_wrappers:
        text = _INTERRUPTED.sub("", text)
    return text.strip()


def starts_turn(record: Record, policy: RetainPolicy) -> bool:
    """Tell whether a turn starts here (rule R2): a user's record with conversational text.

    A record with a drop reason never starts one. In a sub-agent's own stream every record has the
    reason "sidechain"; whoever reads such a stream takes that reason off first.
    """
    return (
        record.fate is Fate.CONVERSATION
        and record.role == "user"
        and not record.reason
        and conversational_text(record, policy) != ""
    )


def is_dropped_tool(block: Block, policy: RetainPolicy) -> bool:
    """Tell whether the block calls a memory's own tool, so that the call and its result are dropped.

    Otherwise what was recalled would be retained again.
    """
    return block.type == "tool_use" and _is_operational(block.name, policy.operational_words)


def is_channel_message(block: Block, policy: RetainPolicy) -> str:
    """Return the text that the block sends to a person through a chat tool, or "" if it does not."""
    if block.type != "tool_use" or not block.name.startswith(_TOOL_PREFIX):
        return ""
    if _is_operational(block.name, policy.operational_words):
        return ""
    value = raw_value(block.input)
    if not isinstance(value, dict):
        return ""
    texts = (value.get(key) for key in _OUTGOING)
    return next((storable(text) for text in texts if isinstance(text, str) and text.strip()), "")


def _extracted(record: Record, policy: RetainPolicy) -> str:
    if isinstance(record.content, str):
        return record.content
    speaks_through_tools = record.role == "assistant"
    parts = []
    for block in record.content:
        if block.type == "text":
            parts.append(block.text.strip())
        elif speaks_through_tools and block.type == "tool_use":
            parts.append(is_channel_message(block, policy).strip())
    return "\n".join(part for part in parts if part)


def _unwrapped(text: str, policy: RetainPolicy, *, open_ended: bool) -> str:
    """Return the text without envelopes' tags and without whole injected elements."""
    tags = tuple(_TAG.finditer(text))
    if not tags:
        return text
    removed = _ALWAYS if policy.harness_wrappers else _BY_DEFAULT
    partners = _partners(tags)
    closed = frozenset(partners.values())
    kept = []
    at = 0
    for index, tag in enumerate(tags):
        start, stop = tag.span()
        if start < at:
            continue
        name = tag["name"]
        if name in _ENVELOPES:
            if index not in partners and index not in closed:
                continue
        elif tag["close"] or name not in removed:
            continue
        elif index in partners:
            stop = tags[partners[index]].end()
        elif open_ended and name in _MEMORIES:
            stop = len(text)
        else:
            continue
        kept.append(text[at:start])
        at = stop
    kept.append(text[at:])
    return "".join(kept)


def _partners(tags: Sequence[re.Match[str]]) -> dict[int, int]:
    """Return, by index, the tag that ends the element of each opening tag that has one.

    Elements of one name may nest. An opening tag that is left over, as when a memory quotes the
    tag around it, ends at the next closing tag of its name.
    """
    partners: dict[int, int] = {}
    opened: dict[str, list[int]] = {}
    for index, tag in enumerate(tags):
        if tag[0].endswith("/>"):
            partners[index] = index
        elif not tag["close"]:
            opened.setdefault(tag["name"], []).append(index)
        elif stack := opened.get(tag["name"]):
            partners[stack.pop()] = index
    nearest: dict[str, int] = {}
    for index in range(len(tags) - 1, -1, -1):
        tag = tags[index]
        if tag["close"]:
            nearest[tag["name"]] = index
        elif index not in partners and tag["name"] in nearest:
            partners[index] = nearest[tag["name"]]
    return partners


@lru_cache(maxsize=1024)
def _is_operational(name: str, words: tuple[str, ...]) -> bool:
    """Tell whether an MCP tool manages something instead of talking to someone.

    Words count only where a word of the tool's own name starts: `search_notes` and `quickSearch`
    have `search`, `research` has not.
    """
    if not name.startswith(_TOOL_PREFIX):
        return False
    if _OWN_SERVER in name.rpartition("__")[0]:
        return True
    tool = _HUMP.sub("_", name.rpartition("__")[2]).replace("-", "_").lower()
    return any(f"_{word}" in f"_{tool}" for word in words)
