"""How much is measured, and what a line of the table is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

MB = 1_000_000
KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. `budget` is the most that is allowed, or the least where `at_least`."""

    what: str
    measured: float
    budget: float
    unit: str
    at_least: bool = False

    @property
    def ratio(self) -> float:
        """How much of the budget is used; above 1 it is exceeded."""
        part, whole = (
            (self.budget, self.measured) if self.at_least else (self.measured, self.budget)
        )
        return part / whole if whole else float("inf")


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of everything. The budgets are for the full scale; the quick one only gives an impression."""

    import_files: int
    import_bytes: int
    session_bytes: tuple[int, ...]
    lines: int
    latencies: int
    quiet_spells: int
    burst_s: int
    idle_files: int
    idle_s: int
    unread_bytes: int
    searched_bytes: int
    questions: int


FULL = Scale(
    import_files=200,
    import_bytes=200 * MB,
    session_bytes=(2_600_000, 113 * MB, 1000 * MB),
    lines=80,
    latencies=150,
    quiet_spells=5,
    burst_s=60,
    idle_files=5000,
    idle_s=30,
    unread_bytes=50 * MB,
    searched_bytes=1000 * MB,
    questions=60,
)
QUICK = Scale(
    import_files=20,
    import_bytes=20 * MB,
    session_bytes=(1 * MB, 10 * MB, 40 * MB),
    lines=40,
    latencies=50,
    quiet_spells=2,
    burst_s=12,
    idle_files=1000,
    idle_s=15,
    unread_bytes=10 * MB,
    searched_bytes=20 * MB,
    questions=30,
)

Case = Callable[[Scale, Path], Iterator[Row]]
"""Yields the rows of one case, measured at a scale in a folder of its own."""
