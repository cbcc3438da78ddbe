"""Builds the records of a conversation, byte range after byte range, as a host's parser would."""

import json
from collections.abc import Mapping
from itertools import count
from typing import Any

import msgspec

from retaind.core.plan import Carry, Limits, Plan, Window, plan
from retaind.core.policy import RetainPolicy
from retaind.core.reading import Kind, Redact
from retaind.core.records import Block, Fate, Record, record_key

NOTHING: Mapping[str, int] = {}
WIDE = Limits(document_tokens=10**9)


def as_it_is(text: str) -> tuple[str, Mapping[str, int]]:
    """Redact nothing."""
    return text, NOTHING


def text(what: str) -> Block:
    return Block("text", what)


def thinking() -> Block:
    return Block("thinking")


def image() -> Block:
    return Block("image")


def call(name: str, identifier: str = "", /, **given: Any) -> Block:
    return Block(
        "tool_use", id=identifier, name=name, input=msgspec.Raw(json.dumps(given).encode())
    )


def result(identifier: str, what: object = "done") -> Block:
    return Block(
        "tool_result", tool_use_id=identifier, content=msgspec.Raw(json.dumps(what).encode())
    )


class Talk:
    """A transcript in the making. Each line is as long as its text, so that ranges look like real ones."""

    def __init__(self, start: int = 0) -> None:
        self.records: list[Record] = []
        self._end = start
        self._serial = count(1)

    @property
    def end(self) -> int:
        return self._end

    def user(self, *content: Block | str, reason: str = "") -> Record:
        return self._say("user", content, "", reason)

    def agent(self, *content: Block | str, message: str = "", reason: str = "") -> Record:
        return self._say("assistant", content, message, reason)

    def aside(self, fate: Fate = Fate.TRANSPORT, reason: str = "transport") -> Record:
        return self._append(Record(0, 0, fate, "progress", reason=reason), 40)

    def again(self, record: Record) -> Record:
        """Write a record once more, as a copied file does."""
        return self._append(record, record.end - record.start)

    def window(self, since: int = 0, kind: Kind = "session", **more: Any) -> Window:
        """Return the records from the offset `since` to the end."""
        records = tuple(record for record in self.records if record.start >= since)
        return Window(since, self._end, records, kind, **more)

    def _say(
        self, role: str, content: tuple[Block | str, ...], message: str, reason: str
    ) -> Record:
        whole: str | tuple[Block, ...] = tuple(
            text(item) if isinstance(item, str) else item for item in content
        )
        if len(content) == 1 and isinstance(content[0], str):
            whole = content[0]
        serial = next(self._serial)
        uuid = f"uuid-{serial}"
        record = Record(
            start=0,
            end=0,
            fate=Fate.CONVERSATION,
            kind=role,
            reason=reason,
            role=role,
            content=whole,
            message_id=message,
            uuid=uuid,
            timestamp=f"2026-09-15T08:{serial // 60 % 60:02}:{serial % 60:02}.000Z",
            cwd="/home/dev/work/proj",
            key=record_key(uuid, role, whole),
        )
        return self._append(record, 200 + len(msgspec.json.encode(whole)))

    def _append(self, record: Record, length: int) -> Record:
        placed = msgspec.structs.replace(record, start=self._end, end=self._end + length)
        self._end = placed.end
        self.records.append(placed)
        return placed


def planned(
    window: Window,
    carry: Carry | None = None,
    policy: RetainPolicy | None = None,
    limits: Limits = WIDE,
    redact: Redact = as_it_is,
) -> Plan:
    """Plan with the defaults of these tests: one document as large as it likes."""
    return plan(carry or Carry(), window, policy or RetainPolicy(), limits, redact)


def texts(made: Plan) -> list[str]:
    """Return what is said in the documents, message by message."""
    return [
        message.text for document in made.documents for message in document.messages if message.text
    ]


def did(made: Plan) -> list[tuple[str, str, str]]:
    """Return what is done in the documents."""
    return [
        (action.kind, action.name, action.body)
        for document in made.documents
        for message in document.messages
        for action in message.actions
    ]
