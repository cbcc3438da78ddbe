"""A local memory on a real database in a folder, and items to put into it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import anyio

from retaind.db import Database, open_readonly
from retaind.memory.local import Limits, LocalMemory, Recalled, recall, search
from retaind.memory.port import Filters, Found, Item, Part, RetainResult, Source

NOW = 1_788_000_000.0
"""A moment on 2026-08-29."""

Said = tuple[str, str]


class Local:
    """The memory, asked as the runtime asks it."""

    def __init__(self, folder: Path, limits: Limits | None = None) -> None:
        self.database = Database.open(folder / "retaind.db")
        self.reader = open_readonly(self.database.path)
        self.memory = LocalMemory(self.database, limits, clock=lambda: NOW)

    def take(self, *items: Item) -> RetainResult:
        """Retain inside a transaction, as the runtime does."""
        return self.database.write_now(lambda c: self.memory.retain_in(c, items, "execution"))

    def retain(self, *items: Item) -> RetainResult:
        """Retain as a caller of the port does."""
        return anyio.run(self.memory.retain, items)

    def search(self, query: str, limit: int = 20, filters: Filters | None = None) -> list[Found]:
        """Search on a read-only connection, as the command line does."""
        return list(search(self.reader, query, limit, filters or Filters()))

    def texts(self, query: str, filters: Filters | None = None) -> list[str]:
        """Return the texts that a search finds."""
        return [one.text for one in self.search(query, filters=filters)]

    def recall(
        self, query: str, max_tokens: int = 0, filters: Filters | None = None, limit: int = 0
    ) -> Recalled:
        """Recall on a read-only connection."""
        return recall(
            self.reader, query, now=NOW, max_tokens=max_tokens, filters=filters, limit=limit
        )

    def rows(self, sql: str, *values: object) -> list[tuple[object, ...]]:
        """Ask the database itself."""
        return self.reader.execute(sql, values).fetchall()

    def is_sound(self) -> bool:
        """Whether the index holds exactly the passages, and the text of each document is whole."""
        try:
            self.database.write_now(
                lambda c: c.execute(
                    "INSERT INTO local_index (local_index, rank) VALUES ('integrity-check', 0)"
                )
            )
        except Exception:  # noqa: BLE001 (whatever is wrong with it)
            return False
        indexed = self.rows("SELECT id FROM local_index_docsize ORDER BY id")
        passages = self.rows("SELECT id FROM local_passage ORDER BY id")
        holes = self.rows(
            "SELECT d.id FROM local_document d WHERE d.chars <> coalesce("
            "(SELECT sum(chars) FROM local_frame f WHERE f.document_id = d.id), 0)"
        )
        return indexed == passages and not holes


@contextmanager
def local(folder: Path, limits: Limits | None = None) -> Iterator[Local]:
    """Open a memory in a folder."""
    opened = Local(folder, limits)
    try:
        yield opened
    finally:
        opened.reader.close()
        opened.database.close()


def source(session: str = "s1", **more: object) -> Source:
    values: dict[str, object] = {
        "host": "claude_code",
        "session_id": session,
        "stream": f"stream-{session}",
        "kind": "session",
        "generation": 0,
        "project": "proj",
        "cwd": "/home/dev/proj",
    }
    return Source(**{**values, **more})  # type: ignore[arg-type]


def talk(
    *messages: Said,
    session: str = "s1",
    start: int = 0,
    timestamp: str = "2026-08-01T10:00:00Z",
    context: str = "",
    **more: object,
) -> Item:
    """Return messages as an item for a session, as the runtime renders them."""
    content = ""
    parts: list[Part] = []
    turn = -1
    for role, text in messages:
        content += "\n\n" if content else ""
        block = f"[role: {role}]\n{text}\n[{role}:end]"
        turn += role == "user"
        end = len(content) + len(block)
        parts.append(Part(role, len(content), end, timestamp, max(turn, 0)))
        content += block
    return Item(
        source(session, **more),
        content,
        (start, start + 100),
        tuple(parts),
        timestamp=timestamp,
        context=context,
    )


def note(text: str, name: str = "note", *, append: bool = False, context: str = "") -> Item:
    """Return a text as a document that a user named."""
    return Item(
        source("manual", host="manual", kind="manual", project=None, cwd=None),
        text,
        (0, len(text)),
        document_id=name,
        update="append" if append else "replace",
        context=context,
    )


def paragraph(name: str, words: int = 130) -> str:
    """Return some 900 characters that occur nowhere else."""
    return " ".join(f"{name}{n:03d}" for n in range(words))[:900].rstrip()


def paragraphs(names: Sequence[str]) -> str:
    return "\n\n".join(paragraph(name) for name in names)
