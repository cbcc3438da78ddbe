"""The three forms of a document: how a message is written, and how many bytes that takes.

* text: a line `[role: R]`, what was said, a line for each action (`> Tool target`, `< result`), and a
  line `[R:end]`; messages are separated by one blank line
* json: one array of `{role, content: [blocks]}`
* jsonl: one object a line, `{role, timestamp, uuid, text, actions}`

The byte counts of frame, text and actions add up to no less than the message takes in a document,
separator included, so that a plan can size documents without writing them.
"""

from functools import lru_cache
from typing import Any, Final, Protocol

import msgspec

from retaind.core.messages import Action, Message, utf8_bytes
from retaind.core.policy import RetainPolicy

_encode = msgspec.json.Encoder().encode


class Form(Protocol):
    """How documents are written."""

    @property
    def opening(self) -> str:
        """What stands before the first message."""
        ...

    @property
    def separator(self) -> str:
        """What stands between two messages."""
        ...

    @property
    def closing(self) -> str:
        """What stands after the last message."""
        ...

    def written(self, message: Message) -> str:
        """Return the message as it stands in the document."""
        ...

    def frame_bytes(self, message: Message) -> int:
        """Return the bytes around text and actions, with the separator."""
        ...

    def text_bytes(self, text: str) -> int:
        """Return the bytes of a message's text."""
        ...

    def action_bytes(self, action: Action) -> int:
        """Return the bytes of one action."""
        ...


def form_of(policy: RetainPolicy) -> Form:
    """Return the form that the policy asks for."""
    if policy.format == "text":
        return _TEXT
    if policy.format == "jsonl":
        return _JSONL
    return _FULL_JSON if policy.tools == "full" else _JSON


def message_bytes(form: Form, message: Message) -> int:
    """Return how many bytes a message takes in a document, or a few more."""
    size = form.frame_bytes(message)
    if message.text:
        size += form.text_bytes(message.text)
    for action in message.actions:
        size += form.action_bytes(action)
    return size


def action_line(action: Action) -> str:
    """Return an action as people read it."""
    if action.kind == "result":
        return f"< {action.body}"
    return f"> {action.name} {action.body}" if action.body else f"> {action.name}"


class _Text:
    opening: Final = ""
    separator: Final = "\n\n"
    closing: Final = ""

    def written(self, message: Message) -> str:
        role = message.speaker
        body = message.text
        if message.actions:
            lines = [action_line(action) for action in message.actions]
            body = "\n".join([body, *lines] if body else lines)
        return f"[role: {role}]\n{body}\n[{role}:end]"

    def frame_bytes(self, message: Message) -> int:
        return _text_frame_bytes(message.role)

    def text_bytes(self, text: str) -> int:
        return utf8_bytes(text)

    def action_bytes(self, action: Action) -> int:
        return 4 + utf8_bytes(action.name) + utf8_bytes(action.body)


@lru_cache(maxsize=64)
def _text_frame_bytes(role: str) -> int:
    widest = max(utf8_bytes(role), utf8_bytes("tool"))
    return len("[role: ]\n\n[:end]") + 2 * widest + len(_Text.separator)


class _Json:
    opening: Final = "["
    separator: Final = ","
    closing: Final = "]"

    def __init__(self, *, full: bool) -> None:
        self._full = full

    def written(self, message: Message) -> str:
        blocks = [self._block(action) for action in message.actions]
        if message.text:
            blocks.insert(0, {"type": "text", "text": message.text})
        return _encode({"role": message.role, "content": blocks}).decode()

    def frame_bytes(self, message: Message) -> int:
        return 1 + len(_encode({"role": message.role, "content": []}))

    def text_bytes(self, text: str) -> int:
        return 1 + len(_encode({"type": "text", "text": text}))

    def action_bytes(self, action: Action) -> int:
        return 1 + len(_encode(self._block(action)))

    def _block(self, action: Action) -> dict[str, Any]:
        if action.kind == "result":
            return {"type": "tool_result", "tool_use_id": action.id, "content": action.body}
        if not self._full:
            return {"type": "tool_use", "name": action.name, "target": action.body}
        return {
            "type": "tool_use",
            "id": action.id,
            "name": action.name,
            "input": _object_or_text(action.body),
        }


class _Jsonl:
    opening: Final = ""
    separator: Final = "\n"
    closing: Final = ""

    def written(self, message: Message) -> str:
        line = self._line(message, message.text)
        if message.actions:
            line["actions"] = [action_line(action) for action in message.actions]
        return _encode(line).decode()

    def frame_bytes(self, message: Message) -> int:
        return 1 + len(_encode(self._line(message, "") | {"actions": []}))

    def text_bytes(self, text: str) -> int:
        return len(_encode(text)) - 2

    def action_bytes(self, action: Action) -> int:
        return 1 + len(_encode(action_line(action)))

    def _line(self, message: Message, text: str) -> dict[str, Any]:
        return {
            "role": message.speaker,
            "timestamp": message.timestamp,
            "uuid": message.uuid,
            "text": text,
        }


def _object_or_text(body: str) -> Any:
    """Return the input as the object it was, or as text where it was cut or is none."""
    try:
        value = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return body
    return value if isinstance(value, dict) else body


_TEXT: Final = _Text()
_JSON: Final = _Json(full=False)
_FULL_JSON: Final = _Json(full=True)
_JSONL: Final = _Jsonl()
