"""The port between retention and a memory: what crosses it, and what a memory must do.

Two implementations stand behind it: `local` (SQLite in this process) and `hindsight` (HTTP).
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

TagsMatch = Literal["any", "all", "any_strict", "all_strict"]
"""How tags narrow: any or all of them; what has no tags at all counts too, unless it is strict."""

Commit = Callable[[sqlite3.Connection], None]
"""The caller's own bookkeeping, run inside the transaction in which the memory takes the items."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where an item comes from. `stream` is the opaque id; `project` and `cwd` may be unknown."""

    host: str
    session_id: str
    stream: str
    kind: Literal["session", "subagent", "manual"]
    generation: int
    project: str | None = None
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One message inside an item's content: characters `start` to `end` of it."""

    role: str
    start: int
    end: int
    timestamp: str | None
    turn: int
    """Ordinal of the turn in its session, from 0; counted by R2."""


@dataclass(frozen=True, slots=True)
class Item:
    """One document, or one addition to a document, as rendered and redacted text.

    `document_id` None lets the memory choose: the local memory appends to the session's chain.
    `range_` is the byte range of the generation that the content was made from.
    """

    source: Source
    content: str
    range_: tuple[int, int]
    parts: tuple[Part, ...] = ()
    document_id: str | None = None
    update: Literal["append", "replace"] = "append"
    timestamp: str | None = None
    context: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RetainResult:
    """What one execution did: ids, sizes and counts, never content.

    `processed_content_tokens` follows R3: None is no signal, 0 nothing changed, N only N tokens.
    `submitted_chars` is the length of what was handed over, context not counted.
    """

    execution_id: str
    memory: str
    bank: str
    session_id: str | None
    document_ids: tuple[str, ...]
    range: tuple[int, int] | None
    success: bool
    error: str | None
    chunks: int
    chunks_extracted: int
    processed_content_tokens: int | None
    tokenizer: str
    llm_input_tokens: int
    llm_output_tokens: int
    folded_with: tuple[str, ...] | None = None
    submitted_chars: int = 0


@dataclass(frozen=True, slots=True)
class Filters:
    """Narrows search and recall: all that are given must hold, and of each any of its values.

    Sessions are meant by their own id or their stream's; projects by name, by folder, or by a folder above.
    Times are ISO 8601 or dates, in UTC where they name no zone; a date means its whole day.
    """

    hosts: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    exclude_sessions: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    tags_match: TagsMatch = "any_strict"


@dataclass(frozen=True, slots=True)
class Found:
    """One result: redacted text, where it was said, and a score where higher is better.

    `context`, `tags` and `metadata` are those of the document that it is in.
    """

    text: str
    snippet: str
    session_id: str
    stream: str
    host: str
    kind: str
    project: str | None
    role: str | None
    timestamp: str | None
    score: float
    context: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemoryState:
    """How a memory is: `ok`, `paused`, `degraded` or `down`, with plain words for people."""

    name: str
    state: Literal["ok", "paused", "degraded", "down"]
    detail: str
    documents: int
    chunks: int
    chunks_pending: int


class Memory(Protocol):
    """Where documents go. Each memory has cursors of its own, so one that is down holds back no other."""

    @property
    def name(self) -> str:
        """The name in configuration, cursors and results."""
        ...

    async def retain(self, items: Sequence[Item], *, commit: Commit | None = None) -> RetainResult:
        """Take the items and run `commit` in the same transaction; all of it happens, or nothing."""
        ...

    async def recall(self, query: str, *, limit: int, filters: Filters) -> tuple[Found, ...]:
        """Return what is remembered for the query, best first; a limit of 0 or less is no limit."""
        ...

    async def forget(self, document_ids: Sequence[str]) -> int:
        """Erase documents; returns how many were there."""
        ...

    async def coverage(self, session_id: str) -> tuple[tuple[int, int], ...]:
        """Return the byte ranges that the memory holds of a session, merged and ascending.

        They are those of the session's newest generation, if the memory tells generations apart.
        """
        ...

    async def state(self) -> MemoryState:
        """Say how the memory is."""
        ...
