"""What a round of capture comes to: what it committed, and which paths it leaves for later."""

from dataclasses import dataclass, field
from typing import NamedTuple

from retaind.runtime.apply import Order, Spot
from retaind.runtime.examine import Failed
from retaind.runtime.index import Tracked
from retaind.vault.streams import OpenGeneration


class Captured(NamedTuple):
    """What a round committed for one generation; `raw` are the bytes that followed the old offset."""

    tracked: Tracked
    before: OpenGeneration | None
    raw: tuple[tuple[int, bytes], ...]


@dataclass(slots=True)
class Round:
    """What one round did, and which paths it leaves for later."""

    captured: list[Captured] = field(default_factory=list)
    claimed: set[int] = field(default_factory=set)
    waiting: list[Spot] = field(default_factory=list)
    again: list[Spot] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)


class Unread(NamedTuple):
    """An order that could not be filled; `changed` says that it is worth another look at once."""

    order: Order
    changed: bool
