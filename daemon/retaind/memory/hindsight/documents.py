"""Documents as they go to the server, and as its listing shows them."""

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec

_NAMESPACE: Final = uuid.UUID("6d1f4c9a-9c63-5d0f-8f5e-0b7a4e6c2d11")
_ID_HASH_CHARS: Final = 12


@dataclass(frozen=True, slots=True)
class Payload:
    """One item of a retain. Tags and metadata go with each: the server forgets those that do not."""

    content: str
    document_id: str
    context: str
    metadata: Mapping[str, str]
    tags: tuple[str, ...]
    timestamp: str | None
    update_mode: str | None = None

    @property
    def hash(self) -> str:
        """SHA-256 of the content, in hex."""
        return hashlib.sha256(self.content.encode()).hexdigest()

    def encode(self) -> bytes:
        """Return the item as JSON, the same bytes each time. Fields without a value are left out."""
        item = {
            "content": self.content,
            "document_id": self.document_id,
            "context": self.context,
            "metadata": dict(self.metadata),
            "tags": list(self.tags),
            "timestamp": self.timestamp,
            "update_mode": self.update_mode,
        }
        return msgspec.json.encode({name: value for name, value in item.items() if value})


class Held(NamedTuple):
    """A window document that the server has: the bytes it was made from, and the hash of those bytes."""

    document_id: str
    start: int
    end: int
    raw_hash: str


def document_id(session_id: str, start: int, raw_hash: str) -> str:
    """Name a window's document: the same bytes, the same id; other bytes, never the same."""
    return f"{session_id}@{start}-{raw_hash[:_ID_HASH_CHARS]}"


def is_of(raw_hash: str, held: Held) -> bool:
    """Whether bytes with this SHA-256 are those that a held document was made from."""
    return raw_hash[:_ID_HASH_CHARS] == held.raw_hash


def operation_id(url: str, bank: str, document: str, payload_hash: str, attempt: int) -> str:
    """Name the operation that retains a document, so that sending it again is no second operation."""
    return str(uuid.uuid5(_NAMESPACE, "\n".join((url, bank, document, payload_hash, str(attempt)))))


def body(item: bytes, operation: str) -> bytes:
    """Return the request that retains an encoded item: one document, asynchronously."""
    return b'{"async":true,"operation_id":"%s","items":[%s]}' % (operation.encode(), item)


def held(session_id: str, listed: Mapping[str, Any]) -> Held | None:
    """Read a listed document; None if it is no window of this session."""
    name = listed.get("id")
    found = listed.get("document_metadata") or {}
    if not isinstance(name, str) or not name.startswith(f"{session_id}@"):
        return None
    start, _, raw_hash = name.removeprefix(f"{session_id}@").partition("-")
    first, _, last = str(found.get("range", "")).partition("-")
    if not (start.isdecimal() and first == start and last.isdecimal() and int(last) > int(start)):
        return None
    return Held(name, int(start), int(last), raw_hash)
