"""What every memory does, whatever stands behind the port."""

import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from memory.fake_memory import FakeMemory
from memory.remembered import local, note, talk
from retaind.memory.port import Filters, Memory

ANY = Filters()


class Kept:
    """A memory and the rows that its callers write with it."""

    def __init__(self, memory: Memory, rows: Callable[[], list[str]]) -> None:
        self.memory = memory
        self.rows = rows


@pytest.fixture(name="kept", params=["local", "fake"])
def _kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Kept]:
    if request.param == "local":
        with local(tmp_path) as opened:
            opened.database.write_now(lambda c: c.execute("CREATE TABLE own (what TEXT)"))
            yield Kept(
                opened.memory, lambda: [str(row[0]) for row in opened.rows("SELECT what FROM own")]
            )
    else:
        connection = sqlite3.connect(":memory:")
        connection.execute("CREATE TABLE own (what TEXT)")
        yield Kept(
            FakeMemory(connection),
            lambda: [row[0] for row in connection.execute("SELECT what FROM own").fetchall()],
        )
        connection.close()


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    return anyio.run(work)


def own_row(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO own VALUES ('mine')")


def own_row_and_fail(connection: sqlite3.Connection) -> None:
    own_row(connection)
    raise RuntimeError("the caller's own")


def test_what_is_retained_is_recalled(kept: Kept) -> None:
    async def work() -> None:
        await kept.memory.retain([talk(("user", "the walrus sings"), ("assistant", "it does"))])

        found = await kept.memory.recall("walrus", limit=5, filters=ANY)
        assert "walrus" in found[0].text
        assert (found[0].session_id, found[0].host) == ("s1", "claude_code")
        assert await kept.memory.recall("penguin", limit=5, filters=ANY) == ()

    run(work)


def test_the_callers_rows_are_written_with_the_items(kept: Kept) -> None:
    async def work() -> None:
        await kept.memory.retain([talk(("user", "the walrus"))], commit=own_row)

        assert kept.rows() == ["mine"]

    run(work)


def test_when_the_caller_fails_nothing_has_happened(kept: Kept) -> None:
    async def work() -> None:
        with pytest.raises(RuntimeError):
            await kept.memory.retain([talk(("user", "the walrus"))], commit=own_row_and_fail)

        assert kept.rows() == []
        assert await kept.memory.recall("walrus", limit=5, filters=ANY) == ()
        assert (await kept.memory.state()).documents == 0

    run(work)


def test_the_result_names_the_documents_and_an_execution_of_its_own(kept: Kept) -> None:
    async def work() -> None:
        first = await kept.memory.retain([talk(("user", "one"))])
        second = await kept.memory.retain([note("two", "mine")])

        assert first.memory == kept.memory.name
        assert first.success
        assert first.processed_content_tokens is None
        assert len(first.document_ids) == 1
        assert second.document_ids == ("mine",)
        assert first.execution_id != second.execution_id

    run(work)


def test_a_document_sent_again_is_replaced(kept: Kept) -> None:
    async def work() -> None:
        await kept.memory.retain([note("the walrus sings", "mine")])
        await kept.memory.retain([note("the penguin sings", "mine")])

        assert await kept.memory.recall("walrus", limit=5, filters=ANY) == ()
        assert len(await kept.memory.recall("penguin", limit=5, filters=ANY)) == 1

    run(work)


def test_the_asking_session_is_not_recalled(kept: Kept) -> None:
    async def work() -> None:
        await kept.memory.retain([talk(("user", "the walrus sings"), session="asking")])
        await kept.memory.retain([talk(("user", "the walrus dances"), session="other")])

        filters = Filters(exclude_sessions=("asking",))
        found = await kept.memory.recall("walrus", limit=5, filters=filters)
        assert [one.session_id for one in found] == ["other"]

    run(work)


def test_filters_and_the_limit_narrow_a_recall(kept: Kept) -> None:
    async def work() -> None:
        for session in ("a", "b", "c"):
            await kept.memory.retain([talk(("user", f"walrus {session}"), session=session)])
        await kept.memory.retain([talk(("user", "walrus d"), session="d", host="codex")])

        filters = Filters(hosts=("codex",))
        found = await kept.memory.recall("walrus", limit=9, filters=filters)
        assert [one.session_id for one in found] == ["d"]
        assert len(await kept.memory.recall("walrus", limit=2, filters=ANY)) == 2
        assert len(await kept.memory.recall("walrus", limit=0, filters=ANY)) == 4

    run(work)


def test_what_is_forgotten_is_gone(kept: Kept) -> None:
    async def work() -> None:
        result = await kept.memory.retain([talk(("user", "the walrus"))])
        await kept.memory.retain([talk(("user", "the penguin"), session="s2")])

        assert await kept.memory.forget([*result.document_ids, "never there"]) == 1
        assert await kept.memory.recall("walrus", limit=5, filters=ANY) == ()
        assert len(await kept.memory.recall("penguin", limit=5, filters=ANY)) == 1
        assert await kept.memory.coverage("s1") == ()

    run(work)


def test_coverage_is_the_bytes_held_merged_where_they_touch(kept: Kept) -> None:
    async def work() -> None:
        for start in (0, 100, 500):
            await kept.memory.retain([talk(("user", f"at {start}"), start=start)])

        assert await kept.memory.coverage("s1") == ((0, 200), (500, 600))
        assert await kept.memory.coverage("unknown") == ()

    run(work)


def test_the_state_counts_what_there_is(kept: Kept) -> None:
    async def work() -> None:
        await kept.memory.retain([note("one", "a"), note("two", "b")])

        state = await kept.memory.state()
        assert (state.name, state.state) == (kept.memory.name, "ok")
        assert (state.documents, state.chunks, state.chunks_pending) == (2, 2, 0)

    run(work)
