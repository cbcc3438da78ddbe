"""Recall from a Hindsight server: the composed question put to its banks, and the answers as one block."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

import anyio

from retaind.config import Settings
from retaind.core.recall import Memory, render_block
from retaind.db import Connection, Database
from retaind.errors import MemoryDown, RetentionError
from retaind.memory.hindsight import NAME, Client
from retaind.memory.port import Found
from retaind.runtime import banks, recalling
from retaind.runtime.controls import Facts, RecallRequest
from retaind.runtime.outgoing import Outgoing
from retaind.runtime.recalling import Question

_DEADLINE_S: Final = 8.0
"""An agent waits for the answer: later than this it is of no use."""


async def answer(
    database: Database,
    client: Client,
    outgoing: Outgoing,
    request: RecallRequest,
    settings: Settings,
) -> Facts:
    """Return query, results and block for a prompt. Raises RetentionError when there is no answer in time."""
    asked, bank = await database.read(lambda c: _asked(c, outgoing, request, settings))
    try:
        with anyio.fail_after(_DEADLINE_S):
            found = await _from_banks(client, bank, asked, settings)
    except TimeoutError:
        raise MemoryDown(f"{NAME} did not answer within {_DEADLINE_S:g} s") from None
    known = [one for one in found if not _is_left_out(one, asked.left_out)]
    block = render_block(
        [
            Memory(
                (str(one.get("text") or ""),), _text(one.get("mentioned_at")), _fact(one, "project")
            )
            for one in known
        ],
        datetime.fromtimestamp(time.time(), UTC).strftime("%Y-%m-%d %H:%M UTC"),
        asked.max_tokens,
        settings.recall.preamble,
    )
    results = [asdict(_found(known[place], text)) for place, text in block.shown]
    return {
        "query": asked.query,
        "results": results,
        "block": block.text,
        "memory": NAME,
        "notice": asked.notice,
    }


def _asked(
    connection: Connection, outgoing: Outgoing, request: RecallRequest, settings: Settings
) -> tuple[Question, str]:
    """Return the question, and the bank of the session that asks, or of the folder that it is asked in."""
    asked = recalling.question(connection, request, settings)
    if asked.stream_id is not None:
        return asked, outgoing.bank_of(connection, asked.stream_id)
    session = request.session_id or ""
    return asked, banks.derive(settings.hindsight, settings.bank, session, request.cwd)


async def _from_banks(
    client: Client, bank: str, asked: Question, settings: Settings
) -> list[dict[str, Any]]:
    """Ask the session's bank, then the additional ones; of those, one that fails is left out."""
    chosen = settings.recall
    found = _above(await client.recall(bank, _body(asked, settings, {})), chosen.min_scores)
    for other in dict.fromkeys(chosen.additional_banks):
        if other == bank:
            continue
        more = chosen.additional_bank_filters.get(other)
        body = _body(asked, settings, more if isinstance(more, Mapping) else {})
        try:
            found += _above(await client.recall(other, body), chosen.min_scores)
        except RetentionError:
            continue
    return found


def _body(asked: Question, settings: Settings, more: Mapping[str, Any]) -> dict[str, Any]:
    chosen = settings.recall
    body: dict[str, Any] = {
        "query": asked.query,
        "max_tokens": asked.max_tokens,
        "budget": chosen.budget,
    }
    if chosen.types:
        body["types"] = list(chosen.types)
    if chosen.tags:
        body["tags"] = list(chosen.tags)
    if chosen.tag_groups:
        body["tag_groups"] = chosen.tag_groups
    if chosen.tags or chosen.tag_groups:
        body["tags_match"] = chosen.tags_match
    return body | dict(more)


def _above(
    results: Iterable[dict[str, Any]], floors: Sequence[tuple[str, float]]
) -> list[dict[str, Any]]:
    """Leave out what is below a floor; a score that is not there passes."""
    return [
        one
        for one in results
        if not any(
            isinstance(score := (one.get("scores") or {}).get(name), int | float) and score < floor
            for name, floor in floors
        )
    ]


def _is_left_out(one: Mapping[str, Any], left_out: Sequence[str]) -> bool:
    document = str(one.get("document_id") or "")
    return any(
        document.startswith(f"{session}@") or _fact(one, "session_id") == session
        for session in left_out
    )


def _found(one: Mapping[str, Any], text: str) -> Found:
    session = _fact(one, "session_id") or str(one.get("document_id") or "").partition("@")[0]
    score = (one.get("scores") or {}).get("final")
    return Found(
        text=text,
        snippet=text,
        session_id=session,
        stream="",
        host=_fact(one, "host") or "",
        kind=_fact(one, "kind") or "session",
        project=_fact(one, "project"),
        role=None,
        timestamp=_text(one.get("mentioned_at")),
        score=float(score) if isinstance(score, int | float) else 0.0,
    )


def _fact(one: Mapping[str, Any], name: str) -> str | None:
    return _text((one.get("metadata") or {}).get(name))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
