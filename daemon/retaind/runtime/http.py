"""HTTP/1.1 on an accepted stream, by h11: limits, deadlines, pipelining, streams of lines.

What a request means is not decided here; see `api`. A client can hold one connection and the memory
that `Limits` allows, for the time that it allows, and no more.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qsl, unquote, urlsplit

import anyio
import h11
import msgspec
from anyio.abc import ByteReceiveStream, ByteStream

JSON = "application/json"
PROBLEM = "application/problem+json"
NDJSON = "application/x-ndjson"

_RECEIVE_BYTES = 64 * 1024
_LINGER_S = 1.0
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, h11.LocalProtocolError, OSError)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one client may use. Seconds and bytes."""

    header_bytes: int = 16 * 1024
    header_s: float = 5.0
    body_s: float = 30.0
    send_s: float = 30.0
    connections: int = 32


@dataclass(frozen=True, slots=True)
class Request:
    """One request, read to its end. `path` is decoded; a name may be there several times in `query`."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Lines:
    """An answer without an end: lines are sent as they come, until the client goes away."""

    lines: AsyncGenerator[bytes, None]


class Refused(Exception):
    """The request is answered with an error, and the connection is closed if its body is unread."""

    def __init__(self, status: int, title: str, **more: object) -> None:
        self.status = status
        self.title = title
        self.more = more
        super().__init__(title)


Respond = Callable[[Request], Awaitable[Answer | Lines]]
BodyLimit = Callable[[str, str], int]
"""Bytes that the body of a request with this method and path may have."""


def json_answer(value: object, status: int = 200) -> Answer:
    """Answer with a value as JSON."""
    return Answer(status, msgspec.json.encode(value) + b"\n")


def problem(refused: Refused) -> Answer:
    """Answer with an error in the form of RFC 9457."""
    allow = refused.more.get("allow")
    content = {"type": "about:blank", "title": refused.title, "status": refused.status}
    return Answer(
        refused.status,
        msgspec.json.encode(content | refused.more) + b"\n",
        PROBLEM,
        (("Allow", str(allow)),) if allow else (),
    )


@dataclass(slots=True)
class Conversation:
    """One connection's requests and answers, in order."""

    stream: ByteStream
    limits: Limits
    body_limit: BodyLimit
    _http: h11.Connection = field(init=False)

    def __post_init__(self) -> None:
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=self.limits.header_bytes)

    async def hold(self, respond: Respond) -> None:
        """Answer requests until the client goes away, breaks the rules, or is too slow."""
        try:
            while await self._once(respond):
                self._http.start_next_cycle()
            await self._linger()
        except _GONE:
            return

    async def _once(self, respond: Respond) -> bool:
        """Take one request and answer it; False when the connection is over."""
        try:
            request = await self._read_request()
            if request is None:
                return False
            answer = await respond(request)
        except Refused as refused:
            answer = problem(refused)
        except h11.RemoteProtocolError as error:
            answer = problem(Refused(error.error_status_hint, "this is not a proper request"))
        if isinstance(answer, Lines):
            await self._send_lines(answer)
        else:
            await self._send_answer(answer)
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    async def _read_request(self) -> Request | None:
        with anyio.move_on_after(self.limits.header_s) as timer:
            head = await self._next_event()
        if timer.cancelled_caught:
            if self._http.trailing_data[0]:
                raise Refused(408, f"the header took longer than {self.limits.header_s:g} s")
            return None  # a connection kept open without a request: closing it is enough
        if not isinstance(head, h11.Request):
            return None
        if (
            sum(len(name) + len(value) + 4 for name, value in head.headers)
            > self.limits.header_bytes
        ):
            raise Refused(431, f"the header is larger than {self.limits.header_bytes} bytes")
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
        _check_host(headers.get("host", ""))
        request = _of_target(head.method.decode("latin-1"), head.target.decode("latin-1"))
        limit = self.body_limit(request.method, request.path)
        return replace(request, body=await self._read_body(limit, headers.get("content-length")))

    async def _read_body(self, limit: int, announced: str | None) -> bytes:
        too_large = Refused(413, f"the body is larger than {limit} bytes", limit_bytes=limit)
        if announced is not None and int(announced) > limit:
            raise too_large
        body = bytearray()
        with anyio.move_on_after(self.limits.body_s):
            while isinstance(event := await self._next_event(), h11.Data):
                body += event.data
                if len(body) > limit:
                    raise too_large
            return bytes(body)
        raise Refused(408, f"the body took longer than {self.limits.body_s:g} s")

    async def _next_event(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                await self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self._http.receive_data(await _receive(self.stream))
        return event

    async def _send_answer(self, answer: Answer) -> None:
        headers = [
            ("Content-Type", answer.content_type),
            ("Content-Length", str(len(answer.body))),
            *answer.headers,
        ]
        if self._http.their_state is not h11.DONE:
            headers.append(("Connection", "close"))
        await self._send(
            h11.Response(status_code=answer.status, headers=headers),
            h11.Data(data=answer.body),
            h11.EndOfMessage(),
        )

    async def _send_lines(self, answer: Lines) -> None:
        headers = [("Content-Type", NDJSON), ("Cache-Control", "no-store"), ("Connection", "close")]
        await self._send(h11.Response(status_code=200, headers=headers))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_when_gone, self.stream, tasks.cancel_scope)
            await self._pump(answer)
            tasks.cancel_scope.cancel()
        if self._http.our_state is h11.SEND_BODY:
            await self._send(h11.EndOfMessage())

    async def _pump(self, answer: Lines) -> None:
        try:
            async with aclosing(answer.lines):
                async for line in answer.lines:
                    await self._send(h11.Data(data=line))
        except _GONE:
            return

    async def _send(self, *events: h11.Event) -> None:
        data = b"".join(self._http.send(event) or b"" for event in events)
        if data:
            with anyio.fail_after(self.limits.send_s):
                await self.stream.send(data)

    async def _linger(self) -> None:
        """Let a client that is still sending read the answer, before closing resets it."""
        await self.stream.send_eof()
        with anyio.move_on_after(_LINGER_S):
            while await _receive(self.stream):
                pass


async def refuse(stream: ByteStream, refused: Refused) -> None:
    """Answer before reading anything, and close."""
    answer = problem(refused)
    head = (
        f"HTTP/1.1 {answer.status} Refused\r\nContent-Type: {PROBLEM}\r\n"
        f"Content-Length: {len(answer.body)}\r\nConnection: close\r\n\r\n"
    )
    try:
        with anyio.move_on_after(_LINGER_S):
            await stream.send(head.encode() + answer.body)
            await stream.send_eof()
            while await _receive(stream):
                pass
    except _GONE:
        return


def _check_host(host: str) -> None:
    """Refuse what a browser or a proxy was talked into sending here."""
    if host.lower().partition(":")[0] not in {"retaind", "localhost"}:
        raise Refused(400, "the Host header must be retaind or localhost")


def _of_target(method: str, target: str) -> Request:
    try:
        parts = urlsplit(target)
    except ValueError:
        raise Refused(400, "the request's target is not a path") from None
    return Request(method, unquote(parts.path), tuple(parse_qsl(parts.query)))


async def _receive(stream: ByteReceiveStream) -> bytes:
    try:
        return await stream.receive(_RECEIVE_BYTES)
    except anyio.EndOfStream:
        return b""


async def _cancel_when_gone(stream: ByteReceiveStream, scope: anyio.CancelScope) -> None:
    try:
        while await _receive(stream):
            pass
    except _GONE:
        pass
    scope.cancel()
