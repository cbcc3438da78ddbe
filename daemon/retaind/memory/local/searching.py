"""Search: the messages in which a query's words are, with the place shown."""

import json
import sqlite3
from typing import Final

from retaind.core.query import Query, read_query
from retaind.memory.local.frames import Reader
from retaind.memory.local.hits import Hit, find, texts
from retaind.memory.local.marks import Marker, snippet
from retaind.memory.local.times import from_ms
from retaind.memory.port import Filters, Found

MARKS: Final = ("«", "»")


def search(
    connection: sqlite3.Connection,
    query: str,
    limit: int,
    filters: Filters,
    *,
    marks: tuple[str, str] = MARKS,
) -> tuple[Found, ...]:
    """Return at most `limit` messages, best first, those of equal score newest first; 0 or less is no limit.

    All words must be there; only where nothing has all of them, any of them counts. Reads only, and works
    on any connection. Raises UsageError for a bound that is no time.
    """
    asked = read_query(query)
    if not asked.every:
        return ()
    most = limit if limit > 0 else -1
    hits = find(connection, asked.every, most, filters)
    if not hits and asked.either != asked.every:
        hits = find(connection, asked.either, most, filters)
    return _shown(connection, hits, asked, marks)


def found(hit: Hit, text: str, shown: str, score: float) -> Found:
    """Return a hit as the port describes it."""
    return Found(
        text=text,
        snippet=shown,
        session_id=hit.session_id,
        stream=hit.stream,
        host=hit.host,
        kind=hit.kind,
        project=hit.project,
        role=hit.role,
        timestamp=from_ms(hit.time),
        score=score,
        context=hit.context,
        tags=tuple(json.loads(hit.tags)),
        metadata=json.loads(hit.metadata),
    )


def _shown(
    connection: sqlite3.Connection, hits: list[Hit], asked: Query, marks: tuple[str, str]
) -> tuple[Found, ...]:
    if not hits:
        return ()
    said = texts(Reader(connection), hits)
    with Marker(said) as marker:
        marked = marker.marked(asked.marks)
    return tuple(
        found(hit, text, snippet(seen, marks), -hit.rank)
        for hit, text, seen in zip(hits, said, marked, strict=True)
    )
