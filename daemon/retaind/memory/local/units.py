"""Units: messages that were said one after the other, as one result that an agent can use."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from retaind.memory.local.choosing import Chosen
from retaind.memory.local.hits import Hit


class Unit(NamedTuple):
    """Messages of a conversation in their order, and the best hit among them or beside them.

    There are several wordings, from all that was chosen to the best message alone; `keys` has, for each,
    the keys of the messages in it.
    """

    hit: Hit
    score: float
    wordings: tuple[str, ...]
    keys: tuple[frozenset[int], ...]


def units(chosen: Iterable[Chosen]) -> list[Unit]:
    """Bring together what was said in the same turn or in turns that follow each other; best first."""
    runs: list[list[Chosen]] = []
    for one in sorted(chosen, key=_position):
        before = runs[-1][-1].key if runs else None
        if before is not None and one.key in (before, before.beside(1)):
            runs[-1].append(one)
        else:
            runs.append([one])
    return sorted(map(_unit, runs), key=lambda one: (-one.score, -(one.hit.time or 0), one.hit.id))


def _position(one: Chosen) -> tuple[int, ...]:
    message = one.message
    return (*one.key, message.n, message.place.document_id, message.place.start, message.ids[0])


def _unit(run: Sequence[Chosen]) -> Unit:
    best = max(run, key=lambda one: one.score)
    wordings: dict[str, frozenset[int]] = {}
    for part in (run, [one for one in run if one.is_found], [best]):
        wording = "\n".join(one.text for one in part)
        if wording:
            wordings.setdefault(wording, frozenset(one.message.key for one in part))
    return Unit(best.hit, best.score, tuple(wordings), tuple(wordings.values()))
