"""Recall as the daemon serves it: a query composed of the last turns, and what is remembered for it."""

import sqlite3
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final, NamedTuple

from retaind.config import Settings
from retaind.core.recall import compose_query
from retaind.core.redact import redact
from retaind.errors import NotFound
from retaind.memory.local import FLOOR, Recalled, recall
from retaind.memory.port import Filters
from retaind.runtime.catalog import Stream, resolve
from retaind.runtime.controls import Facts, RecallRequest
from retaind.runtime.memories import LOCAL
from retaind.runtime.projects import project_name
from retaind.runtime.turns import last_turns

_NO_SESSION: Final = "no session is called that: the prompt stands alone"


class Question(NamedTuple):
    """A prompt as a memory is asked: what to leave out, and how large the block may become."""

    query: str
    stream_id: int | None
    left_out: tuple[str, ...]
    max_tokens: int
    project: str | None = None
    """The project of the asking session: what was said there comes first."""
    notice: str | None = None
    """What whoever asked should know of how it is asked."""


def answer(
    connection: sqlite3.Connection,
    request: RecallRequest,
    settings: Settings,
    now: float,
    notice: str | None = None,
) -> Facts:
    """Return what the local memory answers to a prompt, as `recall --json` prints it."""
    asked = question(connection, request, settings)
    found = ask_local(connection, asked, settings, now, floor=FLOOR)
    return {
        "query": asked.query,
        "results": [asdict(one) for one in found.results],
        "block": found.block,
        "memory": LOCAL,
        "notice": "; ".join(filter(None, (notice, asked.notice))) or None,
    }


def ask_local(
    connection: sqlite3.Connection,
    asked: Question,
    settings: Settings,
    now: float,
    given: frozenset[int] = frozenset(),
    floor: float | None = None,
) -> Recalled:
    """Put a question to the local memory; messages that were `given` before are left out.

    Whoever asks for it may be told what has less to do with it than what is given unasked.
    """
    return recall(
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
        floor=settings.recall.floor if floor is None else floor,
        project=asked.project,
        given=given,
    )


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
    return Question(
        query,
        stream.id if stream else None,
        () if settings.recall.own_session else _family(connection, request, stream),
        tokens,
        _project(stream, request.cwd) if settings.recall.project_first else None,
        _NO_SESSION if request.session_id is not None and stream is None else None,
    )


def _asking(connection: sqlite3.Connection, session_id: str | None) -> Stream | None:
    if session_id is None:
        return None
    try:
        return resolve(connection, session_id)
    except NotFound:
        return None


def _project(stream: Stream | None, cwd: str | None) -> str | None:
    if stream is not None and stream.project:
        return stream.project
    return project_name(cwd) if cwd and cwd.startswith("/") else None


def _family(
    connection: sqlite3.Connection, request: RecallRequest, stream: Stream | None
) -> tuple[str, ...]:
    """Return the asking session, those that it was forked from, and the sub-agents of each."""
    names = [one for one in (request.session_id, request.parent_id) if one is not None]
    return (*names, *lines_of(connection, names if stream is None else [*names, stream.session_id]))


def lines_of(connection: sqlite3.Connection, sessions: Sequence[str]) -> tuple[str, ...]:
    """Return these sessions, as far as they are known, their fork ancestors, and the sub-agents of each."""
    found: dict[str, None] = {}
    for session in sessions:
        rows = connection.execute(
            "WITH RECURSIVE line (id, session_id, parent_id) AS ("
            " SELECT id, session_id, parent_id FROM stream WHERE session_id = ? AND kind != 'attachment'"
            " UNION SELECT s.id, s.session_id, s.parent_id FROM stream s"
            " JOIN line ON s.id = line.parent_id)"
            " SELECT session_id FROM line"
            " UNION SELECT s.session_id FROM stream s JOIN line ON s.owner_session = line.session_id"
            " WHERE s.kind = 'subagent'",
            (session,),
        )
        found |= dict.fromkeys(row[0] for row in rows.fetchall())
    return tuple(found)
