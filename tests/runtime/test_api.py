"""The control socket, asked through a real Unix socket by real clients."""

import json
import os
import socket
import struct
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from retaind.errors import AlreadyRunning, Ambiguous, NotFound, RetaindError, StateUnwritable
from retaind.memory.port import Filters
from retaind.runtime.api import Api
from retaind.runtime.control_socket import listen
from retaind.runtime.controls import (
    BackfillRequest,
    Facts,
    ForgetRequest,
    HintRequest,
    PromptRequest,
    RebuildRequest,
    RecallRequest,
    RetainRequest,
    RetryRequest,
)
from retaind.runtime.events import QUEUE_LENGTH, Events
from retaind.runtime.http import Limits

Ask = Callable[..., "Reply"]
Start = Callable[..., Path]


class FakeControls:
    """A daemon that answers what it was asked."""

    def __init__(self) -> None:
        self.events = Events()
        self.fault: Exception | None = None
        self.healthy = True

    async def status(self) -> Facts:
        if self.fault:
            raise self.fault
        return {"state": "running"}

    async def health(self) -> Facts:
        return {"ok": self.healthy}

    async def metrics(self) -> str:
        return "retaind_up 1\n"

    async def sessions(self) -> Sequence[Facts]:
        return [{"id": "one"}]

    async def session(self, name: str) -> Facts:
        if name == "two":
            raise Ambiguous("two is the name of several sessions", ("a", "b"))
        raise NotFound(f"there is no session {name}")

    async def search(self, query: str, limit: int, filters: Filters) -> Facts:
        return {
            "query": query,
            "limit": limit,
            "projects": filters.projects,
            "since": filters.since,
        }

    async def flush(self, target: str | None, memories: Sequence[str], timeout_s: float) -> Facts:
        return {"target": target, "memories": memories, "timeout_s": timeout_s}

    async def reload(self) -> Facts:
        return {"reloaded": True}

    async def retain(self, request: RetainRequest) -> Facts:
        return {"bytes": len(request.content), "document_id": request.document_id}

    async def recall(self, request: RecallRequest) -> Facts:
        return {"prompt": request.prompt, "turns": request.turns}

    async def forget(self, request: ForgetRequest) -> Facts:
        return {"session": request.session, "only": request.only}

    async def rebuild(self, request: RebuildRequest) -> Facts:
        return {"session": request.session, "dry_run": request.dry_run}

    async def hint(self, request: HintRequest) -> Facts:
        return {"path": request.path}

    async def prompt(self, request: PromptRequest) -> Facts:
        return {"block": request.prompt}

    async def retry(self, request: RetryRequest) -> Facts:
        return {"retried": len(request.deliveries)}

    async def backfill(self, request: BackfillRequest) -> Facts:
        return {"session": request.session}


class Reply:
    """One answer, taken apart."""

    def __init__(self, raw: bytes) -> None:
        head, _, self.body = raw.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        self.status = int(lines[0].split(" ")[1])
        self.headers = {
            name.lower(): value for name, _, value in (line.partition(": ") for line in lines[1:])
        }

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@pytest.fixture
def controls() -> FakeControls:
    return FakeControls()


@pytest.fixture
def portal() -> Iterator[BlockingPortal]:
    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture
def start(portal: BlockingPortal, controls: FakeControls, tmp_path: Path) -> Iterator[Start]:
    path = tmp_path / "ctl.sock"
    started = []

    async def run(api: Api, task_status: anyio.abc.TaskStatus[None]) -> None:
        async with listen(path, tmp_path) as listener:
            task_status.started()
            await api.serve(listener)

    def start(limits: Limits | None = None, heartbeat_s: float = 60.0) -> Path:
        api = Api(controls, limits or Limits(), heartbeat_s)
        future, _ = portal.start_task(run, api)
        started.append(future)
        return path

    yield start
    for future in started:
        future.cancel()


def connect(path: Path) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(20)
    client.connect(str(path))
    return client


def read_all(client: socket.socket) -> bytes:
    received = b""
    while data := client.recv(65536):
        received += data
    return received


def exchange(path: Path, raw: bytes) -> Reply:
    with connect(path) as client:
        client.sendall(raw)
        return Reply(read_all(client))


def ask(
    path: Path, target: str, body: object = None, headers: Mapping[str, str] | None = None
) -> Reply:
    content = (
        b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    )
    lines = [
        f"{'GET' if body is None else 'POST'} {target} HTTP/1.1",
        *(
            f"{name}: {value}"
            for name, value in (
                {"Host": "retaind", "Connection": "close", "Content-Length": str(len(content))}
                | dict(headers or {})
            ).items()
        ),
    ]
    return exchange(path, "\r\n".join(lines).encode() + b"\r\n\r\n" + content)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("/v1/status", {"state": "running"}),
        ("/v1/health", {"ok": True}),
        ("/v1/sessions", [{"id": "one"}]),
        (
            "/v1/search?q=two+words&limit=5&project=%2Fa&project=%2Fb&since=2026-01-01&new=1",
            {"query": "two words", "limit": 5, "projects": ["/a", "/b"], "since": "2026-01-01"},
        ),
    ],
)
def test_reading_routes_answer_json(start: Start, target: str, expected: object) -> None:
    reply = ask(start(), target)

    assert reply.status == 200
    assert reply.headers["content-type"] == "application/json"
    assert reply.json == expected


@pytest.mark.parametrize(
    ("target", "body", "expected"),
    [
        ("/v1/flush", b"", {"target": None, "memories": [], "timeout_s": 60.0}),
        (
            "/v1/flush",
            {"session": "s", "memories": ["local"], "timeout_s": 1, "unknown": 1},
            {"target": "s", "memories": ["local"], "timeout_s": 1.0},
        ),
        ("/v1/reload", b"", {"reloaded": True}),
        ("/v1/retain", {"content": "abc", "document_id": "d"}, {"bytes": 3, "document_id": "d"}),
        ("/v1/recall", {"prompt": "p", "turns": 2}, {"prompt": "p", "turns": 2}),
    ],
)
def test_writing_routes_take_json(
    start: Start, target: str, body: object, expected: object
) -> None:
    reply = ask(start(), target, body)

    assert reply.status == 200
    assert reply.json == expected


def test_the_root_names_the_daemon(start: Start) -> None:
    facts = ask(start(), "/").json

    assert facts["name"] == "retaind"
    assert facts["pid"] == os.getpid()
    assert facts["api"] == [1]


def test_metrics_are_prometheus_text(start: Start) -> None:
    reply = ask(start(), "/v1/metrics")

    assert reply.body == b"retaind_up 1\n"
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")


def test_a_daemon_that_is_not_well_answers_503(start: Start, controls: FakeControls) -> None:
    controls.healthy = False

    assert ask(start(), "/v1/health").status == 503


def test_errors_keep_what_why_and_fix(start: Start, controls: FakeControls) -> None:
    controls.fault = RetaindError("it broke", why="so it goes", fix="mend it")

    reply = ask(start(), "/v1/status")

    assert reply.status == 500
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json == {
        "type": "about:blank",
        "title": "it broke",
        "status": 500,
        "exit_code": 1,
        "detail": "so it goes",
        "fix": "mend it",
    }


def test_an_ambiguous_name_lists_the_candidates(start: Start) -> None:
    path = start()

    assert ask(path, "/v1/sessions/a%20b").json["title"] == "there is no session a b"
    assert ask(path, "/v1/sessions/one").status == 404
    assert ask(path, "/v1/sessions/two").status == 409
    assert ask(path, "/v1/sessions/two").json["candidates"] == ["a", "b"]


def test_a_fault_of_ours_tells_nothing_and_the_next_request_is_answered(
    start: Start, controls: FakeControls
) -> None:
    path = start()
    controls.fault = ValueError("secret detail")
    reply = ask(path, "/v1/status")
    controls.fault = None

    assert reply.status == 500
    assert b"secret" not in reply.body
    assert ask(path, "/v1/status").status == 200


@pytest.mark.parametrize(
    ("target", "body", "status"),
    [
        ("/v2/status", None, 404),
        ("/v1/flush", None, 405),
        ("/v1/status", b"{}", 405),
        ("/v1/flush", b"{", 400),
        ("/v1/flush", b"[]", 400),
        ("/v1/flush", {"timeout_s": "x"}, 400),
        ("/v1/flush", {"timeout_s": -1}, 400),
        ("/v1/retain", {"content": "x"}, 400),
        ("/v1/recall", b"\xff\xfe", 400),
        ("/v1/search", None, 400),
        ("/v1/search?q=x&limit=0", None, 400),
        ("/v1/search?q=x&limit=many", None, 400),
        ("//[/", None, 400),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(
    start: Start, target: str, body: object, status: int
) -> None:
    assert ask(start(), target, body).status == status


def test_the_allowed_method_is_named(start: Start) -> None:
    assert ask(start(), "/v1/flush").headers["allow"] == "POST"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "retaind"])
def test_known_hosts_are_served(start: Start, host: str) -> None:
    assert ask(start(), "/", headers={"Host": host}).status == 200


@pytest.mark.parametrize("host", ["evil.example", "", "localhost.evil.example"])
def test_other_hosts_are_refused(start: Start, host: str) -> None:
    assert ask(start(), "/", headers={"Host": host}).status == 400


@pytest.mark.parametrize(
    "raw",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: retaind\r\nContent-Length: -1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: retaind\r\nBroken Header: x\r\n\r\n",
        b"\x00\x01\x02\x03\r\n\r\n",
    ],
)
def test_malformed_requests_are_answered_with_400(start: Start, raw: bytes) -> None:
    path = start()

    assert exchange(path, raw).status == 400
    assert ask(path, "/").status == 200


@pytest.mark.parametrize("size", [20_000, 200_000])
def test_a_header_that_is_too_large_is_refused(start: Start, size: int) -> None:
    assert ask(start(), "/", headers={"X-Long": "x" * size}).status == 431


def test_a_body_that_is_announced_too_large_is_refused_unread(start: Start) -> None:
    reply = exchange(
        start(),
        b"POST /v1/flush HTTP/1.1\r\nHost: retaind\r\nContent-Length: 1048577\r\n"
        b"Expect: 100-continue\r\n\r\n",
    )

    assert reply.status == 413
    assert reply.json["limit_bytes"] == 1024 * 1024


def test_a_chunked_body_is_cut_at_its_limit(start: Start) -> None:
    with connect(start()) as client:
        client.sendall(
            b"POST /v1/flush HTTP/1.1\r\nHost: retaind\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        for _ in range(17):
            client.sendall(chunk)
        assert Reply(read_all(client)).status == 413


def test_retain_takes_bodies_that_other_paths_refuse(start: Start) -> None:
    content = "x" * 3_000_000

    reply = ask(start(), "/v1/retain", {"content": content, "document_id": "d"})

    assert reply.json["bytes"] == 3_000_000


def test_a_client_that_waits_to_be_told_to_continue_is_told(start: Start) -> None:
    body = b'{"prompt": "p"}'
    with connect(start()) as client:
        client.sendall(
            b"POST /v1/recall HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body)
        )
        assert client.recv(1000).startswith(b"HTTP/1.1 100")
        client.sendall(body)
        assert Reply(read_all(client)).json["prompt"] == "p"


def test_pipelined_requests_are_answered_in_order(start: Start) -> None:
    one = b"GET /v1/status HTTP/1.1\r\nHost: retaind\r\n\r\n"
    two = b"GET /v1/health HTTP/1.1\r\nHost: retaind\r\nConnection: close\r\n\r\n"
    with connect(start()) as client:
        client.sendall(one + one + two)
        received = read_all(client)

    assert received.count(b"HTTP/1.1 200") == 3
    assert received.index(b"running") < received.index(b'"ok"')


def test_a_header_sent_too_slowly_is_given_up(start: Start) -> None:
    with connect(start(Limits(header_s=0.2))) as client:
        client.sendall(b"GET / HTT")
        assert Reply(read_all(client)).status == 408


def test_a_body_sent_too_slowly_is_given_up(start: Start) -> None:
    with connect(start(Limits(body_s=0.2))) as client:
        client.sendall(b"POST /v1/flush HTTP/1.1\r\nHost: retaind\r\nContent-Length: 9\r\n\r\n{")
        assert Reply(read_all(client)).status == 408


def test_a_silent_connection_is_closed_without_an_answer(start: Start) -> None:
    with connect(start(Limits(header_s=0.2))) as client:
        assert read_all(client) == b""


def test_one_connection_too_many_is_refused_and_the_others_live(start: Start) -> None:
    path = start(Limits(connections=2))
    request = b"GET / HTTP/1.1\r\nHost: retaind\r\n\r\n"
    with connect(path) as one, connect(path) as two:
        for client in (one, two):
            client.sendall(request)
            assert client.recv(4096).startswith(b"HTTP/1.1 200")
        assert ask(path, "/").status == 503
        one.sendall(request)
        assert one.recv(4096).startswith(b"HTTP/1.1 200")


def read_line(reader: Any) -> Any:
    """One chunk of a chunked answer is one line."""
    size = int(reader.readline(), 16)
    line = reader.read(size)
    reader.readline()
    return json.loads(line)


def open_events(path: Path) -> tuple[socket.socket, Any]:
    client = connect(path)
    client.sendall(b"GET /v1/events HTTP/1.1\r\nHost: retaind\r\n\r\n")
    reader = client.makefile("rb")
    assert reader.readline().startswith(b"HTTP/1.1 200")
    while reader.readline().strip():
        pass
    assert read_line(reader) == {"event": "hello"}
    return client, reader


def test_events_are_streamed_to_every_listener(
    start: Start, portal: BlockingPortal, controls: FakeControls
) -> None:
    path = start()
    (one, first), (two, second) = open_events(path), open_events(path)

    portal.call(controls.events.publish, {"event": "retained", "n": 1})

    with one, two:
        assert read_line(first) == {"event": "retained", "n": 1}
        assert read_line(second) == {"event": "retained", "n": 1}


def test_a_heartbeat_comes_when_nothing_happens(start: Start) -> None:
    client, reader = open_events(start(heartbeat_s=0.05))

    with client:
        assert read_line(reader) == {"event": "heartbeat"}


def test_a_slow_listener_loses_the_oldest_events_and_is_told_how_many(
    start: Start, portal: BlockingPortal, controls: FakeControls
) -> None:
    client, reader = open_events(start())

    def flood() -> None:
        for n in range(QUEUE_LENGTH + 10):
            controls.events.publish({"n": n})

    portal.call(flood)

    with client:
        assert read_line(reader) == {"event": "dropped", "count": 10}
        assert read_line(reader) == {"n": 10}


def test_a_listener_that_goes_away_frees_its_connection(start: Start) -> None:
    path = start(Limits(connections=1))
    client, reader = open_events(path)
    reader.close()
    client.close()

    statuses = (ask(path, "/").status for _ in range(1000))

    assert any(status == 200 for status in statuses)


def test_the_socket_is_private(start: Start) -> None:
    path = start()

    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_refused_even_if_the_modes_let_them_in(start: Start) -> None:
    path = start()
    reply = b""
    for folder in (path, *path.parents[:4]):
        if folder.stat().st_uid == 0 and folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o777)
    reading, writing = os.pipe()

    with warnings.catch_warnings():
        # The child only talks to a socket: the threads that it leaves behind do not matter.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        try:
            os.setuid(54321)
            with connect(path) as client:
                client.sendall(b"GET / HTTP/1.1\r\nHost: retaind\r\n\r\n")
                os.write(writing, read_all(client))
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        reply = pipe.read()

    assert Reply(reply).status == 403


async def try_to_listen(path: Path, state_dir: Path) -> None:
    async with listen(path, state_dir):
        pass


def test_a_stale_socket_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "ctl.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))

    anyio.run(try_to_listen, path, tmp_path)

    assert not path.exists()


def test_a_live_socket_is_not_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "ctl.sock"
    with socket.socket(socket.AF_UNIX) as alive:
        alive.bind(str(path))
        alive.listen()

        with pytest.raises(AlreadyRunning):
            anyio.run(try_to_listen, path, tmp_path)

        assert path.exists()


@pytest.mark.parametrize("make", ["file", "link"])
def test_whatever_is_not_a_socket_is_left_alone(tmp_path: Path, make: str) -> None:
    path = tmp_path / "ctl.sock"
    if make == "file":
        path.write_text("precious")
    else:
        path.symlink_to("nowhere")

    with pytest.raises(StateUnwritable):
        anyio.run(try_to_listen, path, tmp_path)

    assert os.path.lexists(path)


def test_a_folder_where_others_may_write_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)

    with pytest.raises(StateUnwritable, match="0777"):
        anyio.run(try_to_listen, folder / "ctl.sock", tmp_path)


def test_a_folder_behind_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to("real")

    with pytest.raises(StateUnwritable, match="symbolic link"):
        anyio.run(try_to_listen, tmp_path / "link" / "ctl.sock", tmp_path)


def test_on_exit_a_socket_that_is_no_longer_ours_is_left(tmp_path: Path) -> None:
    path = tmp_path / "ctl.sock"

    async def replace_while_listening() -> None:
        async with listen(path, tmp_path):
            other = tmp_path / "other.sock"
            with socket.socket(socket.AF_UNIX) as newcomer:
                newcomer.bind(str(other))
                other.replace(path)

    anyio.run(replace_while_listening)

    assert path.exists()


def test_a_client_that_resets_its_connection_harms_nobody(start: Start) -> None:
    path = start()
    for _ in range(5):
        client = connect(path)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.sendall(b"GET /v1/status HTTP/1.1\r\nHost: retaind\r\n\r\n" * 20)
        client.close()

    assert ask(path, "/").status == 200


def test_many_clients_at_once_are_all_answered(start: Start) -> None:
    path = start()
    statuses: list[int] = []

    def client() -> None:
        statuses.append(ask(path, "/v1/status").status)

    threads = [threading.Thread(target=client) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert statuses == [200] * 20


@pytest.mark.parametrize(
    ("body", "title"),
    [(b"{", "the body is not JSON"), (b"[]", "the body is not what this path takes")],
)
def test_what_is_no_json_is_told_from_what_has_another_form(
    start: Start, body: bytes, title: str
) -> None:
    assert ask(start(), "/v1/flush", body).json["title"] == title
