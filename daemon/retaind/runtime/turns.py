"""The last turns of a session, which put a question in context; read backwards, no further than needed."""

import sqlite3
from collections.abc import Iterator
from typing import Final

from retaind.config import Settings
from retaind.core.conversation import conversational_text, starts_turn
from retaind.core.lines import frame
from retaind.core.policy import RetainPolicy
from retaind.core.records import Record
from retaind.core.redact import redact
from retaind.hosts import HOSTS
from retaind.runtime.catalog import Stream
from retaind.vault import streams

_FIRST_LOOK_BYTES: Final = 256 << 10
_FARTHER: Final = 4
_LOOK_BACK_BYTES: Final = 64 << 20


def last_turns(
    connection: sqlite3.Connection, stream: Stream, wanted: int, prompt: str, settings: Settings
) -> list[tuple[str, str]]:
    """Return role and text of what was said since the N-th last turn began, in the roles to be recalled.

    The prompt itself, when it is on disk already, is no turn of the context and is left out first. What
    could not be part of a query of the longest size is not looked for.
    """
    said: list[tuple[str, str]] = []
    turns = chars = 0
    is_newest = True
    most_chars = settings.recall.max_query_chars
    for record in _backwards(connection, stream) if wanted > 0 else ():
        text = "" if record.reason else conversational_text(record, settings.retain)
        if not text:
            continue
        begins = starts_turn(record, settings.retain)
        if is_newest and begins and text == prompt.strip():
            is_newest = False
            continue
        is_newest = False
        if record.role in settings.recall.roles:
            said.append((record.role, _safe(text, settings.retain)))
            chars += len(text)
        turns += begins
        if turns == wanted or 0 < most_chars < chars:
            break
    return said[::-1]


def _safe(text: str, policy: RetainPolicy) -> str:
    return redact(text).text if policy.redact else text


def _backwards(connection: sqlite3.Connection, stream: Stream) -> Iterator[Record]:
    """Yield a session's newest records first, in looks that reach farther each time."""
    generation_id, _, end, _ = streams.generations(connection, stream.id)[-1]
    host = HOSTS.get(stream.host)
    floor = max(0, end - _LOOK_BACK_BYTES)
    look = _FIRST_LOOK_BYTES
    start = end
    while host is not None and start > floor:
        start = max(floor, end - look)
        look *= _FARTHER
        data = b"".join(piece for _, piece in streams.read(connection, generation_id, start, end))
        # A look that begins within a line leaves it to the next one, which reads it whole.
        cut = data.find(b"\n") + 1 if start else 0
        if start > floor and not cut:
            continue
        lines, framed = frame(data[cut:], start + cut)
        if framed < end:
            lines = [*lines, (framed, data[framed - start :])]
        for at, line in reversed(lines):
            yield from reversed(host.parse(at, line))
        end = start + cut
