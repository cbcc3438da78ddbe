"""The plan: which documents a window of a session becomes, and what becomes of everything else in it (R1).

Nothing narrows the window: each item in it is either planned into a document or dropped under one of the
names below, and the offset afterwards is the window's end. An *item* is a message (all lines of one
`message_id` together) or a record that is no part of one.

==================  ======================================================================================
transport           the host's own bookkeeping
marker              a place in the conversation, such as a compaction
unknown             a type that the host's table does not name
nul, truncated, …   bytes that are no record, by the reason that the record gives
meta, synthetic, …  what the host wrote in a speaker's name, by the reason that the record gives:
                    meta, compact_summary, synthetic, and sidechain except in a sub-agent's own stream
duplicate           the same record is owned already: elsewhere, in an earlier window, or in this one
role                its role is not in `roles`
memory_tool         nothing but calls of a memory's own tools, or their results
too_short           its text is shorter than `min_chars`, and it does nothing
tool_result         nothing but results of tools, which only tools = full retains
empty               nothing that people or agents say: no text (thinking, images), and no action or
                    tools = none
==================  ======================================================================================

The lines of one message have one fate: retained as soon as one of them is; else the reason of the first
that says more than `empty`. So a count can move from a reason to *planned* in a later window; the counts of
a plan are differences. `min_chars` applies to each line, because a message's next line may come later.

Secrets are taken out before anything is measured or cut, so that no cut can hide half of one, and no
draft ever holds one.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from retaind.core.carry import Carry
from retaind.core.drafts import drafts
from retaind.core.forms import form_of
from retaind.core.messages import Action, Draft, Limits, Message
from retaind.core.policy import RetainPolicy
from retaind.core.reading import Kind, Reading, Redact
from retaind.core.records import Record

__all__ = [
    "Action",
    "Carry",
    "Counts",
    "Draft",
    "Limits",
    "Message",
    "Plan",
    "Redact",
    "Window",
    "plan",
]


@dataclass(frozen=True, slots=True)
class Window:
    """The bytes `start` to `end` of a generation, whole, as records in file order.

    Each byte belongs to a record or to a blank line. `duplicates` are the keys of records in it that
    are owned already, whether by another stream or by an earlier window of this one. `closed` says
    that the generation will not grow any more.
    """

    start: int
    end: int
    records: tuple[Record, ...]
    kind: Kind = "session"
    duplicates: AbstractSet[int] = frozenset()
    closed: bool = False


@dataclass(frozen=True, slots=True)
class Counts:
    """What a plan adds to a session's counts: `records` (items) = `planned` + the sum of `dropped`.

    `messages` counts messages in which something is said or done, whatever policy does with them;
    `turns` counts the turns that start. Single numbers may be negative.
    """

    records: int = 0
    messages: int = 0
    turns: int = 0
    planned: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: "Counts") -> "Counts":
        reasons = [
            *self.dropped,
            *(reason for reason in other.dropped if reason not in self.dropped),
        ]
        dropped = {
            reason: self.dropped.get(reason, 0) + other.dropped.get(reason, 0) for reason in reasons
        }
        return Counts(
            self.records + other.records,
            self.messages + other.messages,
            self.turns + other.turns,
            self.planned + other.planned,
            {reason: items for reason, items in dropped.items() if items},
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """Documents whose ranges follow each other from the window's start to `offset`, and the state there.

    Without messages there are no documents, but an offset and counts all the same. `keys` are the
    records of the conversation that are retained or dropped by policy here first; never 0.
    """

    documents: tuple[Draft, ...]
    offset: int
    carry: Carry
    counts: Counts
    keys: tuple[int, ...]


def plan(
    carry: Carry,
    window: Window,
    policy: RetainPolicy,
    limits: Limits,
    redact: Redact,
    *,
    context: tuple[Message, ...] = (),
) -> Plan:
    """Plan the whole window. Reads nothing but its arguments; costs the same whatever precedes the window.

    `redact` is not called when the policy says not to redact. `context` goes in front of the first document.
    """
    reading = Reading(carry, window.kind, window.duplicates, policy, redact)
    reading.read(window.records)
    documents = drafts(
        reading.messages(),
        window.start,
        window.end,
        form_of(policy),
        limits.document_bytes,
        context,
    )
    counts = Counts(
        reading.records,
        reading.spoken,
        reading.turns,
        reading.planned,
        {reason: items for reason, items in reading.dropped.items() if items},
    )
    return Plan(documents, window.end, reading.carry(), counts, tuple(reading.keys))
