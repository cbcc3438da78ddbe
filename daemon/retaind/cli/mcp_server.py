"""The MCP server: three tools that read, and a resource for each session. It asks the daemon when asked.

Whatever goes wrong is the answer of a tool, in retaind's words, so that the agent can tell its user.
"""

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

import anyio
import anyio.to_thread
from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from retaind import __version__
from retaind.cli import client, context
from retaind.cli.show import readable
from retaind.errors import RetaindError, UsageError
from retaind.runtime import report

_ASK_S: Final = 30.0
_SCHEME: Final = "retaind://session/"
_PAGE: Final = 200
_SHOWN_MESSAGES: Final = 50
_SHOWN_CHARS: Final = 40_000
_MOST_RESULTS: Final = 100
_INSTRUCTIONS: Final = (
    "retaind keeps the user's earlier conversations with coding agents. Use `recall` for what may help with"
    " a task, `search` for exact words, `show_session` to read on around what was found."
)

T = TypeVar("T")
Arguments = Mapping[str, Any]
Context = ServerRequestContext[Any]


def serve() -> None:
    """Serve on standard input and output until the agent closes them."""
    anyio.run(_serve)


async def _serve() -> None:
    server: Server[Any] = Server(
        "retaind",
        version=__version__,
        instructions=_INSTRUCTIONS,
        on_list_tools=_list_tools,
        on_call_tool=_call_tool,
        on_list_resources=_list_resources,
        on_read_resource=_read_resource,
    )
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _list_tools(_: Context, __: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=list(_TOOLS))


async def _call_tool(_: Context, params: CallToolRequestParams) -> CallToolResult:
    work = _WORK.get(params.name)
    if work is None:
        raise MCPError(INVALID_PARAMS, f"there is no tool {params.name}")
    try:
        text = await anyio.to_thread.run_sync(partial(work, params.arguments or {}))
    except RetaindError as error:
        told = "\n  ".join([str(error), *getattr(error, "candidates", ())])
        return CallToolResult(content=[TextContent(text=told)], is_error=True)
    return CallToolResult(content=[TextContent(text=text)])


async def _list_resources(_: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
    cursor = params.cursor if params is not None else None
    start = int(cursor) if cursor is not None and cursor.isdecimal() else 0
    rows = await _said(_sessions)
    page = [_resource(row) for row in rows[start : start + _PAGE]]
    more = str(start + _PAGE) if start + _PAGE < len(rows) else None
    return ListResourcesResult(resources=page, next_cursor=more)


async def _read_resource(_: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
    uri = str(params.uri)
    if not uri.startswith(_SCHEME):
        raise MCPError(INVALID_PARAMS, f"no such resource; they begin with {_SCHEME}")
    text = await _said(lambda: "\n\n".join(readable(uri.removeprefix(_SCHEME))))
    contents = TextResourceContents(uri=uri, mime_type="text/plain", text=text)
    return ReadResourceResult(contents=[contents])


async def _said(work: Callable[[], T]) -> T:
    """Do the work on a thread; what goes wrong becomes the protocol's error."""
    try:
        return await anyio.to_thread.run_sync(work)
    except RetaindError as error:
        raise MCPError(INTERNAL_ERROR, str(error)) from None


def _recall(given: Arguments) -> str:
    asked = {
        "prompt": _text(given, "prompt"),
        "max_tokens": _number(given, "max_tokens", 1, 100_000),
        "cwd": os.getcwd(),
    }
    answer = client.post(context.paths(), "recall", asked, _ASK_S)
    return str(answer["block"]) or "Nothing is remembered for that."


def _search(given: Arguments) -> str:
    asked = {
        "q": _text(given, "query"),
        "limit": _number(given, "limit", 1, _MOST_RESULTS) or 20,
        "project": given.get("project"),
        "since": given.get("since"),
        "until": given.get("until"),
    }
    query = urlencode({name: value for name, value in asked.items() if value})
    found = client.get(context.paths(), f"search?{query}", timeout_s=_ASK_S)["results"]
    return "\n\n".join(map(_result, found)) or "Nothing was found."


def _show_session(given: Arguments) -> str:
    start = _number(given, "start", 0, 1_000_000_000) or 0
    count = _number(given, "count", 1, 1000) or _SHOWN_MESSAGES
    every = list(readable(_text(given, "id")))
    shown: list[str] = []
    for one in every[start : start + count]:
        if shown and sum(map(len, shown)) + len(one) > _SHOWN_CHARS:
            break
        shown.append(one[:_SHOWN_CHARS])
    end = start + len(shown)
    more = f"; go on with start {end}" if end < len(every) else ""
    return "\n\n".join([f"[messages {start} to {end} of {len(every)}{more}]", *shown])


def _sessions() -> list[dict[str, Any]]:
    """Return the sessions that have something to read, the newest first; none where nothing is kept yet."""
    if not context.paths().database.exists():
        return []
    with context.reader() as connection:
        rows = report.sessions(connection, context.memories())
    readable_ones = [row for row in rows if row["messages"] and row["kind"] != "manual"]
    return sorted(readable_ones, key=lambda row: row["last_activity"] or "", reverse=True)


def _resource(row: Mapping[str, Any]) -> Resource:
    about = ", ".join(filter(None, [row["project"], (row["last_activity"] or "")[:16]]))
    return Resource(
        uri=f"{_SCHEME}{row['id']}",
        name=str(row["session_id"]),
        title=about or str(row["session_id"]),
        description=f"{row['host']}, {row['messages']} messages",
        mime_type="text/plain",
    )


def _result(found: Mapping[str, Any]) -> str:
    when = str(found["timestamp"] or "")[:16].replace("T", " ")
    facts = [when, found["project"] or found["host"], found["role"] or "", found["session_id"]]
    return "  ".join(filter(None, facts)) + f"\n{str(found['snippet'] or found['text']).strip()}"


def _text(given: Arguments, name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{name} must be a text that is not empty")
    return value


def _number(given: Arguments, name: str, least: int, most: int) -> int | None:
    value = given.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UsageError(f"{name} must be a whole number from {least} to {most}")
    return value


def _tool(name: str, description: str, required: str, **properties: Mapping[str, Any]) -> Tool:
    return Tool(
        name=name,
        description=description,
        input_schema={"type": "object", "properties": properties, "required": [required]},
        annotations=ToolAnnotations(read_only_hint=True, open_world_hint=False),
    )


_STRING: Final = {"type": "string"}
_TOOLS: Final = (
    _tool(
        "recall",
        "What earlier conversations hold for a question or a task, best first. Say it in full sentences.",
        "prompt",
        prompt=_STRING,
        max_tokens={"type": "integer", "minimum": 1, "description": "bounds the answer"},
    ),
    _tool(
        "search",
        'Full text over all earlier conversations: words, "a phrase", prefix*, one OR other.',
        "query",
        query=_STRING,
        limit={"type": "integer", "minimum": 1, "maximum": _MOST_RESULTS, "default": 20},
        project={**_STRING, "description": "only this project, by name or folder"},
        since={**_STRING, "description": "ISO 8601 date or time"},
        until={**_STRING, "description": "ISO 8601 date or time"},
    ),
    _tool(
        "show_session",
        "Read a conversation, by the session id that a search gives.",
        "id",
        id=_STRING,
        start={"type": "integer", "minimum": 0, "description": "the first message, from 0"},
        count={"type": "integer", "minimum": 1, "default": _SHOWN_MESSAGES},
    ),
)
_WORK: Final[Mapping[str, Callable[[Arguments], str]]] = {
    "recall": _recall,
    "search": _search,
    "show_session": _show_session,
}
