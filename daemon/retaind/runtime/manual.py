"""Texts of the user's own: kept in the vault as host `manual`, and handed to a memory by name."""

import time
from typing import Final

from retaind.config import Settings
from retaind.core.plan import Counts
from retaind.core.redact import redact
from retaind.db import Connection
from retaind.memory.port import Item, Source
from retaind.runtime import cursors
from retaind.runtime.controls import RetainRequest
from retaind.vault import blocks, streams
from retaind.vault.identity import NOTHING, Locator, extended
from retaind.vault.streams import NewStream, Sighting

HOST: Final = "manual"
_PARSER_VERSION: Final = 1


class Kept:
    """A text about to be kept: what the memory is given, and what is written beside it."""

    def __init__(
        self, request: RetainRequest, settings: Settings, memory: str, *, completed: bool = True
    ) -> None:
        self._request = request
        self._memory = memory
        self._completed = completed
        self.stream_id = self.generation_id = 0
        self._raw = request.content.encode("utf-8", "replace")
        found = redact(request.content) if settings.retain.redact else None
        self._redacted = found.kinds if found else {}
        self._content = found.text if found else request.content

    def item(self) -> Item:
        """Return the text as the memory takes it."""
        request = self._request
        return Item(
            source=Source(HOST, request.document_id, request.document_id, "manual", 1),
            content=self._content,
            range_=(0, len(self._raw)),
            document_id=request.document_id,
            update="append" if request.append else "replace",
            context=request.context,
            tags=request.tags,
        )

    def commit(self, connection: Connection) -> None:
        """Write the exact bytes and the cursor; a replaced text stays as a closed generation."""
        now = time.time()
        row = connection.execute(
            "SELECT s.id, g.id, g.n, g.captured FROM stream s JOIN generation g ON g.stream_id = s.id"
            " WHERE s.host = ? AND s.session_id = ? AND g.closed IS NULL",
            (HOST, self._request.document_id),
        ).fetchone()
        if row is None:
            created = streams.create(connection, self._new_stream(), _sighting(0, now), now)
            stream_id, generation_id, start = created.stream_id, created.generation_id, 0
        elif self._request.append:
            stream_id, generation_id, start = row[0], row[1], row[3]
        else:
            streams.close_generation(connection, row[1], "replaced")
            stream_id, start = row[0], 0
            generation_id = streams.open_generation(
                connection, stream_id, row[2] + 1, _sighting(0, now)
            )
        self.stream_id, self.generation_id = stream_id, generation_id
        end = start + len(self._raw)
        self._store(connection, generation_id, start, end, now)
        streams.touch(connection, stream_id, end, now)

    def _store(
        self, connection: Connection, generation_id: int, start: int, end: int, now: float
    ) -> None:
        known = NOTHING._replace(captured=start)
        evidence = extended(known, b"", self._raw, b"")
        pieces = [blocks.compress(at, raw) for at, raw in blocks.split(start, self._raw)]
        streams.append(connection, generation_id, pieces, evidence, _sighting(end, now))
        cursor = cursors.load(connection, self._memory, generation_id)
        counts = Counts(records=1, messages=1, planned=1)
        moved = cursor.moved(end, b"", counts, self._redacted, completed=self._completed)
        cursors.store(connection, self._memory, generation_id, moved, HOST, _PARSER_VERSION)

    def _new_stream(self) -> NewStream:
        return NewStream(
            host=HOST,
            kind="manual",
            session_id=self._request.document_id,
            owner_session=None,
            path=b"",
            cwd=None,
            project=None,
            mode="full",
        )


def pass_over(connection: Connection, memory: str) -> None:
    """Account for the texts that were given to other memories than this one."""
    connection.execute(
        "INSERT INTO cursor (memory, generation_id, offset, carry, records, retained, pending,"
        " set_aside, dropped, redacted, messages, turns, policy_hash, parser_version)"
        " SELECT ?, g.id, g.captured, x'', 1, 0, 0, 0, '{\"other_memory\": 1}', '{}', 1, 0, ?, ?"
        " FROM generation g JOIN stream s ON s.id = g.stream_id WHERE s.host = ? AND g.captured > 0"
        " ON CONFLICT (memory, generation_id) DO UPDATE SET offset = max(offset, excluded.offset)",
        (memory, HOST, _PARSER_VERSION, HOST),
    )


def _sighting(size: int, now: float) -> Sighting:
    """Return the sighting of something that is in no file."""
    nanoseconds = int(now * 1e9)
    return Sighting(Locator(0, 0), None, size, nanoseconds, nanoseconds)
