"""The local memory: documents, chunks and a full-text index in the one database, searched and recalled."""

import sqlite3
import time
from collections.abc import Callable, Sequence
from uuid import uuid4

import anyio
import msgspec

from retaind.core.metering import merge
from retaind.db import Database
from retaind.failpoint import reach
from retaind.memory.local import erasing, extracting, named, recalling, searching, sessions
from retaind.memory.local.additions import Addition, fold
from retaind.memory.local.documents import Done, Limits
from retaind.memory.local.named import Work
from retaind.memory.port import Commit, Filters, Found, Item, MemoryState, RetainResult

NAME = "local"


class LocalMemory:
    """The memory that needs no server. Its rows lie in the same database as the vault and the cursors.

    `clock` gives seconds since 1970. Token counts are those of `limits`.
    """

    def __init__(
        self,
        database: Database,
        limits: Limits | None = None,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._database = database
        self._limits = limits or Limits()
        self._clock = clock
        self._named = anyio.Lock()

    @property
    def name(self) -> str:
        """The name in configuration, cursors and results."""
        return NAME

    def retain_in(
        self, connection: sqlite3.Connection, items: Sequence[Item], execution_id: str
    ) -> RetainResult:
        """Take the items, and write their result, in the caller's transaction, whatever their size."""
        return self._take(connection, fold(items), items, execution_id, {})

    async def retain(self, items: Sequence[Item], *, commit: Commit | None = None) -> RetainResult:
        """Take the items and run `commit` in the transaction that completes them.

        A named document larger than a batch is written in several transactions before that one; if the
        process dies between them, the same call goes on where it stopped.
        """
        execution_id = str(uuid4())
        additions = fold(items)

        def complete(connection: sqlite3.Connection) -> RetainResult:
            result = self._take(connection, additions, items, execution_id, begun)
            if commit is not None:
                commit(connection)
            return result

        async with self._named:
            begun: dict[int, Work] = {}
            for place, addition in enumerate(additions):
                if self._is_oversized(addition):
                    begun[place] = await self._in_batches(addition)
            return await self._database.write(complete)

    async def recall(
        self, query: str, *, limit: int, filters: Filters, max_tokens: int = 0
    ) -> tuple[Found, ...]:
        """Return what is remembered for the query, best first; 0 or less is no limit."""
        found = await self._database.read(
            lambda connection: recalling.recall(
                connection,
                query,
                now=self._clock(),
                limit=limit,
                max_tokens=max_tokens,
                filters=filters,
            )
        )
        return found.results

    async def search(self, query: str, *, limit: int, filters: Filters) -> tuple[Found, ...]:
        """Return the messages that the query is found in, best first."""
        return await self._database.read(
            lambda connection: searching.search(connection, query, limit, filters)
        )

    async def forget(self, document_ids: Sequence[str]) -> int:
        """Erase documents; returns how many were there. `optimize` clears the index's files of them."""
        return await self._database.write(
            lambda connection: erasing.erase_documents(connection, document_ids)
        )

    async def coverage(self, session_id: str) -> tuple[tuple[int, int], ...]:
        """Return the byte ranges held of the newest generation of a session or stream."""
        return await self._database.read(
            lambda connection: erasing.coverage(connection, session_id)
        )

    async def state(self) -> MemoryState:
        """Say how the memory is."""
        documents, chunks = await self._database.read(erasing.sizes)
        pending = await self._database.read(extracting.count)
        return MemoryState(NAME, "ok", "", documents, chunks, pending)

    def _is_oversized(self, addition: Addition) -> bool:
        limits = self._limits
        return addition.name is not None and limits.count(addition.text) > limits.batch_tokens

    async def _in_batches(self, addition: Addition) -> Work:
        """Do all but the last step of a large document, each part in its own transaction."""
        work = await self._database.read(lambda c: named.plan(c, addition, self._limits))
        reach("local.planned")
        while await self._database.write(lambda c: work.step(c, self._clock())):
            reach("local.batch")
        reach("local.batches_done")
        return work

    def _take(
        self,
        connection: sqlite3.Connection,
        additions: Sequence[Addition],
        items: Sequence[Item],
        execution_id: str,
        begun: dict[int, Work],
    ) -> RetainResult:
        now = self._clock()
        done: list[Done] = []
        for place, addition in enumerate(additions):
            if addition.name is None:
                done += sessions.extend(connection, addition, self._limits, now)
                continue
            work = begun.get(place) or named.plan(connection, addition, self._limits)
            while work.step(connection, now):
                pass
            work.finish(connection, now)
            done.append(work.done)
        result = self._result(items, done, execution_id)
        connection.execute(
            "INSERT INTO result (memory, created, body, hooked) VALUES (?, ?, ?, 0)",
            (NAME, now, msgspec.json.encode(result).decode()),
        )
        return result

    def _result(
        self, items: Sequence[Item], done: Sequence[Done], execution_id: str
    ) -> RetainResult:
        sessions_named = {item.source.session_id for item in items}
        streams = {(item.source.stream, item.source.generation) for item in items}
        return RetainResult(
            execution_id=execution_id,
            memory=NAME,
            bank=NAME,
            session_id=sessions_named.pop() if len(sessions_named) == 1 else None,
            document_ids=tuple(dict.fromkeys(one.name for one in done)),
            range=(
                (min(one.range_[0] for one in items), max(one.range_[1] for one in items))
                if len(streams) == 1
                else None
            ),
            success=True,
            error=None,
            chunks=sum(one.chunks for one in done),
            chunks_extracted=sum(one.extracted for one in done),
            processed_content_tokens=merge(one.processed_tokens for one in done),
            tokenizer=self._limits.tokenizer,
            llm_input_tokens=0,
            llm_output_tokens=0,
            submitted_chars=sum(len(one.content) for one in items),
        )
