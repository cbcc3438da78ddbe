"""Texts of the user's own for a remote memory: kept in the vault, and delivered like windows are."""

import json
from datetime import UTC, datetime

from retaind.core.facts import SessionFacts
from retaind.core.render import metadata
from retaind.db import Connection
from retaind.memory.hindsight.documents import Payload
from retaind.memory.port import RetainResult
from retaind.runtime import banks, manual, outbox
from retaind.runtime.controls import RetainRequest
from retaind.runtime.manual import HOST, Kept
from retaind.runtime.outgoing import Outgoing
from retaind.runtime.payload import Made, Span


def put(connection: Connection, request: RetainRequest, outgoing: Outgoing) -> int:
    """Keep a text and plan its delivery in one transaction; returns the delivery's id."""
    settings, to = outgoing.settings, outgoing.to
    kept = Kept(request, settings, to.memory, completed=False)
    kept.commit(connection)
    if settings.local.enabled:
        manual.pass_over(connection, "local")
    bank = banks.derive(settings.hindsight, settings.bank, request.document_id, None)
    facts = SessionFacts(HOST, request.document_id, bank_id=bank, user_id=settings.bank.user)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    item = kept.item()
    payload = Payload(
        content=item.content,
        document_id=request.document_id,
        context=request.context,
        metadata=metadata(settings.retain, facts, now, 1, {"kind": HOST}),
        tags=request.tags,
        timestamp=None,
        update_mode=item.update,
    )
    start, end = item.range_
    whole = Span(0, len(item.content), start, end, 1, "")
    made = Made(start, end, payload, (whole,))
    return outbox.put(connection, to, kept.stream_id, kept.generation_id, bank, made)


def result(connection: Connection, memory: str, delivery_id: int) -> RetainResult:
    """Return how a delivery stands, as the result of an execution."""
    operation, bank, document, state, error = connection.execute(
        "SELECT operation_id, bank, document_id, state, error FROM delivery WHERE id = ?",
        (delivery_id,),
    ).fetchone()
    settled = connection.execute(
        "SELECT body FROM result WHERE memory = ? AND json_extract(body, '$.execution_id') = ?"
        " ORDER BY id DESC LIMIT 1",
        (memory, operation),
    ).fetchone()
    if settled:
        found = json.loads(settled[0])
        found["document_ids"] = tuple(found["document_ids"])
        found["range"] = tuple(found["range"])
        return RetainResult(**found)
    return RetainResult(
        execution_id=operation,
        memory=memory,
        bank=bank,
        session_id=document,
        document_ids=(document,),
        range=None,
        success=state != "set_aside",
        error=error or f"{state}: the server is not done with it yet",
        chunks=0,
        chunks_extracted=0,
        processed_content_tokens=None,
        tokenizer="server",
        llm_input_tokens=0,
        llm_output_tokens=0,
    )
