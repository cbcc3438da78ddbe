"""Chunks: a document cut into pieces that stay the same while it grows.

Where a chunk ends depends only on the text from its start to the size limit, and a chunk ends there only
when text goes on behind the limit. So a chunk cut again is itself, all chunks but the last are settled
whatever is appended, and how a text arrived (at once, in parts) cannot be seen in its chunks.

A chunk ends with the last whole message that fits. A message that is too large alone is cut at the end of
a paragraph, a line, a sentence or a word, in this order of preference. What separates two of these stands
at the start of the next chunk, so that a chunk does not change when something follows it.
"""

import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

CHUNK_CHARS: Final = 1000
"""Default size limit of a chunk, in characters."""

HASH_BYTES: Final = 16

_LEAD: Final = re.compile(r"\s*(?:\[role: [^\]\n]{1,64}\]\n\s*)?")
_SENTENCE: Final = re.compile(r"[.!?…][\"')\]]*(?=\s)|[。！？]")  # noqa: RUF001 (sentences end so in Chinese and Japanese)
_SPACES: Final = " \t\r\u3000"
_OPENING: Final = re.compile(r"^\[role: ([^\]\n]{1,64})\]$", re.MULTILINE)
_JSON_GAP: Final = re.compile(r"[\s,\[\]]*")


class Region(NamedTuple):
    """One message in a text: characters `start` to `end`; what is no message has no role."""

    start: int
    end: int
    role: str | None
    timestamp: str | None = None


def chunk_hash(text: str) -> bytes:
    """Return what a chunk is known by: the first 16 bytes of the SHA-256 of its text."""
    return hashlib.sha256(text.encode()).digest()[:HASH_BYTES]


def chunk_ends(text: str, size: int = CHUNK_CHARS, messages: Sequence[int] = ()) -> list[int]:
    """Return where each chunk ends, in characters; the chunks are the text between those places.

    `messages` are the places, ascending, where messages end. No chunk is empty or longer than `size`.
    """
    ends: list[int] = []
    start = 0
    while len(text) - start > size:
        limit = start + size
        start = _whole_messages(start, limit, messages) or _soft_end(text, start, limit)
        ends.append(start)
    if start < len(text):
        ends.append(len(text))
    return ends


def pieces(text: str, ends: Sequence[int]) -> list[str]:
    """Return the text between the ends, from its start."""
    return [text[start:end] for start, end in zip((0, *ends), ends, strict=False)]


def separator(before: str, addition: str) -> str:
    """Return what stands between the end of a stored text and what is appended to it."""
    if not before:
        return ""
    if addition.startswith("[role: ") and before.endswith(":end]"):
        return "\n\n"
    return "" if before.endswith("\n") else "\n"


def messages_in(text: str) -> tuple[Region, ...]:
    """Find the messages of a text in one of retaind's three forms.

    Text between messages, and a text in no such form, are regions without a role, so that nothing is lost.
    """
    if text.lstrip(" \r\n\t[").startswith("{"):
        return tuple(_with_gaps(text, _json_messages(text)))
    return tuple(_with_gaps(text, _text_messages(text)))


def _whole_messages(start: int, limit: int, messages: Sequence[int]) -> int:
    """Return the end of the last message that ends in the window, or 0."""
    last = bisect_right(messages, limit) - 1
    return messages[last] if last >= 0 and messages[last] > start else 0


def _soft_end(text: str, start: int, limit: int) -> int:
    """Return the best place inside the window to cut a message that is larger than a chunk."""
    lead = _LEAD.match(text, start, limit)
    first = min((lead.end() if lead else start) + 1, limit)
    middle = max((start + limit) // 2, first)
    # What stands at the limit itself is known, and may open the next chunk.
    paragraph = text.rfind("\n\n", middle, limit + 1)
    if paragraph >= 0:
        return paragraph
    line = text.rfind("\n", first, limit + 1)
    if line >= 0:
        return line
    sentences = [sentence.end() for sentence in _SENTENCE.finditer(text, middle, limit)]
    if sentences:
        return sentences[-1]
    space = max(text.rfind(one, middle, limit) for one in _SPACES)
    return space if space >= 0 else limit


def _text_messages(text: str) -> Iterator[Region]:
    """Yield the blocks from `[role: R]` to `[R:end]`. An opening without an end is text."""
    unended: set[str] = set()
    at = 0
    for opening in _OPENING.finditer(text):
        role = opening[1]
        if opening.start() < at or role in unended:
            continue
        closing = f"\n[{role}:end]"
        end = text.find(closing, opening.end())
        if end < 0:
            unended.add(role)
            continue
        at = end + len(closing)
        yield Region(opening.start(), at, role)


def _json_messages(text: str) -> Iterator[Region]:
    """Yield the objects of JSON arrays and JSON lines, up to the first place that is neither."""
    decoder = json.JSONDecoder()
    gap = _JSON_GAP.match(text)
    at = gap.end() if gap else 0
    while at < len(text) and text[at] == "{":
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        role, timestamp = value.get("role"), value.get("timestamp")
        yield Region(
            at,
            end,
            role if isinstance(role, str) else None,
            timestamp if isinstance(timestamp, str) else None,
        )
        gap = _JSON_GAP.match(text, end)
        at = gap.end() if gap else end


def _with_gaps(text: str, messages: Iterator[Region]) -> Iterator[Region]:
    """Yield the messages and, between them, whatever is more than separators."""
    at = 0
    for message in messages:
        if text[at : message.start].strip(" \r\n\t,[]"):
            yield Region(at, message.start, None)
        yield message
        at = message.end
    if text[at:].strip(" \r\n\t,[]"):
        yield Region(at, len(text), None)
