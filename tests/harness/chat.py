"""A chat endpoint of the OpenAI kind on a loopback port, which finds facts by a rule of its own."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Chat:
    """Each word `finding-X` in an excerpt is a fact. `answers` are given first, one a request."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        self.down = 0
        """While it is a status, that is what every request gets."""
        self.gate = threading.Event()
        self.gate.set()
        self._lock = threading.Lock()

    def excerpts(self) -> list[str]:
        """Return the texts that were sent."""
        return [one["messages"][-1]["content"] for one in self.requests]

    def reply(self, key: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Answer one request."""
        asked = json.loads(body)
        with self._lock:
            self.requests.append(asked)
            self.keys.append(key)
            if self.down:
                return self.down, {}, b'{"error": {"message": "quoting what was sent"}}'
            if self.answers:
                return self.answers.pop(0)
        self.gate.wait(20)
        words = re.findall(r"finding-(\w+)", asked["messages"][-1]["content"])
        facts = [f"The conclusion about {word} is nonobvious." for word in words]
        return 200, {}, said(json.dumps({"facts": facts}))


def said(content: str, given: int = 100, written: int = 7) -> bytes:
    """Return an answer with this content."""
    usage = {"prompt_tokens": given, "completion_tokens": written}
    choice = {"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return json.dumps({"choices": [choice], "usage": usage}).encode()


@contextmanager
def chat() -> Iterator[tuple[Chat, str]]:
    """Serve until the block ends; gives the chat and its base URL."""
    service = Chat()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, headers, answer = service.reply(self.headers.get("Authorization", ""), body)
            self.send_response(status if self.path == "/v1/chat/completions" else 404)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield service, f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        service.gate.set()
        server.shutdown()
        thread.join()
        server.server_close()
