"""The local memory: SQLite and its full-text index, in the daemon's own database."""

from retaind.memory.local import leaving
from retaind.memory.local.documents import Limits
from retaind.memory.local.erasing import erase, optimize
from retaind.memory.local.memory import LocalMemory
from retaind.memory.local.recalling import FLOOR, Recalled, recall
from retaind.memory.local.searching import search

__all__ = [
    "FLOOR",
    "Limits",
    "LocalMemory",
    "Recalled",
    "erase",
    "leaving",
    "optimize",
    "recall",
    "search",
]
