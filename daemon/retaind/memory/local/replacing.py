"""The replacement of a named document: built beside the one in force, whose place it takes at the end.

Chunks that stay the same move over and are not extracted again.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from retaind.core.chunks import chunk_hash
from retaind.core.metering import extraction
from retaind.memory.local import documents, frames, passages, pieces
from retaind.memory.local.additions import (
    Addition,
    Chunk,
    cut_chunks,
    measured,
    message_ends,
    runs_within,
)
from retaind.memory.local.documents import Document, Done, Labels, Limits
from retaind.memory.local.frames import Place, StoredChunk
from retaind.memory.local.passages import Passage

_ERASED_AT_ONCE: Final = 100_000
"""Characters of a replaced text that leave the index in one step."""


@dataclass(slots=True)
class Unchanged:
    """A body that is stored already: only its labels are refreshed."""

    addition: Addition
    current: Document

    @property
    def done(self) -> Done:
        """Nothing is extracted."""
        return Done(self.current.name, self.current.chunks, 0, 0)

    def step(self, _connection: sqlite3.Connection, _now: float) -> bool:
        """There is nothing to do."""
        return False

    def finish(self, connection: sqlite3.Connection, now: float) -> None:
        """Refresh the labels and note the bytes."""
        documents.check_unchanged(connection, self.current.name, [self.current])
        labels = Labels.of(self.addition.newest)
        documents.store(connection, replace(self.current, labels=labels), now)
        documents.cover(connection, self.current.id, self.addition.ranges)


@dataclass(slots=True)
class Replacing:
    """Work on one replacement. `target` is the row in which it is built, once there is one."""

    addition: Addition
    text_hash: bytes
    done: Done
    runs: list[list[Chunk]]
    rows: list[Passage]
    claims: dict[bytes, list[StoredChunk]]
    others: tuple[Document, ...]
    target: Document | None
    limits: Limits
    erasures: list[tuple[int, int]]

    @classmethod
    def plan(
        cls,
        connection: sqlite3.Connection,
        addition: Addition,
        stored: Sequence[Document],
        limits: Limits,
    ) -> "Replacing":
        """Compare the complete body with all that is stored under its name."""
        ends = message_ends(addition.said)
        chunks = cut_chunks(addition.text, 0, ends, limits, addition.newest.context)
        text_hash = chunk_hash(addition.text)
        target = _begun(stored, text_hash, chunks)
        others = tuple(row for row in stored if row is not target)
        known = [one for row in stored for one in pieces.stored_chunks(connection, row)]
        extends = limits.count(addition.text) > limits.batch_tokens and any(
            _is_extended(connection, row, addition.text) for row in others if row.state == "open"
        )
        found = extraction([one.hash for one in known], measured(chunks), extends=extends)
        rest = [one for one in chunks if target is None or one.start >= target.chars]
        return cls(
            addition=addition,
            text_hash=text_hash,
            done=Done(addition.name or "", len(chunks), len(found.chunks), found.processed_tokens),
            runs=runs_within(rest, limits.batch_tokens)[::-1],
            rows=passages.cut(addition.said, [one.end for one in chunks]),
            claims=_claims(known, others),
            others=others,
            target=target,
            limits=limits,
            erasures=[
                (row.id, start) for row in others for start in range(0, row.chars, _ERASED_AT_ONCE)
            ],
        )

    def step(self, connection: sqlite3.Connection, now: float) -> bool:
        """Write one batch of chunks; after the last, take what nobody claimed out of the index."""
        if self.runs:
            self._write(connection, self.runs.pop(), now)
            return True
        if self.erasures:
            document_id, start = self.erasures.pop()
            passages.delete(connection, document_id, start, start + _ERASED_AT_ONCE)
            return True
        return False

    def finish(self, connection: sqlite3.Connection, now: float) -> None:
        """Let the new text take the place of the old."""
        target = self._target(connection, now)
        for other in self.others:
            documents.erase(connection, other)
        complete = replace(target, state="open", body_hash=self.text_hash, pending_hash=None)
        documents.store(connection, complete, now)
        documents.cover(connection, target.id, self.addition.ranges)

    def _write(self, connection: sqlite3.Connection, run: list[Chunk], now: float) -> None:
        target = self._target(connection, now)
        fresh: list[Passage] = []
        for chunk in run:
            wanted = passages.within(self.rows, chunk.start, chunk.end)
            twins = self.claims.get(chunk.hash)
            if not twins or not _take(connection, twins.pop(), chunk, target.id, wanted):
                fresh += wanted
        text = "".join(one.text for one in run)
        frames.append(connection, target.id, target.chars, text)
        passages.insert(connection, target.id, fresh, text, target.chars)
        places = [(one.start, one.hash) for one in run]
        pieces.put_chunks(connection, target.id, places, self.limits)
        self.target = documents.store(
            connection,
            replace(
                target,
                chars=run[-1].end,
                tokens=target.tokens + sum(one.tokens for one in run),
                chunks=target.chunks + len(run),
            ),
            now,
        )

    def _target(self, connection: sqlite3.Connection, now: float) -> Document:
        known = self.others if self.target is None else (*self.others, self.target)
        documents.check_unchanged(connection, self.done.name, known)
        if self.target is None:
            self.target = documents.store(connection, self._new(connection), now)
        return self.target

    def _new(self, connection: sqlite3.Connection) -> Document:
        return Document(
            source_id=documents.source_id(connection, self.addition.source),
            name=self.done.name,
            n=None,
            generation=self.addition.source.generation,
            labels=Labels.of(self.addition.newest),
            state="building",
            pending_hash=self.text_hash,
        )


def _begun(
    stored: Sequence[Document], text_hash: bytes, chunks: Sequence[Chunk]
) -> Document | None:
    """Return the row in which the same body was begun, if its end is the end of a chunk today."""
    ends = {0, *(one.end for one in chunks)}
    for row in stored:
        if row.state == "building" and row.pending_hash == text_hash and row.chars in ends:
            return row
    return None


def _is_extended(connection: sqlite3.Connection, row: Document, text: str) -> bool:
    """Whether the text begins with all that is stored, and goes on. Only a single chunk can have grown."""
    if row.chunks != 1 or row.chars >= len(text):
        return False
    return text.startswith(frames.read(connection, Place(row.id, 0, row.chars)))


def _claims(
    known: Sequence[StoredChunk], others: Sequence[Document]
) -> dict[bytes, list[StoredChunk]]:
    """Return the chunks of other rows by hash, the first of each last."""
    ids = {row.id for row in others}
    claims: dict[bytes, list[StoredChunk]] = defaultdict(list)
    for one in reversed(known):
        if one.document_id in ids:
            claims[one.hash].append(one)
    return claims


def _take(
    connection: sqlite3.Connection,
    stored: StoredChunk,
    chunk: Chunk,
    document_id: int,
    wanted: Sequence[Passage],
) -> bool:
    """Move a stored chunk over; False when its passages are new, because messages begin elsewhere now."""
    moved = passages.move(connection, stored, document_id, chunk.start, wanted)
    if not moved:
        passages.delete(connection, stored.document_id, stored.start, stored.end)
    pieces.move_chunk(connection, stored, document_id, chunk.start)
    return moved
