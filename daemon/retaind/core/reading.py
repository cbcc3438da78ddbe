"""One pass over a window's records: what becomes of each, and the messages that are retained."""

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Final, Literal

import msgspec

from retaind.core.carry import Carry, bounded_cwd, bounded_id
from retaind.core.contents import Content, content_of
from retaind.core.conversation import starts_turn
from retaind.core.messages import Message
from retaind.core.policy import RetainPolicy
from retaind.core.records import Fate, Record

Kind = Literal["session", "subagent"]
Redact = Callable[[str], tuple[str, Mapping[str, int]]]
"""Takes secrets out of a text; returns it with the number of them by kind."""

PLANNED: Final = "planned"

_REASONS: Final = {
    Fate.CONVERSATION: "",
    Fate.MARKER: "marker",
    Fate.TRANSPORT: "transport",
    Fate.UNKNOWN: "unknown",
    Fate.CORRUPT: "corrupt",
}
_SIDECHAIN: Final = "sidechain"
_LEAST_REASON: Final = "empty"
"""Says the least about a message; whatever drops another of its lines says more."""
_UUID_CHARS: Final = 64
_TIMESTAMP_CHARS: Final = 40


def opens_turn(record: Record, kind: Kind, policy: RetainPolicy) -> bool:
    """Tell whether a turn starts here (R2); in a sub-agent's own stream "sidechain" is no reason."""
    if kind == "subagent" and record.reason == _SIDECHAIN:
        record = msgspec.structs.replace(record, reason="")
    return starts_turn(record, policy)


class _More:
    """What further lines add to a message."""

    __slots__ = ("actions", "end", "redacted", "texts")

    def __init__(self, message: Message) -> None:
        self.texts = [message.text] if message.text else []
        self.actions = list(message.actions)
        self.end = message.end
        self.redacted = dict(message.redacted)

    def add(self, line: Message) -> None:
        if line.text:
            self.texts.append(line.text)
        self.actions += line.actions
        self.end = line.end
        for kind, times in line.redacted:
            self.redacted[kind] = self.redacted.get(kind, 0) + times

    def added_to(self, message: Message) -> Message:
        return msgspec.structs.replace(
            message,
            text="\n".join(self.texts),
            actions=tuple(self.actions),
            end=self.end,
            redacted=tuple(self.redacted.items()),
        )


class Reading:
    """Goes over records once, in order, from the state in one carry to the state in the next.

    `records`, `spoken` (messages), `turns`, `planned` and `dropped` count what this pass adds, and
    `keys` are the keys of the records that it decided on first.
    """

    def __init__(
        self,
        carry: Carry,
        kind: Kind,
        duplicates: AbstractSet[int],
        policy: RetainPolicy,
        redact: Redact,
    ) -> None:
        self._before = carry
        self._kind: Kind = kind
        self._duplicates = duplicates
        self._policy = policy
        self._redact = redact
        self._open_id = carry.open_id
        self._open_fate = carry.open_fate
        self._open_said = carry.open_said
        self._due = dict.fromkeys(carry.due)
        self._cwd = carry.cwd
        self._messages: list[Message] = []
        self._more: _More | None = None
        self._found: dict[str, int] = {}
        self.keys: dict[int, None] = {}
        self.records = self.spoken = self.turns = self.planned = 0
        self.dropped: dict[str, int] = {}

    def read(self, records: Iterable[Record]) -> None:
        """Take the records."""
        in_subagent = self._kind == "subagent"
        for record in records:
            if not self._cwd and record.cwd:
                self._cwd = bounded_cwd(record.cwd)
            reason = record.reason or _REASONS[record.fate]
            if reason == "" or (
                in_subagent and reason == _SIDECHAIN and record.fate is Fate.CONVERSATION
            ):
                self._converse(record)
            else:
                self.records += 1
                self._drop(reason, 1)

    def messages(self) -> tuple[Message, ...]:
        """Return what is retained, in order."""
        self._close()
        return tuple(self._messages)

    def carry(self) -> Carry:
        """Return the state after the last record."""
        return Carry(
            open_id=self._open_id,
            open_fate=self._open_fate,
            open_said=self._open_said,
            due=tuple(self._due),
            turns=self._before.turns + self.turns,
            cwd=self._cwd,
            copy_of=self._before.copy_of,
            copied=self._before.copied,
        )

    def _converse(self, record: Record) -> None:
        """Take one record of the conversation."""
        content = content_of(record, self._policy, self._due, self._clean)
        starts = (
            record.role == "user"
            and content.text != ""
            and opens_turn(record, self._kind, self._policy)
        )
        self.turns += starts
        fate = self._fate(record, content)
        said = content.text != "" or content.calls
        goes_on, first = self._settle(record, fate, starts=starts, said=said)
        if fate == PLANNED:
            line = self._line(record, content, starts=starts, first=first)
            self._retain(line, joins=goes_on and not first)
        if self._found:
            self._found = {}

    def _settle(self, record: Record, fate: str, *, starts: bool, said: bool) -> tuple[bool, bool]:
        """Count the record's item.

        Returns whether the record goes on with the open message, and whether its item is retained
        from here on.
        """
        message_id = bounded_id(record.message_id)
        if message_id and message_id == self._open_id:
            return True, self._settle_more(fate, said=said)
        # A tool's result, or a user's record in which nothing is said, may stand between the lines
        # of one message; anything else ends it.
        if starts or message_id or record.role != "user":
            self._open_id, self._open_fate, self._open_said = message_id, fate, said
        return False, self._settle_new(fate, said=said)

    def _line(self, record: Record, content: Content, *, starts: bool, first: bool) -> Message:
        return Message(
            role=record.role,
            text=self._clean(content.text),
            actions=tuple(content.actions) if content.actions else (),
            timestamp=record.timestamp[:_TIMESTAMP_CHARS],
            uuid=record.uuid[:_UUID_CHARS],
            start=record.start,
            end=record.end,
            turn=max(self._before.turns + self.turns - 1, 0),
            starts_turn=starts,
            message_id=record.message_id,
            is_first=first,
            redacted=tuple(self._found.items()) if self._found else (),
        )

    def _retain(self, line: Message, *, joins: bool) -> None:
        """Add a line to the message retained last, if it is the same and nothing stands between."""
        if joins and self._messages and self._messages[-1].message_id == line.message_id:
            if self._more is None:
                self._more = _More(self._messages[-1])
            self._more.add(line)
            return
        self._close()
        self._messages.append(line)

    def _close(self) -> None:
        """Finish the message retained last."""
        if self._more is not None:
            self._messages[-1] = self._more.added_to(self._messages[-1])
            self._more = None

    def _fate(self, record: Record, content: Content) -> str:
        """Decide on one record of the conversation: "planned", or why it is dropped. Keep its key."""
        if record.key:
            if record.key in self._duplicates or record.key in self.keys:
                return "duplicate"
            self.keys[record.key] = None
        if record.role not in self._policy.roles:
            return "role"
        if content.actions or (content.text and len(content.text) >= self._policy.min_chars):
            return PLANNED
        if content.withheld:
            return "memory_tool"
        if content.text:
            return "too_short"
        return "tool_result" if content.results else "empty"

    def _settle_new(self, fate: str, *, said: bool) -> bool:
        """Count a new item; True when it is retained."""
        self.records += 1
        self.spoken += said
        if fate == PLANNED:
            self.planned += 1
            return True
        self._drop(fate, 1)
        return False

    def _settle_more(self, fate: str, *, said: bool) -> bool:
        """Take a further line of the open message; True when the message is retained from here on."""
        if said and not self._open_said:
            self._open_said = True
            self.spoken += 1
        before = self._open_fate
        if before == PLANNED or (before != _LEAST_REASON and fate != PLANNED) or fate == before:
            return False
        self._drop(before, -1)
        self._open_fate = fate
        if fate == PLANNED:
            self.planned += 1
            return True
        self._drop(fate, 1)
        return False

    def _drop(self, reason: str, items: int) -> None:
        self.dropped[reason] = self.dropped.get(reason, 0) + items

    def _clean(self, text: str) -> str:
        """Take the secrets out of a text of the current record and count them."""
        if not text or not self._policy.redact:
            return text
        cleaned, kinds = self._redact(text)
        if kinds:
            for kind, times in kinds.items():
                self._found[kind] = self._found.get(kind, 0) + times
        return cleaned
