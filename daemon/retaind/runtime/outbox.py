"""The outbox: rows of `delivery`, from the transaction that plans a document to the one that settles it.

planned → accepted → completed, or set aside. Each function is part of its caller's transaction; cursors
count a document's records as pending until it is settled.
"""

import time
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec
import zstandard

from retaind.db import Connection
from retaind.memory.hindsight import operation_id
from retaind.memory.port import RetainResult
from retaind.runtime import banks
from retaind.runtime.payload import Made, decode, encode_spans, halves
from retaind.vault import streams

_LEVEL: Final = 3
_PAYLOAD_BYTES: Final = 64 << 20


class Head(NamedTuple):
    """Where a row stands in the order of its session: the rows of a session compare."""

    generation_id: int
    start: int
    id: int


class Delivery(NamedTuple):
    """A row that is to be delivered; `item` is what is sent."""

    id: int
    stream_id: int
    generation_id: int
    session_id: str
    start: int
    end: int
    document_id: str
    bank: str
    state: str
    attempt: int
    operation_id: str
    records: int
    item: bytes


@dataclass(frozen=True, slots=True)
class Address:
    """Whose rows these are, and which server they go to."""

    memory: str
    url: str


def put(
    connection: Connection,
    to: Address,
    stream_id: int,
    generation_id: int,
    bank: str,
    made: Made,
) -> int:
    """Store a document that is to be delivered, each time under another operation id; returns its row."""
    payload = made.payload
    attempt = (
        1
        + connection.execute(
            "SELECT coalesce(max(attempt), 0) FROM delivery WHERE document_id = ? AND memory = ?",
            (payload.document_id, to.memory),
        ).fetchone()[0]
    )
    name = operation_id(to.url, bank, payload.document_id, payload.hash, attempt)
    row = connection.execute(
        "INSERT INTO delivery (memory, stream_id, generation_id, start, end, document_id, url, bank, state,"
        " attempt, operation_id, payload_hash, payload, spans, records, tokens, created)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'planned', ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            to.memory, stream_id, generation_id, made.start, made.end, payload.document_id, to.url, bank,
            attempt, name, payload.hash, _packed(payload.encode()), encode_spans(made.spans),
            made.records, made.tokens, time.time(),
        ),
    )  # fmt: skip
    return int(row.lastrowid or 0)


def unsettled(connection: Connection, memory: str, after: int) -> list[tuple[int, Head]]:
    """Return (stream, head) of each row to be delivered that is newer than the row `after`."""
    rows = connection.execute(
        "SELECT stream_id, generation_id, start, id FROM delivery"
        " WHERE memory = ? AND state IN ('planned', 'accepted') AND id > ? ORDER BY id",
        (memory, after),
    ).fetchall()
    return [(row[0], Head(*row[1:])) for row in rows]


def load(connection: Connection, delivery_id: int) -> Delivery | None:
    """Return a row that is to be delivered; None once it is settled."""
    row = connection.execute(
        "SELECT d.id, d.stream_id, d.generation_id, s.session_id, d.start, d.end, d.document_id, d.bank,"
        " d.state, d.attempt, d.operation_id, d.records, d.payload FROM delivery d"
        " JOIN stream s ON s.id = d.stream_id"
        " WHERE d.id = ? AND d.state IN ('planned', 'accepted')",
        (delivery_id,),
    ).fetchone()
    return Delivery._make((*row[:-1], unpacked(row[-1]))) if row else None


def accept(connection: Connection, memory: str, one: Delivery) -> None:
    """Record that the server has the document, and that the session's bank is settled by that."""
    _set_state(connection, one.id, "accepted")
    banks.confirm(connection, memory, one.stream_id)


def unaccept(connection: Connection, one: Delivery) -> None:
    """Record that the server does not have the document after all."""
    _set_state(connection, one.id, "planned")


def complete(connection: Connection, memory: str, one: Delivery) -> None:
    """Settle a row: its records are retained, its payload is freed, and its result is written.

    A row that was forgotten meanwhile leaves nothing behind.
    """
    if not _set_state(connection, one.id, "completed"):
        return
    _free(connection, one.id)
    recount(connection, memory, one.generation_id, one.records, "pending", "retained")
    result = _result(memory, one, error=None)
    connection.execute(
        "INSERT INTO result (memory, created, body, hooked) VALUES (?, ?, ?, 0)",
        (memory, time.time(), msgspec.json.encode(result).decode()),
    )


def set_aside(connection: Connection, memory: str, one: Delivery, why: str) -> None:
    """Settle a row that the server will not take: listed, counted, and there to be tried again."""
    if not _set_state(connection, one.id, "set_aside", why):
        return
    recount(connection, memory, one.generation_id, one.records, "pending", "set_aside")
    result = _result(memory, one, error=why)
    connection.execute(
        "INSERT INTO result (memory, created, body, hooked) VALUES (?, ?, ?, 0)",
        (memory, time.time(), msgspec.json.encode(result).decode()),
    )


def again(connection: Connection, to: Address, one: Delivery) -> None:
    """Plan a row anew under another operation id, because the one at hand is used up."""
    attempt = one.attempt + 1
    connection.execute(
        "UPDATE delivery SET state = 'planned', attempt = ?, operation_id = ? WHERE id = ?",
        (attempt, operation_of(connection, to.url, one.bank, one.id, attempt), one.id),
    )


def split(connection: Connection, to: Address, one: Delivery) -> bool:
    """Put two documents in the place of one; False when it is one message, which cannot be split, or gone."""
    row = connection.execute("SELECT spans FROM delivery WHERE id = ?", (one.id,)).fetchone()
    if row is None:
        return False
    made = decode(one.item, row[0], one.start, one.end)
    if not made.spans:
        return False
    pieces = streams.read(connection, one.generation_id, one.start, one.end)
    parts = halves(made, one.session_id, b"".join(piece for _, piece in pieces))
    if not parts:
        return False
    connection.execute("DELETE FROM delivery WHERE id = ?", (one.id,))
    for part in parts:
        put(connection, to, one.stream_id, one.generation_id, one.bank, part)
    return True


def operation_of(
    connection: Connection, url: str, bank: str, delivery_id: int, attempt: int
) -> str:
    """Name the operation that delivers a row to this address, at this attempt."""
    document, payload_hash = connection.execute(
        "SELECT document_id, payload_hash FROM delivery WHERE id = ?", (delivery_id,)
    ).fetchone()
    return operation_id(url, bank, document, payload_hash, attempt)


def _set_state(connection: Connection, delivery_id: int, state: str, error: str = "") -> bool:
    settled = time.time() if state in {"completed", "set_aside"} else None
    changed = connection.execute(
        "UPDATE delivery SET state = ?, error = ?, settled = ? WHERE id = ?",
        (state, error or None, settled, delivery_id),
    )
    return bool(changed.rowcount)


def _free(connection: Connection, delivery_id: int) -> None:
    connection.execute(
        "UPDATE delivery SET payload = NULL, spans = NULL WHERE id = ?", (delivery_id,)
    )


def recount(
    connection: Connection, memory: str, generation_id: int, records: int, out: str, into: str
) -> None:
    """Move records from one of a cursor's counts to another."""
    connection.execute(
        f"UPDATE cursor SET {out} = {out} - ?1, {into} = {into} + ?1"  # noqa: S608 - our own words
        " WHERE memory = ?2 AND generation_id = ?3",
        (records, memory, generation_id),
    )


def _result(memory: str, one: Delivery, error: str | None) -> RetainResult:
    """Describe an execution. What the server counts while it retains reaches no answer of its API."""
    return RetainResult(
        execution_id=one.operation_id,
        memory=memory,
        bank=one.bank,
        session_id=one.session_id,
        document_ids=(one.document_id,),
        range=(one.start, one.end),
        success=error is None,
        error=error,
        chunks=0,
        chunks_extracted=0,
        processed_content_tokens=None,
        tokenizer="server",
        llm_input_tokens=0,
        llm_output_tokens=0,
        submitted_chars=len(msgspec.json.decode(one.item, type=_Content).content),
    )


class _Content(msgspec.Struct):
    """The part of an item that counts."""

    content: str


def _packed(data: bytes) -> bytes:
    return zstandard.ZstdCompressor(level=_LEVEL).compress(data)


def unpacked(data: bytes) -> bytes:
    """Return a stored payload as it is sent."""
    return zstandard.ZstdDecompressor().decompress(data, max_output_size=_PAYLOAD_BYTES)
