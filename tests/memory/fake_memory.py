"""A memory in a dictionary, to prove that the contract asks for nothing but the port."""

import sqlite3
from collections.abc import Sequence

from retaind.memory.port import Commit, Filters, Found, Item, MemoryState, RetainResult


class FakeMemory:
    """Keeps whole items and finds them by their words."""

    def __init__(self, bookkeeping: sqlite3.Connection) -> None:
        self._bookkeeping = bookkeeping
        self._items: list[tuple[str, Item]] = []
        self._executions = 0

    @property
    def name(self) -> str:
        return "fake"

    async def retain(self, items: Sequence[Item], *, commit: Commit | None = None) -> RetainResult:
        named = [(item.document_id or f"{item.source.session_id}#0", item) for item in items]
        if commit is not None:
            with self._bookkeeping:
                commit(self._bookkeeping)
        for name, item in named:
            if item.update == "replace":
                self._items = [one for one in self._items if one[0] != name]
            self._items.append((name, item))
        self._executions += 1
        return RetainResult(
            execution_id=str(self._executions),
            memory=self.name,
            bank="fake",
            session_id=items[0].source.session_id if items else None,
            document_ids=tuple(dict.fromkeys(name for name, _ in named)),
            range=None,
            success=True,
            error=None,
            chunks=len(items),
            chunks_extracted=len(items),
            processed_content_tokens=None if items else 0,
            tokenizer="bytes/4",
            llm_input_tokens=0,
            llm_output_tokens=0,
        )

    async def recall(self, query: str, *, limit: int, filters: Filters) -> tuple[Found, ...]:
        words = set(query.lower().split())
        found = []
        for _, item in self._items:
            source = item.source
            shared = len(words & set(item.content.lower().split()))
            if not shared or source.session_id in filters.exclude_sessions:
                continue
            if filters.hosts and source.host not in filters.hosts:
                continue
            found.append(_found(item, float(shared)))
        found.sort(key=lambda one: -one.score)
        return tuple(found[:limit] if limit > 0 else found)

    async def forget(self, document_ids: Sequence[str]) -> int:
        names = {name for name, _ in self._items} & set(document_ids)
        self._items = [one for one in self._items if one[0] not in names]
        return len(names)

    async def coverage(self, session_id: str) -> tuple[tuple[int, int], ...]:
        merged: list[tuple[int, int]] = []
        ranges = [i.range_ for _, i in self._items if i.source.session_id == session_id]
        for start, end in sorted(ranges):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(merged[-1][1], end))
            else:
                merged.append((start, end))
        return tuple(merged)

    async def state(self) -> MemoryState:
        documents = len({name for name, _ in self._items})
        return MemoryState("fake", "ok", "", documents, len(self._items), 0)


def _found(item: Item, score: float) -> Found:
    source = item.source
    return Found(
        text=item.content,
        snippet=item.content,
        session_id=source.session_id,
        stream=source.stream,
        host=source.host,
        kind=source.kind,
        project=source.project,
        role=None,
        timestamp=item.timestamp,
        score=score,
    )
