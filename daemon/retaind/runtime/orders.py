"""From examined files to orders: which of them are read, each stream and each file once in a round."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from retaind.runtime.apply import Order, Spot
from retaind.runtime.decide import Act, Completed, Decision, decide
from retaind.runtime.examine import Examined
from retaind.runtime.index import Index


@dataclass(slots=True)
class SortedOut:
    """`claimed` are the streams whose files were met, `idle` the files with which nothing is to be done."""

    orders: list[Order] = field(default_factory=list)
    waiting: list[Spot] = field(default_factory=list)
    claimed: set[int] = field(default_factory=set)
    idle: list[Examined] = field(default_factory=list)


def sort_out(
    files: Sequence[Examined], spots: Mapping[bytes, Spot], index: Index, scan: Completed | None
) -> SortedOut:
    """Decide about each file; see `decide`."""
    decided = [(file, decide(file, index, scan)) for file in files]
    # What goes on elsewhere goes first: what stands in its old place now must not end it.
    decided.sort(key=lambda one: one[1].act is not Act.ADOPT)
    out = SortedOut()
    met: set[object] = set()
    for file, decision in decided:
        spot = spots[file.path]
        if decision.tracked is not None:
            out.claimed.add(decision.tracked.stream_id)
        if decision.act is Act.WAIT:
            out.waiting.append(spot)
        order = None
        if file.sighting.locator not in met:
            order = _order(spot, file, decision, met)
        if order is None:
            out.idle.append(file)
            continue
        met.add(file.sighting.locator)
        if order.decision.tracked is not None:
            met.add(order.decision.tracked.stream_id)
        out.orders.append(order)
    return out


def _order(spot: Spot, file: Examined, decision: Decision, met: set[object]) -> Order | None:
    tracked = decision.tracked
    if decision.act is Act.WAIT:
        return None
    if decision.act is Act.ALIAS:
        if tracked is None or tracked.row.sighting == file.sighting:
            return None
        # News of the file came by another of its names; it is read under its own.
        own = spot._replace(path=tracked.path)
        return Order(own, file, Decision(Act.CONTINUE, tracked))
    if tracked is not None and tracked.stream_id in met:
        parent = tracked if decision.act is Act.ADOPT else None
        decision = Decision(Act.CREATE, parent=parent)
    return Order(spot, file, decision)
