"""What a round of capture writes: one filled order becomes rows, inside the round's transaction."""

from dataclasses import dataclass
from typing import NamedTuple

from retaind.db import Connection
from retaind.failpoint import reach
from retaind.hosts.port import Place
from retaind.runtime.admission import Admitted
from retaind.runtime.decide import Act, Decision
from retaind.runtime.examine import Examined, Taken
from retaind.runtime.scan import Root
from retaind.vault import streams
from retaind.vault.identity import NOTHING, Evidence
from retaind.vault.streams import NewStream, OpenGeneration


class Spot(NamedTuple):
    """A path below a root, and what it is there."""

    path: bytes
    root: Root
    place: Place


@dataclass(frozen=True, slots=True)
class Order:
    """One file that is to be read, and how its stream goes on."""

    spot: Spot
    file: Examined
    decision: Decision

    @property
    def known(self) -> Evidence:
        """The evidence from which reading goes on."""
        tracked = self.decision.tracked
        goes_on = tracked is not None and self.decision.act in {Act.CONTINUE, Act.ADOPT}
        return tracked.row.evidence if tracked is not None and goes_on else NOTHING

    @property
    def frontier(self) -> bytes:
        """The bytes before the offset, where proving that the file goes on has read them."""
        own = self.file.own
        return own.frontier if own is not None and self.decision.act is Act.CONTINUE else b""


class Filled(NamedTuple):
    """An order with what was read for it."""

    order: Order
    admitted: Admitted
    taken: Taken


def is_news(one: Filled) -> bool:
    """Whether there is anything to write: bytes, a new look of the file, or new facts."""
    tracked = one.order.decision.tracked
    if tracked is None or one.order.decision.act is not Act.CONTINUE:
        return True
    row = tracked.row
    looks_same = row.sighting == one.taken.sighting and row.source_state == "present"
    facts = (row.mode, row.cwd, row.owner_session)
    facts_same = facts == (one.admitted.mode, one.admitted.cwd, one.admitted.owner_session)
    return not (looks_same and facts_same and row.path == one.order.spot.path and not one.taken.raw)


def apply(connection: Connection, one: Filled, now: float) -> OpenGeneration:
    """Write one filled order; returns the stream's row as it is once the transaction commits."""
    row = _row_for(connection, one, now)
    if row.path != one.order.spot.path:
        place = one.order.spot.place
        row = row._replace(path=one.order.spot.path, session_id=place.session_id)
        streams.move(connection, row.stream_id, row.path, row.session_id)
    admitted = one.admitted
    if admitted.owner_session is not None and row.owner_session is None:
        row = row._replace(owner_session=admitted.owner_session)
        streams.bind(connection, row.stream_id, admitted.owner_session)
    if (row.cwd, row.project, row.mode) != admitted[:3]:
        row = row._replace(
            cwd=row.cwd or admitted.cwd, project=row.project or admitted.project, mode=admitted.mode
        )
        streams.pin_facts(connection, row.stream_id, row.cwd, row.project, row.mode)
    store(connection, row, one.taken)
    reach("capture.stored")
    return row


def _row_for(connection: Connection, one: Filled, now: float) -> OpenGeneration:
    tracked, sighting = one.order.decision.tracked, one.taken.sighting
    if tracked is None:
        return streams.create(connection, _new_stream(one), sighting, now)
    row = tracked.row
    if one.order.decision.act is Act.ADOPT:
        streams.relocate(connection, row.generation_id, sighting)
    elif one.order.decision.act is Act.REWRITE:
        streams.close_generation(connection, row.generation_id, one.order.decision.reason)
        generation_id = streams.open_generation(connection, row.stream_id, row.n + 1, sighting)
        reach("capture.generation")
        return row._replace(generation_id=generation_id, n=row.n + 1, evidence=NOTHING)
    return row


def _new_stream(one: Filled) -> NewStream:
    spot, parent = one.order.spot, one.order.decision.parent
    return NewStream(
        host=spot.root.host.name,
        kind=spot.place.kind,
        session_id=spot.place.session_id,
        owner_session=one.admitted.owner_session,
        path=spot.path,
        cwd=one.admitted.cwd,
        project=one.admitted.project,
        mode=one.admitted.mode,
        parent_id=parent.stream_id if parent else None,
        parent_offset=parent.row.evidence.captured if parent else None,
    )


def store(connection: Connection, row: OpenGeneration, taken: Taken) -> None:
    """Store what was read of one generation, or only its lengths and hashes in `metadata` mode."""
    if row.mode == "metadata":
        streams.note_lengths(connection, row.generation_id, taken.raw)
        streams.append(connection, row.generation_id, (), taken.evidence, taken.sighting)
    else:
        streams.append(connection, row.generation_id, taken.blocks, taken.evidence, taken.sighting)
    streams.touch(connection, row.stream_id, taken.sighting.size, taken.sighting.last_activity)
