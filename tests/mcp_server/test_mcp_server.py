"""`retaind mcp`, asked by the SDK's own client over standard input and output."""

import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import CallToolResult, TextContent, TextResourceContents

from harness.process import DEADLINE_S, Home, running_daemon
from hooks.events import HERON, PROJECT, WEIR, Hooked, said

T = TypeVar("T")


@pytest.fixture(name="kept", scope="module")
def _kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with running_daemon(tmp_path_factory.mktemp("kept")) as place:
        hooked = Hooked(place)
        hooked.write(HERON, said(HERON, "Where does the heron nest?", "By the old weir."))
        hooked.write(
            WEIR, said(WEIR, *(f"step {n} of the mill" for n in range(120)), cwd=f"{PROJECT}/mill")
        )
        place.flush()
        yield place


def asking(place: Home, work: Callable[[Client], Awaitable[T]]) -> T:
    """Start the server as an agent does, and ask it."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-I", "-m", "retaind", "mcp"],
        env=dict(place.environ),
        cwd=str(place.folder),
    )

    async def ask() -> T:
        async with Client(server) as client:
            return await work(client)

    return anyio.run(ask)


def call(place: Home, tool: str, **arguments: object) -> CallToolResult:
    async def work(client: Client) -> CallToolResult:
        return await client.call_tool(tool, arguments)

    return asking(place, work)


def text(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def test_it_offers_three_tools_that_only_read(kept: Home) -> None:
    tools = asking(kept, lambda client: client.list_tools()).tools

    assert [tool.name for tool in tools] == ["recall", "search", "show_session"]
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)


def test_recall_gives_the_block(kept: Home) -> None:
    answer = call(kept, "recall", prompt="Where does the heron nest?")

    assert not answer.is_error
    assert "By the old weir." in text(answer)


def test_recall_of_nothing_says_so(kept: Home) -> None:
    assert text(call(kept, "recall", prompt="zeppelin")) == "Nothing is remembered for that."


def test_search_names_the_session_to_read_on(kept: Home) -> None:
    found = text(call(kept, "search", query="heron", project=PROJECT, limit=5))

    assert HERON in found
    assert "«heron»" in found


def test_a_long_session_is_shown_a_part_at_a_time(kept: Home) -> None:
    first = text(call(kept, "show_session", id=WEIR))
    second = text(call(kept, "show_session", id=WEIR, start=50, count=100))

    assert first.startswith("[messages 0 to 50 of 120; go on with start 50]")
    assert "step 49 of the mill" in first
    assert second.startswith("[messages 50 to 120 of 120]")
    assert "step 119 of the mill" in second


def test_each_session_is_a_resource(kept: Home) -> None:
    async def work(client: Client) -> tuple[list[str], str]:
        listed = (await client.list_resources()).resources
        (heron,) = (one for one in listed if one.name == HERON)
        (content,) = (await client.read_resource(heron.uri)).contents
        assert isinstance(content, TextResourceContents)
        return [one.name for one in listed], content.text

    names, conversation = asking(kept, work)

    assert sorted(names) == [HERON, WEIR]
    assert "By the old weir." in conversation


WRONG: list[tuple[str, dict[str, object], str]] = [
    ("search", {}, "query must be a text"),
    ("search", {"query": "heron", "limit": 0}, "limit must be a whole number"),
    ("recall", {"prompt": 7}, "prompt must be a text"),
    ("show_session", {"id": "nobody"}, 'there is no session "nobody"'),
]


def test_a_wrong_question_is_a_tools_error_that_says_what_is_wrong(kept: Home) -> None:
    async def work(client: Client) -> list[CallToolResult]:
        return [await client.call_tool(tool, arguments) for tool, arguments, _ in WRONG]

    for answer, (_, _, why) in zip(asking(kept, work), WRONG, strict=True):
        assert answer.is_error
        assert why in text(answer)


def test_an_unknown_tool_or_resource_is_the_protocols_error(kept: Home) -> None:
    async def work(client: Client) -> None:
        with pytest.raises(MCPError, match="no tool"):
            await client.call_tool("forget", {})
        with pytest.raises(MCPError, match="no such resource"):
            await client.read_resource("file:///etc/passwd")
        with pytest.raises(MCPError, match="there is no session"):
            await client.read_resource("retaind://session/nobody")

    asking(kept, work)


def test_without_the_daemon_tools_say_how_to_start_it_and_work_once_it_runs(tmp_path: Path) -> None:
    place = Home(tmp_path)

    async def work(client: Client) -> tuple[CallToolResult, int, CallToolResult]:
        before = await client.call_tool("recall", {"prompt": "Where does the heron nest?"})
        listed = len((await client.list_resources()).resources)
        await anyio.to_thread.run_sync(_start)
        return (
            before,
            listed,
            await client.call_tool("recall", {"prompt": "Where does the heron nest?"}),
        )

    def _start() -> None:
        Hooked(place).write(HERON, said(HERON, "Where does the heron nest?", "By the old weir."))
        place.start()
        place.flush()

    try:
        before, listed, after = asking(place, work)
    finally:
        place.clean_up()

    assert before.is_error
    assert "retaind is not running" in text(before)
    assert "retaind start" in text(before)
    assert listed == 0
    assert "By the old weir." in text(after)


def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    blocked = tmp_path / "run.py"
    blocked.write_text(
        "import importlib.util, sys\n"
        "found = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'mcp' else found(name, *rest)\n"
        "from retaind.cli.app import run\n"
        "sys.exit(run(['mcp']))\n"
    )
    finished = subprocess.run(
        [sys.executable, "-I", blocked], capture_output=True, check=False, timeout=DEADLINE_S
    )

    assert finished.returncode == 2
    assert b"retaind[mcp]" in finished.stderr
