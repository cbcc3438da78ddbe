"""Tool calls and their results as actions: named, shortened, and without secrets."""

import json
from collections.abc import Callable
from typing import Any, Final

import msgspec

from retaind.core.messages import Action
from retaind.core.policy import RetainPolicy
from retaind.core.records import Block, raw_value, storable

Clean = Callable[[str], str]
"""Takes the secrets out of a text and keeps count of them."""

_TARGET_CHARS: Final = 100
_NAME_CHARS: Final = 64
_LINE_CHARS: Final = 4096
# A secret that begins before the cut may end behind it; the longest, a private key, takes some kB.
_SLACK_CHARS: Final = 16_384


class _Targets(msgspec.Struct):
    """The fields of a tool's input that may name what it works on, in order of preference."""

    file_path: Any = None
    path: Any = None
    notebook_path: Any = None
    command: Any = None
    pattern: Any = None
    query: Any = None
    url: Any = None
    name: Any = None
    id: Any = None
    skill: Any = None
    subject: Any = None
    description: Any = None


_decode_targets = msgspec.json.Decoder(_Targets).decode


def called(block: Block, policy: RetainPolicy, clean: Clean) -> Action:
    """Return a `tool_use` block as an action: its target, or with tools = full its whole input, capped."""
    name = storable(block.name)[:_NAME_CHARS]
    if policy.tools == "summary":
        return Action("call", name, _target(block.input, clean))
    body = _capped(_input_text(block.input), policy.tool_input_chars, clean)
    return Action("call", name, body, storable(block.id)[:_NAME_CHARS])


def returned(block: Block, policy: RetainPolicy, clean: Clean) -> Action | None:
    """Return a `tool_result` block as an action, capped; None when it has no text."""
    text = storable(_result_text(raw_value(block.content))).strip()
    if not text:
        return None
    body = _capped(text, policy.tool_result_chars, clean)
    return Action("result", "", body, storable(block.tool_use_id)[:_NAME_CHARS])


def _target(raw: msgspec.Raw, clean: Clean) -> str:
    """Return the first line of the first field that names something, at most 100 characters."""
    for value in _target_values(raw):
        if isinstance(value, str) and (text := value.strip()):
            line = clean(storable(text.partition("\n")[0][:_LINE_CHARS]).rstrip())
            return line if len(line) <= _TARGET_CHARS else line[: _TARGET_CHARS - 1] + "…"
    return ""


def _target_values(raw: msgspec.Raw) -> tuple[Any, ...]:
    try:
        return msgspec.structs.astuple(_decode_targets(raw))
    except (msgspec.DecodeError, RecursionError):
        value = raw_value(raw)
    if not isinstance(value, dict):
        return ()
    return tuple(value.get(name) for name in _Targets.__struct_fields__)


def _input_text(raw: msgspec.Raw) -> str:
    """Return a tool's input as compact JSON text, "" where it has none."""
    value = raw_value(raw)
    if value is None:
        return ""
    try:
        return storable(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    except RecursionError:
        return storable(bytes(raw).decode("utf-8", "replace"))


def _result_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    texts = (
        item.get("text") for item in value if isinstance(item, dict) and item.get("type") == "text"
    )
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def _capped(text: str, chars: int, clean: Clean) -> str:
    """Return at most `chars` characters of the cleaned text, with a note that says what is missing."""
    cleaned = clean(text[: chars + _SLACK_CHARS])
    if len(text) <= chars + _SLACK_CHARS and len(cleaned) <= chars:
        return cleaned
    return f"{cleaned[:chars]}… [cut, {len(text)} characters in all]"
