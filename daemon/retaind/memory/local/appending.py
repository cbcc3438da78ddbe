"""An addition to a named document: only its last chunk is cut again, the others stay as they are."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from retaind.core.chunks import chunk_hash, separator
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
from retaind.memory.local.frames import Place
from retaind.memory.local.passages import Passage, Said

_SEEN_CHARS: Final = 80
"""As much of the stored end decides what stands between it and an addition."""


@dataclass(slots=True)
class Appending:
    """Work on one addition. `document` is the row as it was written last, `settled` counts its chunks."""

    addition: Addition
    done: Done
    runs: list[list[Chunk]]
    rows: list[Passage]
    document: Document
    begun: Document
    settled: int
    limits: Limits

    @classmethod
    def plan(
        cls,
        connection: sqlite3.Connection,
        addition: Addition,
        document: Document,
        limits: Limits,
    ) -> "Appending":
        """Compare the document, with the addition behind it, with what is stored."""
        begun = _begun(document, chunk_hash(addition.text))
        added = _separated(connection, begun, addition.text)
        offset = begun.pending_from + len(added) - len(addition.text)
        stored = pieces.chunks_of(connection, document.id)
        tail_start = stored[-1][0] if stored else 0
        tail = frames.read(connection, Place(document.id, tail_start, document.chars - tail_start))
        before = passages.in_range(connection, document.id, tail_start, document.chars)
        said = _joined([one for _, one in before], addition.said_at(offset), document.chars)
        text = tail + added[document.chars - begun.pending_from :]
        context = addition.newest.context
        chunks = cut_chunks(text, tail_start, message_ends(said), limits, context)
        body = [(hash_, 0) for _, hash_ in stored[:-1]] + measured(chunks)
        large = document.tokens + limits.count(added) > limits.batch_tokens
        found = extraction([hash_ for _, hash_ in stored], body, extends=large)
        return cls(
            addition=addition,
            done=Done(document.name, len(body), len(found.chunks), found.processed_tokens),
            runs=runs_within(chunks, limits.batch_tokens)[::-1],
            rows=passages.cut(said, [one.end for one in chunks]),
            document=document,
            begun=begun,
            settled=len(stored[:-1]),
            limits=limits,
        )

    def step(self, connection: sqlite3.Connection, now: float) -> bool:
        """Write one batch of chunks; the first of all replaces the stored tail."""
        if not self.runs:
            return False
        run = self.runs.pop()
        self._check(connection)
        chars = self.document.chars
        start, end = run[0].start, run[-1].end
        text = "".join(one.text for one in run)
        added = text[chars - start :]
        wanted = passages.within(self.rows, start, end)
        fresh = passages.exchange(connection, self.document.id, start, end, wanted)
        frames.append(connection, self.document.id, chars, added)
        passages.insert(connection, self.document.id, fresh, text, start)
        places = [(one.start, one.hash) for one in run]
        pieces.put_chunks(connection, self.document.id, places, self.limits)
        self.settled += len(run)
        grown = replace(
            self.document,
            chars=chars + len(added),
            tokens=self.document.tokens + self.limits.count(added),
            chunks=self.settled,
            body_hash=None,
            pending_hash=self.begun.pending_hash,
            pending_from=self.begun.pending_from,
        )
        self.document = documents.store(connection, grown, now)
        return True

    def finish(self, connection: sqlite3.Connection, now: float) -> None:
        """Say that the addition is whole."""
        self._check(connection)
        complete = replace(
            self.document,
            generation=self.addition.source.generation,
            labels=Labels.of(self.addition.newest),
            pending_hash=None,
            pending_from=0,
        )
        documents.store(connection, complete, now)
        documents.cover(connection, complete.id, self.addition.ranges)

    def _check(self, connection: sqlite3.Connection) -> None:
        documents.check_unchanged(connection, self.document.name, [self.document])


def _begun(document: Document, text_hash: bytes) -> Document:
    """Return the row with where the addition begins: where it once began, if it was cut short."""
    if document.pending_hash == text_hash:
        return document
    return replace(document, pending_hash=text_hash, pending_from=document.chars)


def _separated(connection: sqlite3.Connection, begun: Document, text: str) -> str:
    start = max(0, begun.pending_from - _SEEN_CHARS)
    before = frames.read(connection, Place(begun.id, start, begun.pending_from - start))
    return separator(before, text) + text


def _joined(before: Sequence[Passage], said: Sequence[Said], chars: int) -> list[Said]:
    """Return the messages of the stored tail and those that are new; a text without a speaker goes on."""
    tail = [Said(one.start, one.end, one.role, one.turn, one.time) for one in before]
    new = [one for one in said if one.end > chars]
    if tail and new and tail[-1].role is None and new[0].role is None:
        first = new.pop(0)
        tail[-1] = tail[-1]._replace(end=first.end)
    return tail + [one._replace(start=max(one.start, chars)) for one in new]
