"""Records: one parsed line of a transcript, in a shape that no longer depends on the host.

A record has a *fate*, decided by its host's table, that says what it is for:

* CONVERSATION  something that a person or the agent said or did; may become part of a message
* MARKER        a place in the conversation worth knowing (a compaction, an interruption); never text to retain
* TRANSPORT     the host's own bookkeeping
* UNKNOWN       a type that the host's table does not name; kept in the vault, counted, never an error
* CORRUPT       bytes from which no record could be read; kept in the vault, counted by reason
"""

from enum import IntEnum

import msgspec


class Fate(IntEnum):
    """What a record is for; see the module's text."""

    CONVERSATION = 0
    MARKER = 1
    TRANSPORT = 2
    UNKNOWN = 3
    CORRUPT = 4


class Block(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One content block as Claude-like hosts write it; only the fields of its `type` are filled.

    `input` and `content` stay undecoded JSON, because most of them are never looked into.
    """

    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    tool_use_id: str = ""
    is_error: bool | None = None
    input: msgspec.Raw = msgspec.Raw(b"")
    content: msgspec.Raw = msgspec.Raw(b"")


class Record(msgspec.Struct, frozen=True, gc=False):
    """One record, with the bytes `start` to `end` of the generation that it was read from.

    `reason` is the drop reason of a record that will not become conversation ("transport", "meta",
    "sidechain", "compact_summary", "synthetic", "unknown", "nul", "truncated", "not_utf8", ...), or "".
    `message_id` joins records into one message; "" stands alone. `key` is 63 bits over uuid and
    normalised content, 0 when the record has no uuid: equal keys are the same record in two files.
    """

    start: int
    end: int
    fate: Fate
    kind: str
    reason: str = ""
    role: str = ""
    content: str | tuple[Block, ...] = ()
    message_id: str = ""
    uuid: str = ""
    timestamp: str = ""
    cwd: str = ""
    key: int = 0
