"""A conversation read back from the vault, or its exact bytes: what `show` and `restore` print."""

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Final

from retaind.core.carry import Carry
from retaind.core.lines import frame
from retaind.core.messages import Message
from retaind.core.policy import RetainPolicy
from retaind.core.reading import Kind, Reading
from retaind.core.records import Record
from retaind.core.redact import redact
from retaind.errors import NotFound, StateError
from retaind.hosts.port import Host
from retaind.runtime.catalog import Generation, Session, shown_path
from retaind.vault import streams
from retaind.vault.blocks import BlockDamaged

RECORD_BYTES: Final = 32 * 1024 * 1024
"""A longer line is passed over, as retention does."""


def messages(
    connection: sqlite3.Connection,
    one: Session,
    generation: Generation,
    host: Host,
    policy: RetainPolicy,
) -> Iterator[Message]:
    """Yield what was said, oldest first, with secrets taken out as the policy says.

    A message that the vault's blocks cut in two comes in two parts with the same `message_id`.
    """
    carry = Carry()
    for lines in _lines(connection, generation):
        records: list[Record] = []
        for start, line in lines:
            records += host.parse(start, line)
        kind: Kind = "subagent" if one.stream.kind == "subagent" else "session"
        reading = Reading(carry, kind, frozenset(), policy, redact)
        reading.read(records)
        yield from reading.messages()
        carry = reading.carry()


def text(connection: sqlite3.Connection, generation: Generation, policy: RetainPolicy) -> str:
    """Return a text that the user handed over, with secrets taken out as the policy says."""
    given = b"".join(exact(connection, generation)).decode("utf-8", "replace")
    return redact(given).text if policy.redact else given


def exact(connection: sqlite3.Connection, generation: Generation) -> Iterator[bytes]:
    """Yield a generation byte for byte. Raises StateError where bytes were pruned or never kept."""
    end = 0
    try:
        for at, piece in streams.read(connection, generation.id, 0, generation.captured):
            if at != end:
                break
            yield piece
            end = at + len(piece)
    except BlockDamaged as error:
        raise StateError(
            f"the vault's block at {end} cannot be read", why="it is damaged"
        ) from error
    if end != generation.captured:
        raise _lacking(connection, generation, end)


def choose_generation(one: Session, n: int | None) -> Generation:
    """Return a generation by its number; None is the current one. Raises NotFound."""
    if n is None:
        return one.current
    for generation in one.generations:
        if generation.n == n:
            return generation
    known = ", ".join(str(generation.n) for generation in one.generations)
    raise NotFound(
        f"there is no generation {n}",
        why=f"there are {known}" if len(one.generations) > 1 else f"there is only {known}",
        fix="leave --generation out for what stands there now",
    )


def choose_attachment(one: Session, name: str) -> Session:
    """Return an attachment by its id, or by its file name. Raises NotFound."""
    for part in one.attachments:
        path = shown_path(part.stream.path)
        if name in {part.stream.public_id, path, path.rpartition("/")[2]}:
            return part
    known = ", ".join(shown_path(p.stream.path).rpartition("/")[2] for p in one.attachments[:20])
    raise NotFound(
        f'there is no attachment "{name}"',
        why=f"there are {known}" if known else "the session has none",
        fix="name one of these" if known else "leave --attachment out for the session itself",
    )


def _lacking(connection: sqlite3.Connection, generation: Generation, end: int) -> StateError:
    """Say why the bytes after `end` are not there."""
    mode = connection.execute(
        "SELECT mode FROM stream WHERE id = ?", (generation.stream_id,)
    ).fetchone()[0]
    fix = "copy the transcript itself, if it is still there"
    if mode in {"metadata", "off"} and end == 0:
        return StateError(
            "the vault does not hold this session's bytes",
            why=f'the configuration has mode = "{mode}" for its project',
            fix=fix,
        )
    return StateError(
        f"the vault no longer holds the bytes after {end} of {generation.captured}",
        why="they were pruned",
        fix=fix,
    )


def _lines(
    connection: sqlite3.Connection, generation: Generation
) -> Iterator[Sequence[tuple[int, bytes]]]:
    """Frame the vault's bytes block by block; the unfinished last line is a line, too."""
    rest, start = b"", 0
    for at, piece in streams.read(connection, generation.id, 0, generation.captured):
        if at != start + len(rest):
            rest, start = b"", at
        lines, end = frame(rest + piece, start)
        rest = (rest + piece)[end - start :]
        start = end
        if len(rest) > RECORD_BYTES:
            rest, start = b"", at + len(piece)
        yield lines
    if rest:
        yield [(start, rest)]
