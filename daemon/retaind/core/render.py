"""A draft as the text that a memory takes, with the place of each message in it, its tags and metadata."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from retaind.core.facts import SessionFacts
from retaind.core.forms import form_of
from retaind.core.messages import Draft
from retaind.core.policy import RetainPolicy


class PartSpan(NamedTuple):
    """One message inside the content: its characters `start` to `end`, markers included.

    `turn` is the ordinal of its turn in the session, from 0.
    """

    role: str
    start: int
    end: int
    timestamp: str | None
    turn: int


class Rendered(NamedTuple):
    """A document's text, the messages in it in order, and how many secrets of each kind were taken out."""

    content: str
    parts: tuple[PartSpan, ...]
    redacted: dict[str, int]


def render(draft: Draft, policy: RetainPolicy) -> Rendered:
    """Write a draft in the policy's form, its context first. Pure: the same draft, the same text.

    The plan has redacted the draft; here the counts are summed.
    """
    form = form_of(policy)
    pieces: list[str] = []
    parts: list[PartSpan] = []
    redacted: dict[str, int] = {}
    at = len(form.opening)
    for message in (*draft.context, *draft.messages):
        piece = form.written(message)
        end = at + len(piece)
        parts.append(PartSpan(message.speaker, at, end, message.timestamp or None, message.turn))
        pieces.append(piece)
        at = end + len(form.separator)
        for kind, times in message.redacted:
            redacted[kind] = redacted.get(kind, 0) + times
    content = form.opening + form.separator.join(pieces) + form.closing
    return Rendered(content, tuple(parts), redacted)


_PLACEHOLDER: Final = re.compile(r"\{(session_id|bank_id|timestamp|user_id|project|host)\}")


def tags(policy: RetainPolicy, facts: SessionFacts, retained_at: str) -> tuple[str, ...]:
    """Return the policy's tags, filled in. A tag whose value after its first colon is empty is dropped."""
    values = _values(facts, retained_at)
    filled = (_filled(tag, values) for tag in policy.tags)
    return tuple(tag for tag in filled if ":" not in tag or tag.partition(":")[2])


def metadata(
    policy: RetainPolicy,
    facts: SessionFacts,
    retained_at: str,
    message_count: int,
    built_in: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return a document's metadata: the user's pairs, filled in, and ours, which win over the same names.

    `retained_at` is UTC in ISO 8601 to the second; `built_in` is what else the caller knows of the document.
    """
    values = _values(facts, retained_at)
    users = {name: _filled(value, values) for name, value in policy.metadata}
    ours = {
        "retained_at": retained_at,
        "message_count": str(message_count),
        "session_id": facts.session_id,
        "host": facts.host,
    }
    if facts.project:
        ours["project"] = facts.project
    return users | ours | dict(built_in or {})


def _values(facts: SessionFacts, retained_at: str) -> dict[str, str]:
    return {
        "session_id": facts.session_id,
        "bank_id": facts.bank_id,
        "timestamp": retained_at,
        "user_id": facts.user_id,
        "project": facts.project or "",
        "host": facts.host,
    }


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Fill in placeholders in one pass; unknown ones, and braces inside values, stay as they are."""
    return _PLACEHOLDER.sub(lambda found: values[found[1]], template)
