"""Chunked mode: groups of N turns, each sent with the M turns before it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from retaind.core.carry import Carry, last_turns
from retaind.core.drafts import within
from retaind.core.forms import form_of
from retaind.core.messages import Draft, Limits, Message
from retaind.core.plan import Counts, Plan, Window, plan
from retaind.core.policy import RetainPolicy
from retaind.core.reading import Reading, Redact, opens_turn
from retaind.core.records import Record

_CONTEXT_SHARE: Final = 4
"""The context takes at most this part of a document: a quarter."""


@dataclass(frozen=True, slots=True)
class Cadence:
    """How many turns make a group (at least 1), and how many earlier turns go with it."""

    every_n_turns: int = 10
    overlap_turns: int = 2


def plan_chunked(
    carry: Carry,
    window: Window,
    policy: RetainPolicy,
    limits: Limits,
    redact: Redact,
    cadence: Cadence,
    *,
    overlap: tuple[Record, ...] = (),
    force: bool = False,
) -> Plan:
    """Plan whole groups of turns and hold the rest back: nothing beyond `offset` is decided or counted.

    A group is whole when the turn after it has started. With `force`, or when the window is closed,
    the rest is planned too; what follows of its last turn then opens the next group. Either way the
    offset and the content are the same set, so that no drift loses or doubles a turn.

    `overlap` are the records from `carry.overlap_start(cadence.overlap_turns)` to the window's start;
    they are rendered before the first group as context, and never counted.
    """
    known = _before(carry, window, policy, redact, cadence, overlap)
    owned = set(window.duplicates)
    offset, counts = window.start, Counts()
    documents: list[Draft] = []
    keys: list[int] = []
    for group, starts in _groups(window, policy, cadence, force=force or window.closed):
        known = tuple(one for one in known if one.turn >= carry.turns - cadence.overlap_turns)
        context = within(known, form_of(policy), limits.document_bytes // _CONTEXT_SHARE)
        step = plan(
            carry, replace(group, duplicates=owned), policy, limits, redact, context=context
        )
        kept = last_turns((*carry.turn_starts, *starts), cadence.overlap_turns)
        carry = msgspec.structs.replace(step.carry, turn_starts=kept)
        known += _as_context(one for document in step.documents for one in document.messages)
        offset, counts = step.offset, counts + step.counts
        documents += step.documents
        keys += step.keys
        owned.update(step.keys)
    return Plan(tuple(documents), offset, carry, counts, tuple(keys))


def _groups(
    window: Window, policy: RetainPolicy, cadence: Cadence, *, force: bool
) -> Iterator[tuple[Window, list[int]]]:
    """Return the groups that may be planned, each with the offsets of the turns that start in it."""
    size = max(cadence.every_n_turns, 1)
    starts: list[int] = []
    first, start = 0, window.start
    for at, record in enumerate(window.records):
        if not opens_turn(record, window.kind, policy):
            continue
        if len(starts) == size:
            yield (
                replace(window, start=start, end=record.start, records=window.records[first:at]),
                starts,
            )
            first, start, starts = at, record.start, []
        starts.append(record.start)
    if force and start < window.end:
        yield replace(window, start=start, records=window.records[first:]), starts


def _before(
    carry: Carry,
    window: Window,
    policy: RetainPolicy,
    redact: Redact,
    cadence: Cadence,
    overlap: tuple[Record, ...],
) -> tuple[Message, ...]:
    """Read the overlap again, as context."""
    started = len(last_turns(carry.turn_starts, cadence.overlap_turns))
    earlier = Carry(turns=carry.turns - started)
    reading = Reading(earlier, window.kind, frozenset(), policy, redact)
    reading.read(overlap)
    return _as_context(reading.messages())


def _as_context(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return messages as context: without results, since a dropped call of one may lie before the overlap."""
    bare = (
        msgspec.structs.replace(
            message,
            actions=tuple(action for action in message.actions if action.kind == "call"),
            is_first=False,
            redacted=(),
        )
        for message in messages
    )
    return tuple(message for message in bare if message.text or message.actions)
