"""A model's HTTP API on loopback that answers what a test taught it, so that a real agent can be driven.

It knows the one request that matters: streamed messages. The newest text of a user that holds a taught
phrase chooses the replies, and the number of tool results since then says which of them is next.
"""

import json
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any, Final

Json = dict[str, Any]

_PIECE_CHARS: Final = 16_384
_LOOK_S: Final = 0.02
_OTHERWISE: Final = "Noted."
_numbers: Final = count(1)


@dataclass(frozen=True, slots=True)
class Say:
    """What the model says. With `holds`, it stops in the middle until it is released."""

    text: str
    holds: bool = False

    def opening(self) -> Json:
        return {"type": "text", "text": ""}

    def deltas(self) -> Iterator[Json]:
        piece = -(-len(self.text) // 2) if self.holds else _PIECE_CHARS
        for at in range(0, len(self.text), piece):
            yield {"type": "text_delta", "text": self.text[at : at + piece]}


@dataclass(frozen=True, slots=True)
class Think:
    """What the model thinks."""

    text: str
    holds: bool = False

    def opening(self) -> Json:
        return {"type": "thinking", "thinking": "", "signature": ""}

    def deltas(self) -> Iterator[Json]:
        yield {"type": "thinking_delta", "thinking": self.text}
        yield {"type": "signature_delta", "signature": "bm9uZQ=="}


@dataclass(frozen=True, slots=True)
class Call:
    """A call of one of the agent's tools."""

    tool: str
    input: Json
    holds: bool = False

    def opening(self) -> Json:
        return {"type": "tool_use", "id": f"toolu_{next(_numbers)}", "name": self.tool, "input": {}}

    def deltas(self) -> Iterator[Json]:
        yield {"type": "input_json_delta", "partial_json": json.dumps(self.input)}


Reply = tuple[Say | Think | Call, ...]


@dataclass(slots=True)
class FakeModel:
    """What was taught, and what was asked. The test and the agents use it at the same time."""

    port: int = 0
    heard: list[str] = field(default_factory=list)
    """The phrases that were answered, in order."""
    asked: list[list[Json]] = field(default_factory=list)
    """The messages of each request for a reply, in order."""
    holding: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)
    _replies: dict[str, tuple[Reply, ...]] = field(default_factory=dict)

    def teach(self, phrase: str, *replies: Reply) -> None:
        """Answer a prompt that holds the phrase, and then each round of tool results, with the next."""
        self._replies[phrase] = replies

    def answer(self, messages: list[Json]) -> Reply:
        """Choose the reply to a conversation."""
        self.asked.append(messages)
        results = 0
        for message in reversed(messages):
            if message["role"] != "user":
                continue
            said = _texts(message["content"])
            phrase = next((phrase for phrase in self._replies if phrase in said), None)
            if phrase is not None:
                self.heard.append(phrase)
                return (*self._replies[phrase], (Say(_OTHERWISE),))[results]
            results += '"tool_result"' in json.dumps(message["content"])
        return (Say(_OTHERWISE),)

    def hold(self, client: socket.socket) -> bool:
        """Wait until the test releases the model; False when the agent leaves before."""
        self.holding.set()
        while not self.released.wait(_LOOK_S):
            if select.select([client], [], [], 0)[0]:
                return False
        return True


@contextmanager
def running_model() -> Iterator[FakeModel]:
    """A model that listens on a free port of 127.0.0.1 while the block runs."""
    model = FakeModel()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Exchange, model))
    server.daemon_threads = True
    model.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(_LOOK_S,))
    thread.start()
    try:
        yield model
    finally:
        model.released.set()
        server.shutdown()
        server.server_close()
        thread.join()


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, model: FakeModel, *others: Any) -> None:
        self._model = model
        super().__init__(*others)

    def log_message(self, *_: object) -> None:
        """Print nothing: a test's output is for failures."""

    def do_HEAD(self) -> None:
        self._answer(200, {})

    def do_GET(self) -> None:
        self._answer(404, _NOT_FOUND)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"] or 0)) or b"{}")
        path = self.path.partition("?")[0]
        if path.endswith("/count_tokens"):
            self._answer(200, {"input_tokens": 100})
        elif not path.endswith("/v1/messages"):
            self._answer(404, _NOT_FOUND)
        elif body.get("stream"):
            self._stream(body)
        else:
            said = [{"type": "text", "text": _OTHERWISE}]
            self._answer(200, _message(body) | {"content": said, "stop_reason": "end_turn"})

    def _answer(self, code: int, value: Json) -> None:
        data = json.dumps(value).encode()
        self.send_response(code)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, body: Json) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        try:
            self._send_reply(body, self._model.answer(body["messages"]))
        except (BrokenPipeError, ConnectionResetError):
            return  # the agent was killed, or someone pressed Esc

    def _send_reply(self, body: Json, reply: Reply) -> None:
        self._send("message_start", message=_message(body))
        for index, block in enumerate(reply):
            self._send("content_block_start", index=index, content_block=block.opening())
            for delta in block.deltas():
                self._send("content_block_delta", index=index, delta=delta)
                if block.holds and not self._model.hold(self.connection):
                    return
            self._send("content_block_stop", index=index)
        stop = "tool_use" if any(isinstance(block, Call) for block in reply) else "end_turn"
        delta = {"stop_reason": stop, "stop_sequence": None}
        self._send("message_delta", delta=delta, usage={"output_tokens": 20})
        self._send("message_stop")

    def _send(self, event: str, **fields: Any) -> None:
        data = json.dumps({"type": event, **fields})
        self.wfile.write(f"event: {event}\ndata: {data}\n\n".encode())


_NOT_FOUND: Final = {"type": "error", "error": {"type": "not_found_error", "message": "no"}}


def _message(body: Json) -> Json:
    return {
        "id": f"msg_{next(_numbers)}",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 1},
    }


def _texts(content: str | list[Json]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block["text"] for block in content if block["type"] == "text")
