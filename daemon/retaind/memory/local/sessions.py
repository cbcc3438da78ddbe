"""Sessions as chains of documents: only the last is open and grows, closed ones never change.

Whatever the size of a session, an addition reads and writes a bounded part of it.
"""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from retaind.core.chunks import separator
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
from retaind.memory.local.passages import Passage


def extend(
    connection: sqlite3.Connection, addition: Addition, limits: Limits, now: float
) -> list[Done]:
    """Append to a session's chain. Returns what became of each document, oldest first."""
    source = documents.source_id(connection, addition.source)
    last = documents.last_of_chain(connection, source)
    if last is not None and _fits(last, addition, limits):
        return [_append(connection, last, addition, limits, now)]
    if last is not None and last.state == "open":
        documents.close(connection, last)
    n = 0 if last is None or last.n is None else last.n + 1
    return _begin(connection, source, n, addition, limits, now)


def _fits(last: Document, addition: Addition, limits: Limits) -> bool:
    return (
        last.state == "open"
        and last.generation == addition.source.generation
        and last.tokens + limits.count(addition.text) < limits.batch_tokens
    )


def _append(
    connection: sqlite3.Connection,
    document: Document,
    addition: Addition,
    limits: Limits,
    now: float,
) -> Done:
    """Let the open document grow. Its last chunk is cut again with what follows, the others stay."""
    stored = pieces.chunks_of(connection, document.id)
    tail_start = stored[-1][0]
    tail = frames.read(connection, Place(document.id, tail_start, document.chars - tail_start))
    added = separator(tail, addition.text) + addition.text
    said = addition.said_at(document.chars + len(added) - len(addition.text))
    before = passages.in_range(connection, document.id, tail_start, document.chars)
    ends = [one.end for _, one in before if one.role is not None] + message_ends(said)
    chunks = cut_chunks(tail + added, tail_start, ends, limits, addition.newest.context)
    body = [(hash_, 0) for _, hash_ in stored[:-1]] + measured(chunks)
    found = extraction([hash_ for _, hash_ in stored], body)
    grown = replace(
        document,
        labels=Labels.of(addition.newest),
        chars=document.chars + len(added),
        tokens=document.tokens + limits.count(added),
        chunks=len(body),
    )
    documents.store(connection, grown, now)
    pieces.put_chunks(connection, document.id, [(one.start, one.hash) for one in chunks], limits)
    documents.cover(connection, document.id, addition.ranges)
    frames.append(connection, document.id, document.chars, added)
    rows = passages.cut(said, _cuts(addition, chunks))
    passages.insert(connection, document.id, rows, tail + added, tail_start)
    return Done(document.name, grown.chunks, len(found.chunks), found.processed_tokens)


def _begin(
    connection: sqlite3.Connection,
    source: int,
    n: int,
    addition: Addition,
    limits: Limits,
    now: float,
) -> list[Done]:
    """Start documents with an addition, as many as it takes; all but the last are closed at once."""
    ends = message_ends(addition.said)
    chunks = cut_chunks(addition.text, 0, ends, limits, addition.newest.context)
    runs = runs_within(chunks, limits.batch_tokens)
    places = {run[-1].end for run in runs}
    rows = passages.cut(addition.said, sorted(places.union(_cuts(addition, chunks))))
    done = []
    for at, run in enumerate(runs):
        document = Document(
            source_id=source,
            name=f"{addition.source.session_id}#{n + at}",
            n=n + at,
            generation=addition.source.generation,
            labels=Labels.of(addition.newest),
            state="open" if run is runs[-1] else "closed",
            chars=run[-1].end - run[0].start,
            tokens=sum(one.tokens for one in run),
            chunks=len(run),
        )
        stored = documents.store(connection, document, now)
        documents.cover(connection, stored.id, addition.ranges)
        own = passages.within(rows, run[0].start, run[-1].end)
        _fill(connection, stored, run, own, limits)
        found = extraction([], measured(run))
        done.append(Done(document.name, len(run), len(found.chunks), found.processed_tokens))
    return done


def _fill(
    connection: sqlite3.Connection,
    document: Document,
    run: list[Chunk],
    rows: Sequence[Passage],
    limits: Limits,
) -> None:
    """Write the text, chunks and passages of a new document; places are those of the addition."""
    base = run[0].start
    text = "".join(one.text for one in run)
    frames.append(connection, document.id, 0, text)
    if document.state == "closed":
        frames.merge(connection, document.id)
    places = [(one.start - base, one.hash) for one in run]
    pieces.put_chunks(connection, document.id, places, limits)
    moved = [one._replace(start=one.start - base) for one in rows] if base else rows
    passages.insert(connection, document.id, moved, text, 0)


def _cuts(addition: Addition, chunks: list[Chunk]) -> list[int]:
    """Return where passages are cut: with the chunks; but JSON can only be read whole."""
    return [] if addition.is_json else [one.end for one in chunks]
