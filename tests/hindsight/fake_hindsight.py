"""A Hindsight server that fails on demand: what a test cannot make the real one do.

It keeps documents and operations as the real one does, and the contract tests hold both to the same answers.
A *fault* is consulted before a request is answered; it may answer, cut the connection, or never answer.
"""

import json
import re
import socket
import threading
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

_BANK = re.compile(r"/v1/default/banks/([^/]+)(/.*)?")
HANG_S = 20.0
DRIP_S = 0.05


@dataclass
class Asked:
    """One request, as it arrived."""

    method: str
    path: str
    body: bytes
    token: str
    at: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Reply:
    """An answer: a status with a body, or one of the ways not to give one.

    `cut`: reset before the answer. `half`: stop in the middle of it. `hang`: never answer. `drip`: answer a
    byte at a time.
    `after`: do what was asked, and only then fail.
    """

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    way: str = "whole"
    after: bool = False


Fault = Callable[[Asked], Reply | None]


@dataclass
class Operation:
    id: str
    bank: str
    item: dict[str, Any]
    status: str = "pending"
    polls: int = 0
    retries: int = 0


class FakeHindsight:
    """The server's state, for the test to look at and to change while it runs."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.documents: dict[tuple[str, str], dict[str, Any]] = {}
        self.operations: dict[str, Operation] = {}
        self.extracted: Counter[tuple[str, str]] = Counter()
        self.asked: list[Asked] = []
        self.fault: Fault = lambda _: None
        self.token = ""
        self.largest = 0
        self.poison = ""
        self.polls_needed = 1
        self.failing: Callable[[Operation], bool] = lambda _: False
        self.missions: dict[str, dict[str, str]] = {}
        self.recalled: list[dict[str, Any]] = []
        self.most_open: Counter[str] = Counter()
        self.order: defaultdict[str, list[str]] = defaultdict(list)
        self.released = threading.Event()
        self.url = ""

    # for tests

    def texts(self, bank: str = "claude_code") -> list[str]:
        """Return the documents' texts, each session's in the order of its bytes."""
        with self.lock:
            kept = sorted(
                (name.rpartition("@")[0], int(name.rpartition("@")[2].partition("-")[0]), name)
                for at, name in self.documents
                if at == bank
            )
            return [self.documents[bank, name]["content"] for _, _, name in kept]

    def retains(self) -> list[Asked]:
        """Return the requests that hand over a document."""
        with self.lock:
            return [one for one in self.asked if is_retain(one)]

    # what a request does

    def answer(self, asked: Asked) -> Reply:
        path = urlsplit(asked.path).path
        if path == "/version":
            return Reply(body={"api_version": "1.1.0", "features": {}})
        if path == "/health":
            return Reply(body={"status": "healthy"})
        if self.token and asked.token != f"Bearer {self.token}":
            return Reply(401, {"detail": "no"})
        found = _BANK.fullmatch(path)
        if found is None:
            return Reply(404, {"detail": "Not Found"})
        return self._in_bank(unquote(found[1]), found[2] or "", asked)

    def _in_bank(self, bank: str, path: str, asked: Asked) -> Reply:  # noqa: PLR0911 - a table of routes
        if (asked.method, path) == ("POST", "/memories"):
            return self._retain(bank, asked)
        if (asked.method, path) == ("POST", "/memories/recall"):
            return Reply(body={"results": self.recalled})
        if (asked.method, path) == ("PATCH", "/config"):
            self.missions[bank] = asked.json["updates"]
            return Reply(body={"bank_id": bank})
        if path.startswith("/operations/"):
            return self._operation(bank, asked.method, path.split("/")[2:])
        if path == "/documents":
            return self._documents(bank, asked.path)
        if path.startswith("/documents/"):
            return self._document(bank, asked.method, unquote(path.removeprefix("/documents/")))
        return Reply(404, {"detail": "Not Found"})

    def _retain(self, bank: str, asked: Asked) -> Reply:
        if self.largest and len(asked.body) > self.largest:
            return Reply(413, {"detail": "too large"})
        body = asked.json
        (item,) = body["items"]
        if self.poison and self.poison in item["content"]:
            return Reply(422, {"detail": [{"msg": "refused"}]})
        assert all(isinstance(value, str) for value in item.get("metadata", {}).values())
        id_ = str(uuid.UUID(body["operation_id"]))
        known = self.operations.get(id_)
        if known is not None and known.bank != bank:
            return Reply(409, {"detail": "operation id is taken"})
        if known is None:
            self.operations[id_] = Operation(id_, bank, item)
            self.order[item["document_id"].partition("@")[0]].append(item["document_id"])
            self._count_open()
        return Reply(
            body={
                "success": True, "bank_id": bank, "items_count": 1, "async": True,
                "operation_id": id_, "usage": None,
            }
        )  # fmt: skip

    def _count_open(self) -> None:
        waiting = [one for one in self.operations.values() if one.status == "pending"]
        sessions = Counter(one.item["document_id"].partition("@")[0] for one in waiting)
        self.most_open["sessions"] = max(self.most_open["sessions"], len(sessions))
        self.most_open["of_one"] = max(self.most_open["of_one"], *sessions.values())

    def _operation(self, bank: str, method: str, parts: list[str]) -> Reply:
        one = self.operations.get(parts[0])
        if one is None or one.bank != bank:
            return Reply(body={"operation_id": parts[0], "status": "not_found"})
        if method == "POST" and parts[1:] == ["retry"]:
            if one.status != "failed":
                return Reply(409, {"detail": "not failed"})
            one.status, one.polls, one.retries = "pending", 0, one.retries + 1
            return Reply(body={"success": True, "operation_id": one.id})
        one.polls += 1
        if one.status == "pending" and one.polls >= self.polls_needed:
            one.status = "failed" if self.failing(one) else "completed"
            if one.status == "completed":
                self._store(one)
        return Reply(body={"operation_id": one.id, "status": one.status})

    def _store(self, one: Operation) -> None:
        key = (one.bank, one.item["document_id"])
        before = self.documents.get(key)
        if one.item.get("update_mode") == "append" and before is not None:
            one.item = {**one.item, "content": before["content"] + "\n" + one.item["content"]}
        if before is None or before["content"] != one.item["content"]:
            self.extracted[key] += 1
        self.documents[key] = one.item

    def _documents(self, bank: str, path: str) -> Reply:
        if not any(at == bank for at, _ in self.documents):
            return Reply(404, {"detail": f"Bank '{bank}' not found"})
        query = {name: values[0] for name, values in parse_qs(urlsplit(path).query).items()}
        listed = [
            {"id": name, "document_metadata": item.get("metadata"), "tags": item.get("tags")}
            for (at, name), item in sorted(self.documents.items())
            if at == bank and query.get("q", "") in name
        ]
        start, limit = int(query.get("offset", 0)), int(query.get("limit", 100))
        return Reply(body={"items": listed[start : start + limit], "total": len(listed)})

    def _document(self, bank: str, method: str, name: str) -> Reply:
        found = self.documents.get((bank, name))
        if found is None:
            return Reply(404, {"detail": "no such document"})
        if method == "DELETE":
            del self.documents[bank, name]
            return Reply(body={"success": True, "memory_units_deleted": 3})
        return Reply(body={"id": name, "original_text": found["content"]})


def is_retain(asked: Asked) -> bool:
    return asked.method == "POST" and asked.path.endswith("/memories")


def first(times: int, reply: Reply, when: Callable[[Asked], bool] = is_retain) -> Fault:
    """Answer the first requests of a kind with a fault."""
    left = [times]

    def fault(asked: Asked) -> Reply | None:
        if not when(asked) or not left[0]:
            return None
        left[0] -= 1
        return reply

    return fault


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    fake: FakeHindsight

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        asked = Asked(
            self.command,
            self.path,
            self.rfile.read(length),
            self.headers.get("Authorization", ""),
            time.monotonic(),
        )
        with self.fake.lock:
            self.fake.asked.append(asked)
            reply = self.fake.fault(asked)
            if reply is None:
                reply = self.fake.answer(asked)
            elif reply.after:
                self.fake.answer(asked)
        self._send(reply)

    do_GET = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815 - the library's names

    def _send(self, reply: Reply) -> None:
        if reply.way == "hang":
            self.fake.released.wait(HANG_S)
        if reply.way in {"cut", "hang"}:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if reply.way == "drip":
            for at in range(len(body)):
                self.wfile.write(body[at : at + 1])
                if self.fake.released.wait(DRIP_S):
                    return
            return
        self.wfile.write(body[: len(body) // 2] if reply.way == "half" else body)
        if reply.way == "half":
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_: object) -> None:
        """Clients that were killed leave their connections behind."""


@contextmanager
def fake_hindsight(port: int = 0) -> Iterator[FakeHindsight]:
    """A fake that listens on loopback until the block ends."""
    fake = FakeHindsight()
    handler = type("Handler", (_Handler,), {"fake": fake})
    server = _Server(("127.0.0.1", port), handler)
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        fake.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
