"""Payloads: a planned document as a server takes it, and the same document in two halves."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NamedTuple

import msgspec

from retaind.core.facts import SessionFacts
from retaind.core.messages import Draft, tokens
from retaind.core.policy import RetainPolicy
from retaind.core.render import Rendered, metadata, tags
from retaind.memory.hindsight.documents import Payload, document_id

SHOWN_HASH_CHARS: Final = 16
"""Of a hash in metadata: the server shows metadata to its model, where each character is paid for."""


class Span(NamedTuple):
    """One message of a document: characters of the text, bytes of the generation.

    `counts` is 1 where the message counts as a record, 0 where an earlier part of it does.
    """

    first: int
    last: int
    start: int
    end: int
    counts: int
    timestamp: str


@dataclass(frozen=True, slots=True)
class Made:
    """A document that is ready to be stored; `start` and `end` are its bytes of the generation."""

    start: int
    end: int
    payload: Payload
    spans: tuple[Span, ...]

    @property
    def records(self) -> int:
        """How many records are retained with it."""
        return sum(span.counts for span in self.spans)

    @property
    def tokens(self) -> int:
        """The size of its text."""
        return tokens(self.payload.content)


class Origin(NamedTuple):
    """What the documents of one generation have in common. `head` names the stream's first bytes."""

    facts: SessionFacts
    kind: str
    head: str


def make(
    draft: Draft, text: Rendered, raw: bytes, origin: Origin, policy: RetainPolicy, now: str
) -> Made:
    """Make the document of a draft; `raw` are the generation's bytes from its start to its end."""
    own = text.parts[len(draft.context) :]
    spans = tuple(
        Span(part.start, part.end, m.start, m.end, int(m.is_first), m.timestamp)
        for part, m in zip(own, draft.messages, strict=True)
    )
    payload = Payload(
        content=text.content,
        document_id="",
        context=policy.context,
        metadata=metadata(policy, origin.facts, now, len(draft.messages), _built_in(origin)),
        tags=tags(policy, origin.facts, now),
        timestamp=None,
    )
    return _named(Made(draft.start, draft.end, payload, spans), raw, origin.facts.session_id)


def halves(made: Made, session_id: str, raw: bytes) -> tuple[Made, ...]:
    """Return a document as two, neither with the context of the whole; a single message is one.

    () when it is a single message already, and has no context to leave out.
    """
    content, spans = made.payload.content, made.spans
    closing = content[spans[-1].last :]
    opening = "[" if closing else ""  # the one form that closes a document is a JSON array
    bare = opening + content[spans[0].first :]
    if len(spans) == 1 and bare == content:
        return ()
    at = len(spans) // 2
    groups = [group for group in (spans[:at], spans[at:]) if group]
    edges = [made.start, *(group[0].start for group in groups[1:]), made.end]
    found = []
    for nth, group in enumerate(groups):
        text = opening + content[group[0].first : group[-1].last] + closing
        moved = group[0].first - len(opening)
        part = Made(
            edges[nth],
            edges[nth + 1],
            replace(made.payload, content=text),
            tuple(s._replace(first=s.first - moved, last=s.last - moved) for s in group),
        )
        piece = raw[edges[nth] - made.start : edges[nth + 1] - made.start]
        found.append(_named(part, piece, session_id))
    return tuple(found)


def encode_spans(spans: tuple[Span, ...]) -> bytes:
    """Return spans as JSON."""
    return msgspec.json.encode(spans)


def decode(item: bytes, spans: bytes, start: int, end: int) -> Made:
    """Read a stored document."""
    payload = msgspec.convert(
        {"context": "", "tags": (), "timestamp": None, **msgspec.json.decode(item)}, Payload
    )
    return Made(start, end, payload, msgspec.json.decode(spans, type=tuple[Span, ...]))


def _built_in(origin: Origin) -> Mapping[str, str]:
    return {"kind": origin.kind, "stream_head": origin.head}


def _named(made: Made, raw: bytes, session_id: str) -> Made:
    """Fill in what follows from the text and the bytes: id, range, hash, count and time."""
    raw_hash = hashlib.sha256(raw).hexdigest()
    payload = replace(
        made.payload,
        document_id=document_id(session_id, made.start, raw_hash),
        timestamp=next((s.timestamp for s in made.spans if _is_time(s.timestamp)), None),
        metadata={
            **made.payload.metadata,
            "message_count": str(len(made.spans)),
            "range": f"{made.start}-{made.end}",
            "payload_sha256": made.payload.hash[:SHOWN_HASH_CHARS],
        },
    )
    return replace(made, payload=payload)


def _is_time(text: str) -> bool:
    """Whether a server will take this as a time; others would have it refuse the document."""
    try:
        return bool(text) and bool(datetime.fromisoformat(text))
    except ValueError:
        return False
