"""Messages and drafts: what a plan is made of, redacted and ready to be rendered."""

from dataclasses import dataclass
from typing import Literal

import msgspec

Counted = tuple[tuple[str, int], ...]
"""Kinds and how often each occurred."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a document may become, in tokens of rendered text; a token is 4 bytes of UTF-8."""

    document_tokens: int = 8000

    @property
    def document_bytes(self) -> int:
        """The same bound in bytes."""
        return self.document_tokens * 4


def utf8_bytes(text: str) -> int:
    """Return the length of a text in bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def tokens(text: str) -> int:
    """Return the tokens of a text: its bytes of UTF-8 divided by 4, rounded up."""
    return -(-utf8_bytes(text) // 4)


class Action(msgspec.Struct, frozen=True, gc=False):
    """A tool call, or what it returned.

    `body` is the call's primary target (tools = summary), its input as JSON text (tools = full), or
    the result's text. `id` joins a call and its result.
    """

    kind: Literal["call", "result"]
    name: str
    body: str
    id: str = ""


class Message(msgspec.Struct, frozen=True, gc=False):
    """What one speaker said and did in one go, in the bytes `start` to `end` of the generation.

    `turn` is the ordinal of its turn, from 0; what precedes the first turn belongs to it. `is_first`
    is False where an earlier Message already counts for the same message of the host: when other
    messages stood in between, when a window ended in its middle, or when it was cut for size.
    `redacted` counts, by kind, the secrets that were taken out of this message.
    """

    role: str
    text: str
    actions: tuple[Action, ...]
    timestamp: str
    uuid: str
    start: int
    end: int
    turn: int
    starts_turn: bool
    message_id: str
    is_first: bool = True
    redacted: Counted = ()

    @property
    def speaker(self) -> str:
        """Who speaks: the role, but "tool" where nothing but results of tools is said."""
        actions = self.actions
        if self.text or not actions or actions[0].kind == "call":
            return self.role
        return self.role if any(action.kind == "call" for action in actions) else "tool"


class Draft(msgspec.Struct, frozen=True, gc=False):
    """One document to be: the bytes `start` to `end` and the messages in them.

    `context` are messages of earlier turns, rendered before the others to be understood, but not
    counted (chunked mode).
    """

    start: int
    end: int
    messages: tuple[Message, ...]
    context: tuple[Message, ...] = ()

    @property
    def planned(self) -> int:
        """How many items of the plan's count become retained with this document."""
        return sum(message.is_first for message in self.messages)

    @property
    def timestamp(self) -> str | None:
        """When the document's content occurred: the first timestamp among its own messages."""
        return next((message.timestamp for message in self.messages if message.timestamp), None)
