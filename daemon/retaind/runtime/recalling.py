"""Recall as the daemon serves it: a query composed of the last turns, and what is remembered for it."""

import sqlite3
from dataclasses import asdict
from typing import NamedTuple

from retaind.config import Settings
from retaind.core.recall import compose_query
from retaind.core.redact import redact
from retaind.errors import NotFound
from retaind.memory.local import recall
from retaind.memory.port import Filters
from retaind.runtime.catalog import Stream, resolve
from retaind.runtime.controls import Facts, RecallRequest
from retaind.runtime.turns import last_turns


class Question(NamedTuple):
    """A prompt as a memory is asked: what to leave out, and how large the block may become."""

    query: str
    stream_id: int | None
    left_out: tuple[str, ...]
    max_tokens: int


def answer(
    connection: sqlite3.Connection, request: RecallRequest, settings: Settings, now: float
) -> Facts:
    """Return query, results and block for a prompt from the local memory; see `recall --json`."""
    asked = question(connection, request, settings)
    found = recall(
        connection,
        asked.query,
        now=now,
        max_tokens=asked.max_tokens,
        filters=Filters(
            exclude_sessions=asked.left_out,
            tags=settings.recall.tags,
            tags_match=settings.recall.tags_match,
        ),
        preamble=settings.recall.preamble,
    )
    results = [asdict(one) for one in found.results]
    return {"query": asked.query, "results": results, "block": found.block}


def question(
    connection: sqlite3.Connection, request: RecallRequest, settings: Settings
) -> Question:
    """Compose the question for a prompt.

    With a session, its last turns give the query its context, and the session itself with its parents
    and sub-agents is left out of the results. A session that is not known yet gives no context.
    """
    stream = _asking(connection, request.session_id)
    wanted = settings.recall.context_turns if request.turns is None else request.turns
    turns = last_turns(connection, stream, wanted, request.prompt, settings) if stream else []
    prompt = redact(request.prompt).text if settings.retain.redact else request.prompt
    query = compose_query(prompt, turns, settings.recall.max_query_chars)
    tokens = settings.recall.max_tokens if request.max_tokens is None else request.max_tokens
    left_out = _family(connection, stream)
    return Question(query, stream.id if stream else None, left_out, tokens)


def _asking(connection: sqlite3.Connection, session_id: str | None) -> Stream | None:
    if session_id is None:
        return None
    try:
        return resolve(connection, session_id)
    except NotFound:
        return None


def _family(connection: sqlite3.Connection, stream: Stream | None) -> tuple[str, ...]:
    """Return the asking session, those that it was forked from, and the sub-agents of each."""
    if stream is None:
        return ()
    rows = connection.execute(
        "WITH RECURSIVE line (id, session_id, parent_id) AS ("
        " SELECT id, session_id, parent_id FROM stream WHERE id = ?"
        " UNION SELECT s.id, s.session_id, s.parent_id FROM stream s JOIN line ON s.id = line.parent_id)"
        " SELECT session_id FROM line"
        " UNION SELECT s.session_id FROM stream s JOIN line ON s.owner_session = line.session_id"
        " WHERE s.kind = 'subagent'",
        (stream.id,),
    ).fetchall()
    return tuple(row[0] for row in rows)
