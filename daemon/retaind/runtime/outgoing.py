"""What a window puts into the outbox: documents of a session, for the bank that the session belongs to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from retaind.config.settings import Settings
from retaind.core.cadence import Cadence
from retaind.core.facts import SessionFacts
from retaind.core.plan import Draft
from retaind.core.render import Rendered
from retaind.db import Connection
from retaind.runtime import banks, outbox
from retaind.runtime.coverage import Range
from retaind.runtime.outbox import Address
from retaind.runtime.payload import SHOWN_HASH_CHARS, Origin, make
from retaind.runtime.retention import Stream
from retaind.vault import streams


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Stores the documents of windows as deliveries. `held` is what the server turned out to have."""

    to: Address
    settings: Settings
    held: Mapping[int, Sequence[Range]]

    @property
    def cadence(self) -> Cadence | None:
        """Return how turns are grouped; None retains sessions as they come."""
        chosen = self.settings.hindsight
        if chosen.mode != "chunked":
            return None
        return Cadence(chosen.every_n_turns, chosen.overlap_turns)

    def covered(self, generation_id: int) -> Sequence[Range]:
        """Return the bytes of a generation that the server has, although nothing here says so."""
        return self.held.get(generation_id, ())

    def put(
        self,
        connection: Connection,
        stream: Stream,
        generation_id: int,
        documents: Sequence[tuple[Draft, Rendered]],
    ) -> None:
        """Store documents that are to be delivered; the first one settles the session's bank."""
        bank = self.bank_of(connection, stream.stream_id)
        banks.pin(connection, self.to.memory, stream.stream_id, bank)
        facts = SessionFacts(
            stream.host,
            stream.session_id,
            stream.project,
            stream.cwd,
            bank,
            self.settings.bank.user,
        )
        origin = Origin(facts, stream.kind, _head(connection, generation_id))
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for draft, text in documents:
            pieces = streams.read(connection, generation_id, draft.start, draft.end)
            raw = b"".join(piece for _, piece in pieces)
            made = make(draft, text, raw, origin, self.settings.retain, now)
            outbox.put(connection, self.to, stream.stream_id, generation_id, bank, made)

    def bank_of(self, connection: Connection, stream_id: int) -> str:
        """Return the bank of a session: the one that it, or the session it belongs to, has been given."""
        pinned = banks.pinned(connection, self.to.memory, stream_id)
        return pinned or self.bank_wanted(connection, stream_id)

    def bank_wanted(self, connection: Connection, stream_id: int) -> str:
        """Return the bank that a session would be given now."""
        owner, session_id, cwd = banks.owner(connection, stream_id)
        pinned = banks.pinned(connection, self.to.memory, owner) if owner != stream_id else None
        return pinned or banks.derive(self.settings.hindsight, self.settings.bank, session_id, cwd)


def _head(connection: Connection, generation_id: int) -> str:
    """Name the first bytes of a generation: how many, and their hash."""
    head_bytes, head_hash = connection.execute(
        "SELECT head_bytes, head_hash FROM generation WHERE id = ?", (generation_id,)
    ).fetchone()
    return f"{head_bytes}-{head_hash.hex()[:SHOWN_HASH_CHARS]}"
