"""Rows of documents: whose they are, how far they go, and which bytes they were made from."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from retaind.core.chunks import CHUNK_CHARS
from retaind.core.metering import tokens
from retaind.errors import RetentionError
from retaind.memory.local import frames, passages
from retaind.memory.port import Item, Source

State = Literal["open", "closed", "building"]


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a chunk may be, in characters, and a batch or a session's document, in tokens."""

    chunk_chars: int = CHUNK_CHARS
    batch_tokens: int = 10_000
    count: Callable[[str], int] = tokens
    """Counts the tokens of a text."""
    tokenizer: str = "bytes/4"
    extractor: Literal["index", "llm"] = "index"
    """With `llm`, chunks wait for a model that says which facts are in them."""

    @property
    def is_extracted_later(self) -> bool:
        """Whether a chunk is stored before it is extracted."""
        return self.extractor == "llm"


@dataclass(frozen=True, slots=True)
class Labels:
    """What a document carries beside its text; the newest addition decides."""

    context: str
    tags: str
    metadata: str

    @classmethod
    def of(cls, item: Item) -> "Labels":
        """Take the labels of an item."""
        metadata: Mapping[str, str] = dict(item.metadata)
        return cls(
            item.context,
            json.dumps(item.tags, ensure_ascii=False),
            json.dumps(metadata, ensure_ascii=False),
        )


@dataclass(frozen=True, slots=True)
class Document:
    """One row. `id` is 0 until it is stored; `n` is its place in a session's chain, None when named."""

    source_id: int
    name: str
    n: int | None
    generation: int
    labels: Labels
    state: State = "open"
    id: int = 0
    chars: int = 0
    tokens: int = 0
    chunks: int = 0
    body_hash: bytes | None = None
    pending_hash: bytes | None = None
    pending_from: int = 0


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one document in an execution."""

    name: str
    chunks: int
    extracted: int
    processed_tokens: int | None


_SELECT: Final = (
    "SELECT source_id, name, n, generation, context, tags, metadata, state, id, chars, tokens,"
    " chunks, body_hash, pending_hash, pending_from FROM local_document"
)
_STORE: Final = (
    "INSERT INTO local_document (source_id, name, n, generation, context, tags, metadata, state,"
    " id, chars, tokens, chunks, body_hash, pending_hash, pending_from, updated)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET (source_id, generation, context, tags, metadata, state,"
    " chars, tokens, chunks, body_hash, pending_hash, pending_from, updated) ="
    " (excluded.source_id, excluded.generation, excluded.context, excluded.tags,"
    " excluded.metadata, excluded.state, excluded.chars, excluded.tokens, excluded.chunks,"
    " excluded.body_hash, excluded.pending_hash, excluded.pending_from, excluded.updated)"
    " RETURNING id"
)
_ERASE: Final = (
    "DELETE FROM local_frame WHERE document_id = ?",
    "DELETE FROM local_chunk WHERE document_id = ?",
    "DELETE FROM local_span WHERE document_id = ?",
    "DELETE FROM local_document WHERE id = ?",
)


def source_id(connection: sqlite3.Connection, source: Source) -> int:
    """Return the row of a source; project and cwd are filled in when they become known."""
    row = connection.execute(
        "SELECT id, project, cwd FROM local_source WHERE stream = ?", (source.stream,)
    ).fetchone()
    if row is None:
        added = connection.execute(
            "INSERT INTO local_source (stream, host, session_id, kind, project, cwd)"
            " VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
            (
                source.stream,
                source.host,
                source.session_id,
                source.kind,
                source.project,
                source.cwd,
            ),
        ).fetchone()
        return int(added[0])
    project, cwd = source.project or row[1], source.cwd or row[2]
    if (project, cwd) != row[1:]:
        connection.execute(
            "UPDATE local_source SET project = ?, cwd = ? WHERE id = ?", (project, cwd, row[0])
        )
    return int(row[0])


def last_of_chain(connection: sqlite3.Connection, source: int) -> Document | None:
    """Return the last document of a session's chain, or None when it has none yet."""
    return _one(
        connection.execute(
            _SELECT + " WHERE source_id = ? AND n IS NOT NULL ORDER BY n DESC LIMIT 1",
            (source,),
        )
    )


def named(connection: sqlite3.Connection, name: str) -> tuple[Document, ...]:
    """Return the rows of a named document: the one in force first, then what replaces it."""
    rows = connection.execute(
        _SELECT + " WHERE name = ? AND n IS NULL ORDER BY state = 'building', id",
        (name,),
    )
    return tuple(_document(row) for row in rows.fetchall())


def store(connection: sqlite3.Connection, document: Document, now: float) -> Document:
    """Write the row, new or not, and return it with its id."""
    labels = document.labels
    values = (
        document.source_id,
        document.name,
        document.n,
        document.generation,
        labels.context,
        labels.tags,
        labels.metadata,
        document.state,
        document.id or None,
        document.chars,
        document.tokens,
        document.chunks,
        document.body_hash,
        document.pending_hash,
        document.pending_from,
        now,
    )
    row = connection.execute(_STORE, values).fetchone()
    return replace(document, id=int(row[0]))


def close(connection: sqlite3.Connection, document: Document) -> None:
    """Say that a document will never change again."""
    connection.execute("UPDATE local_document SET state = 'closed' WHERE id = ?", (document.id,))
    frames.merge(connection, document.id)


def check_unchanged(
    connection: sqlite3.Connection, name: str, expected: Iterable[Document]
) -> None:
    """Raise RetentionError unless a name's rows are still those that this execution knows."""
    now = {(row.id, row.chars, row.body_hash, row.pending_hash) for row in named(connection, name)}
    if now != {(row.id, row.chars, row.body_hash, row.pending_hash) for row in expected}:
        raise RetentionError(
            f"document {name} was changed while it was retained",
            why="another execution has changed, replaced or forgotten it",
            fix="retain it again",
        )


def cover(
    connection: sqlite3.Connection, document_id: int, ranges: Iterable[tuple[int, int]]
) -> None:
    """Note the bytes that an addition was made from; ranges that touch become one."""
    for start, end in ranges:
        last = connection.execute(
            "SELECT start, end FROM local_span WHERE document_id = ? AND start <= ?"
            " ORDER BY start DESC LIMIT 1",
            (document_id, start),
        ).fetchone()
        joined = (start, end)
        if last is not None and last[1] >= start:
            joined = (last[0], max(last[1], end))
        connection.execute(
            "INSERT OR REPLACE INTO local_span (document_id, start, end) VALUES (?, ?, ?)",
            (document_id, *joined),
        )


def erase(connection: sqlite3.Connection, document: Document) -> None:
    """Delete a document with all that hangs on it."""
    passages.delete_facts(connection, document.id, 0, document.chars)
    passages.delete(connection, document.id, 0, document.chars)
    for statement in _ERASE:
        connection.execute(statement, (document.id,))


def of_source(connection: sqlite3.Connection, source: int) -> tuple[Document, ...]:
    """Return every document of a source."""
    rows = connection.execute(_SELECT + " WHERE source_id = ?", (source,))
    return tuple(_document(row) for row in rows.fetchall())


def by_name(connection: sqlite3.Connection, name: str) -> tuple[Document, ...]:
    """Return every document of that name, in chains and named ones."""
    rows = connection.execute(_SELECT + " WHERE name = ?", (name,))
    return tuple(_document(row) for row in rows.fetchall())


def _one(cursor: sqlite3.Cursor) -> Document | None:
    row = cursor.fetchone()
    return None if row is None else _document(row)


def _document(row: Sequence[object]) -> Document:
    source, name, n, generation, context, tags, metadata, *rest = row
    return Document(source, name, n, generation, Labels(context, tags, metadata), *rest)  # type: ignore[arg-type]
