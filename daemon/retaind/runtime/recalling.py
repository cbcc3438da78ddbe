"""Recall as the daemon serves it: a query composed of the last turns, and what is remembered for it."""

import sqlite3
from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

from retaind.config import Settings
from retaind.core.conversation import conversational_text, starts_turn
from retaind.core.lines import frame
from retaind.core.policy import RetainPolicy
from retaind.core.recall import compose_query
from retaind.core.records import Record
from retaind.core.redact import redact
from retaind.errors import NotFound, UsageError
from retaind.hosts import HOSTS
from retaind.memory.local import recall
from retaind.memory.port import Filters
from retaind.runtime.catalog import Stream, resolve
from retaind.runtime.controls import Facts, RecallRequest
from retaind.vault import streams

_LOOK_BACK_BYTES: Final = 4 << 20


def answer(
    connection: sqlite3.Connection, request: RecallRequest, settings: Settings, now: float
) -> Facts:
    """Return query, results and block for a prompt; see `recall --json`.

    With a session, its last turns give the query its context, and the session itself with its parents
    and sub-agents is left out of the results. A session that is not known yet gives no context.
    """
    if request.memory not in {None, "local"}:
        raise UsageError(f"no memory is called {request.memory}", fix="retaind status lists them")
    stream = _asking(connection, request.session_id)
    wanted = settings.recall.context_turns if request.turns is None else request.turns
    turns = _last_turns(connection, stream, wanted, request.prompt, settings) if stream else []
    prompt = redact(request.prompt).text if settings.retain.redact else request.prompt
    query = compose_query(prompt, turns, settings.recall.max_query_chars)
    tokens = settings.recall.max_tokens if request.max_tokens is None else request.max_tokens
    found = recall(
        connection,
        query,
        now=now,
        max_tokens=tokens,
        filters=Filters(exclude_sessions=_family(connection, stream)),
    )
    return {"query": query, "results": [asdict(one) for one in found.results], "block": found.block}


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


def _last_turns(
    connection: sqlite3.Connection, stream: Stream, wanted: int, prompt: str, settings: Settings
) -> list[tuple[str, str]]:
    """Return role and text of what was said since the N-th last turn began.

    The prompt itself, when it is on disk already, is no turn of the context and is left out first.
    """
    if wanted <= 0:
        return []
    said: list[tuple[str, str]] = []
    turns = 0
    for record in _backwards(connection, stream):
        text = conversational_text(record, settings.retain)
        if not text or record.reason or record.role not in settings.recall.roles:
            continue
        begins = starts_turn(record, settings.retain)
        if begins and not turns and text == prompt.strip() and not said:
            continue
        said.append((record.role, _safe(text, settings.retain)))
        turns += begins
        if turns == wanted:
            break
    return said[::-1]


def _safe(text: str, policy: RetainPolicy) -> str:
    return redact(text).text if policy.redact else text


def _backwards(connection: sqlite3.Connection, stream: Stream) -> Iterator[Record]:
    """Yield a session's newest records first, as far back as a few megabytes go."""
    _, _, captured, _ = streams.generations(connection, stream.id)[-1]
    generation_id = streams.generations(connection, stream.id)[-1][0]
    start = max(0, captured - _LOOK_BACK_BYTES)
    data = b"".join(piece for _, piece in streams.read(connection, generation_id, start, captured))
    if start:
        cut = data.find(b"\n") + 1
        data, start = data[cut:], start + cut
    lines, _ = frame(data, start)
    host = HOSTS[stream.host]
    for at, line in reversed(lines):
        yield from reversed(host.parse(at, line))
