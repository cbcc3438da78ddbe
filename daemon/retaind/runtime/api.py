"""The control socket's routes: what each request means, and what may be asked of the daemon.

    GET  /                    name, version, pid, api versions
    GET  /v1/status           GET /v1/health    GET /v1/metrics
    GET  /v1/sessions         GET /v1/sessions/{id}
    GET  /v1/search?q=        limit, host, project, since, until, role, kind, session, tag
    GET  /v1/events           NDJSON, a line per event
    POST /v1/flush            {session?, memories?, timeout_s?}
    POST /v1/reload
    POST /v1/retain           {content, document_id, memory?, context?, tags?, append?}
    POST /v1/recall           {prompt, session_id?, turns?, max_tokens?, memory?, cwd?}
    POST /v1/hint             {path, session_id?, event?}        an agent's event: where to look
    POST /v1/prompt           {prompt, session_id?, path?, cwd?, until?}    {block}: what to give unasked
    POST /v1/retry            {deliveries?}
    POST /v1/backfill         {session?}

Unknown fields are ignored, so that older daemons understand newer clients.
"""

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import anyio
import msgspec
from anyio.abc import ByteStream, SocketListener

from retaind import __version__
from retaind.errors import (
    Ambiguous,
    DiskFull,
    MemoryDown,
    MemoryRefused,
    NotFound,
    RetaindError,
    UsageError,
)
from retaind.memory.port import Filters
from retaind.runtime.control_socket import may_ask, peer_uid
from retaind.runtime.controls import (
    BackfillRequest,
    Controls,
    FlushRequest,
    ForgetRequest,
    HintRequest,
    PromptRequest,
    RebuildRequest,
    RecallRequest,
    RetainRequest,
    RetryRequest,
)
from retaind.runtime.http import (
    Answer,
    Conversation,
    Limits,
    Lines,
    Refused,
    Request,
    json_answer,
    problem,
    refuse,
)
from retaind.runtime.logs import logger

T = TypeVar("T")

BODY_BYTES = 1024 * 1024
RETAIN_BODY_BYTES = 64 * 1024 * 1024
HEARTBEAT_S = 15.0
MAX_RESULTS = 1000
METRICS = "text/plain; version=0.0.4; charset=utf-8"

_STATUS_OF: Mapping[type[RetaindError], int] = {
    UsageError: 400,
    NotFound: 404,
    Ambiguous: 409,
    MemoryRefused: 422,
    MemoryDown: 503,
    DiskFull: 507,
}


Route = Callable[[Request], Awaitable[Answer | Lines]]


@dataclass(slots=True)
class Api:
    """Serves the routes over an accepted listener until it is cancelled."""

    controls: Controls
    limits: Limits = field(default_factory=Limits)
    heartbeat_s: float = HEARTBEAT_S
    _open: int = 0
    _routes: Mapping[str, Mapping[str, Route]] = field(init=False)

    def __post_init__(self) -> None:
        ask = self.controls
        self._routes = {
            "/": {"GET": self._root},
            "/v1/status": {"GET": _telling(ask.status)},
            "/v1/health": {"GET": self._health},
            "/v1/metrics": {"GET": self._metrics},
            "/v1/sessions": {"GET": _telling(ask.sessions)},
            "/v1/search": {"GET": self._search},
            "/v1/events": {"GET": self._events},
            "/v1/flush": {"POST": self._flush},
            "/v1/reload": {"POST": _telling(ask.reload)},
            "/v1/retain": {"POST": self._retain},
            "/v1/recall": {"POST": self._recall},
            "/v1/forget": {"POST": self._forget},
            "/v1/rebuild": {"POST": self._rebuild},
            "/v1/hint": {"POST": self._hint},
            "/v1/prompt": {"POST": self._prompt},
            "/v1/retry": {"POST": self._retry},
            "/v1/backfill": {"POST": self._backfill},
        }

    async def serve(self, listener: SocketListener) -> None:
        """Answer connections; out of descriptors, wait a moment and go on."""
        while True:
            try:
                await listener.serve(self._connection)
            except OSError as error:
                logger().warning("socket_accept_failed", reason=error.strerror)
                await anyio.sleep(1)

    async def _connection(self, stream: ByteStream) -> None:
        self._open += 1
        try:
            async with stream:
                await self._hold(stream)
        except Exception:  # noqa: BLE001 - one connection must not take the daemon down
            logger().exception("connection_failed")
        finally:
            self._open -= 1

    async def _hold(self, stream: ByteStream) -> None:
        if not may_ask(peer_uid(stream)):
            await refuse(stream, Refused(403, "this daemon belongs to another user"))
        elif self._open > self.limits.connections:
            await refuse(stream, Refused(503, "too many connections"))
        else:
            await Conversation(stream, self.limits, _body_limit).hold(self._respond)

    async def _respond(self, request: Request) -> Answer | Lines:
        try:
            return await self._route(request)(request)
        except Refused as refused:
            return problem(refused)
        except RetaindError as error:
            return problem(_refusal(error))
        except Exception:  # noqa: BLE001 - a fault in one answer must not take the daemon down
            logger().exception("request_failed", path=request.path)
            return problem(Refused(500, "the daemon failed; its log says more"))

    def _route(self, request: Request) -> Route:
        methods = self._routes.get(request.path)
        if methods is None and request.path.startswith("/v1/sessions/"):
            methods = {"GET": self._session}
        if methods is None:
            raise Refused(404, "there is no such path")
        if request.method not in methods:
            allow = ", ".join(methods)
            raise Refused(405, f"this path takes {allow}", allow=allow)
        return methods[request.method]

    async def _root(self, _: Request) -> Answer:
        return json_answer(
            {"name": "retaind", "version": __version__, "pid": os.getpid(), "api": [1]}
        )

    async def _health(self, _: Request) -> Answer:
        facts = await self.controls.health()
        return json_answer(facts, 200 if facts.get("ok") else 503)

    async def _metrics(self, _: Request) -> Answer:
        text = await self.controls.metrics()
        return Answer(200, text.encode(), METRICS)

    async def _session(self, request: Request) -> Answer:
        return json_answer(await self.controls.session(request.path.removeprefix("/v1/sessions/")))

    async def _search(self, request: Request) -> Answer:
        query, limit, filters = _search_terms(request)
        return json_answer(await self.controls.search(query, limit, filters))

    async def _events(self, _: Request) -> Lines:
        return Lines(self.controls.events.lines(self.heartbeat_s))

    async def _flush(self, request: Request) -> Answer:
        asked = _decoded(request, FlushRequest)
        return json_answer(
            await self.controls.flush(asked.session, asked.memories, asked.timeout_s)
        )

    async def _retain(self, request: Request) -> Answer:
        return json_answer(await self.controls.retain(_decoded(request, RetainRequest)))

    async def _forget(self, request: Request) -> Answer:
        return json_answer(await self.controls.forget(_decoded(request, ForgetRequest)))

    async def _rebuild(self, request: Request) -> Answer:
        return json_answer(await self.controls.rebuild(_decoded(request, RebuildRequest)))

    async def _recall(self, request: Request) -> Answer:
        return json_answer(await self.controls.recall(_decoded(request, RecallRequest)))

    async def _hint(self, request: Request) -> Answer:
        return json_answer(await self.controls.hint(_decoded(request, HintRequest)))

    async def _prompt(self, request: Request) -> Answer:
        return json_answer(await self.controls.prompt(_decoded(request, PromptRequest)))

    async def _retry(self, request: Request) -> Answer:
        return json_answer(await self.controls.retry(_decoded(request, RetryRequest)))

    async def _backfill(self, request: Request) -> Answer:
        return json_answer(await self.controls.backfill(_decoded(request, BackfillRequest)))


def _telling(ask: Callable[[], Awaitable[object]]) -> Route:
    async def tell(_: Request) -> Answer:
        return json_answer(await ask())

    return tell


def _body_limit(method: str, path: str) -> int:
    return RETAIN_BODY_BYTES if (method, path) == ("POST", "/v1/retain") else BODY_BYTES


def _decoded(request: Request, shape: type[T]) -> T:
    try:
        return msgspec.json.decode(request.body or b"{}", type=shape)
    except msgspec.ValidationError as error:
        raise Refused(400, "the body is not what this path takes", detail=str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused(400, "the body is not JSON", detail=str(error)) from None


def _search_terms(request: Request) -> tuple[str, int, Filters]:
    given: dict[str, list[str]] = {}
    for name, value in request.query:
        given.setdefault(name, []).append(value)
    try:
        limit = int(given.get("limit", ["20"])[-1])
    except ValueError:
        limit = 0
    if not 1 <= limit <= MAX_RESULTS:
        raise Refused(400, f"limit must be a whole number from 1 to {MAX_RESULTS}")
    if not given.get("q"):
        raise Refused(400, "q is missing: the words to search for")
    filters = Filters(
        hosts=tuple(given.get("host", ())),
        projects=tuple(given.get("project", ())),
        sessions=tuple(given.get("session", ())),
        roles=tuple(given.get("role", ())),
        kinds=tuple(given.get("kind", ())),
        since=given.get("since", [None])[-1],
        until=given.get("until", [None])[-1],
        tags=tuple(given.get("tag", ())),
    )
    return given["q"][-1], limit, filters


def _refusal(error: RetaindError) -> Refused:
    status = next((_STATUS_OF[kind] for kind in _STATUS_OF if isinstance(error, kind)), 500)
    more: dict[str, object] = {"exit_code": error.exit_code}
    if error.why:
        more["detail"] = error.why
    if error.fix:
        more["fix"] = error.fix
    if isinstance(error, Ambiguous):
        more["candidates"] = error.candidates
    return Refused(status, error.what, **more)
