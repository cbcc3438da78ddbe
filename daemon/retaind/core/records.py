"""Records: one parsed line of a transcript, in a shape that no longer depends on the host.

A record has a *fate*, decided by its host's table, that says what it is for:

* CONVERSATION  something that a person or the agent said or did; may become part of a message
* MARKER        a place in the conversation worth knowing, such as a compaction; never text to retain
* TRANSPORT     the host's own bookkeeping
* UNKNOWN       a type that the host's table does not name; kept in the vault, counted, never an error
* CORRUPT       bytes from which no record could be read; kept in the vault, counted by reason
"""

import hashlib
import json
from enum import IntEnum
from typing import Any, Final

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

    `input` and `content` stay undecoded JSON, because most of them are never looked into; `raw_value`
    reads them. A block that a host wrote as something else than an object has the type "" and
    stands undecoded in `content`.
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

    `end` of the last record of a line lies after the newline, so that it is where a cursor may stand.
    `reason` is the drop reason of a record that will not become conversation ("transport", "meta",
    "compact_summary", "synthetic", "unknown", "nul", "truncated", ...), or "". A CONVERSATION record
    with the reason "sidechain" belongs to a sub-agent: its own stream retains it, a session drops it.
    `message_id` joins records into one message; "" stands alone. `key` is 63 bits over uuid and
    normalised content, 0 when the record has no uuid or can never become conversation: equal keys
    are the same record in two files. `lossy` says that bytes which are not UTF-8 became U+FFFD.
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
    lossy: bool = False


_KEY_MASK: Final = 2**63 - 1
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def record_key(uuid: str, role: str, content: str | tuple[Block, ...]) -> int:
    """Return the identity of a record across files: from 1 to 2**63 - 1, or 0 without a uuid.

    A string counts as the one text block that a resumed copy turns it into. Nothing else of a line
    takes part: copies carry other session ids and other flags.
    """
    if not uuid:
        return 0
    blocks = (Block("text", content),) if isinstance(content, str) else content
    digest = hashlib.sha256(_encode((uuid, role, blocks))).digest()
    return int.from_bytes(digest[:8]) & _KEY_MASK or 1


def raw_value(raw: msgspec.Raw) -> Any:
    """Decode a block's undecoded JSON; None where it is absent or no JSON. Never raises.

    Strings inside may hold lone surrogates: pass text through `storable` before it is encoded.
    """
    data = bytes(raw)
    try:
        return _decode(data)
    except (msgspec.DecodeError, RecursionError):
        return lenient_value(data)


def lenient_value(data: bytes) -> Any:
    """Decode JSON that has lone surrogates, raw control characters or invalid UTF-8; None if it is none."""
    try:
        return json.loads(data.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return None


def storable(text: str) -> str:
    """Return text that every encoder and SQLite take: no NUL, and U+FFFD for each lone surrogate."""
    if "\0" in text:
        text = text.replace("\0", "")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
