"""Documents that a user named: replaced or appended to by a stable id, whatever their size.

A large body is processed in batches of whole chunks, each its own transaction. What must be extracted is
decided once, before the first batch. Whoever dies in between goes on where it stopped when the same
content comes again.
"""

import sqlite3
from dataclasses import replace
from typing import Protocol

from retaind.core.chunks import chunk_hash, separator
from retaind.memory.local import documents, frames
from retaind.memory.local.additions import Addition, detected
from retaind.memory.local.appending import Appending
from retaind.memory.local.documents import Document, Done, Limits
from retaind.memory.local.frames import Place
from retaind.memory.local.replacing import Replacing, Unchanged


class Work(Protocol):
    """What an execution will do for a document."""

    @property
    def done(self) -> Done:
        """What it will have done then."""
        ...

    def step(self, connection: sqlite3.Connection, now: float, /) -> bool:
        """Do the next part, for one transaction; False when only `finish` is left."""
        ...

    def finish(self, connection: sqlite3.Connection, now: float) -> None:
        """Complete the document; belongs in the transaction that tells the result."""
        ...


def plan(connection: sqlite3.Connection, addition: Addition, limits: Limits) -> Work:
    """Decide what to do for a named document, before anything is written."""
    rows = documents.named(connection, addition.name or "")
    current = rows[0] if rows and rows[0].state == "open" else None
    if addition.update == "append" and current is not None:
        if not addition.text:
            return Unchanged(addition, current)
        if len(rows) == 1:
            return Appending.plan(connection, addition, current, limits)
        # A replacement stopped half-way and took chunks along: the text is whole, the rest is made anew.
        addition = _whole(connection, addition, current)
    if len(rows) == 1 and current is not None and current.body_hash == chunk_hash(addition.text):
        return Unchanged(addition, current)
    return Replacing.plan(connection, addition, rows, limits)


def _whole(connection: sqlite3.Connection, addition: Addition, current: Document) -> Addition:
    """Return the addition with the stored text in front of it."""
    stored = frames.read(connection, Place(current.id, 0, current.chars))
    before = stored + separator(stored, addition.text)
    said = (*detected(stored), *addition.said_at(len(before)))
    return replace(addition, text=before + addition.text, said=said)
