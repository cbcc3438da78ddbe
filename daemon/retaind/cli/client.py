"""Asking the daemon, with the standard library's sockets alone: this runs in every short command."""

import json
import os
import socket
import time
from contextlib import suppress
from typing import Any

from retaind.errors import NotRunning, RetaindError
from retaind.paths import Paths, control_socket

HTTP_OK = 200
_RECEIVE_BYTES = 256 * 1024


class NoAnswer(RetaindError):
    """Somebody holds the socket, but does not answer, or may not be asked."""

    exit_code = 4


class Refusal(RetaindError):
    """The daemon answered with an error."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(
            str(problem.get("title", "the daemon refused")),
            why=str(problem.get("detail", "")),
            fix=str(problem.get("fix", "")),
        )
        self.exit_code = int(problem.get("exit_code", 1))
        self.candidates = tuple(problem.get("candidates", ()))


def get(paths: Paths, *target: str, timeout_s: float = 2.0) -> Any:
    """Ask for facts; `target` are the parts of the path after /v1, none in need of quoting."""
    return _asked(paths, f"GET /v1/{'/'.join(target)}", b"", timeout_s)


def post(paths: Paths, verb: str, body: object, timeout_s: float) -> Any:
    """Ask for something to be done, and wait for it; all of it takes no longer than `timeout_s`."""
    return _asked(paths, f"POST /v1/{verb}", json.dumps(body).encode(), timeout_s)


def root(paths: Paths, timeout_s: float = 2.0) -> Any:
    """Ask who answers: name, version, pid."""
    return _asked(paths, "GET /", b"", timeout_s)


def _asked(paths: Paths, request: str, body: bytes, timeout_s: float) -> Any:
    head = (
        f"{request} HTTP/1.1\r\nHost: retaind\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    path = control_socket(paths)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        until = time.monotonic() + timeout_s
        try:
            _allow(client, until)
            client.connect(os.fspath(path))
            answer = _exchange(client, head.encode() + body, until)
        except TimeoutError:
            raise NoAnswer(
                f"the daemon does not answer on {path}",
                why=f"no answer within {timeout_s:g} s",
                fix="retaind logs; then retaind restart",
            ) from None
        except (FileNotFoundError, ConnectionError, NotADirectoryError):
            raise NotRunning(
                "retaind is not running", why=f"nobody answers on {path}", fix="retaind start"
            ) from None
        except OSError as error:
            raise NoAnswer(
                f"the daemon cannot be asked on {path}", why=error.strerror or str(error)
            ) from None
    return _read(answer)


def _exchange(client: socket.socket, request: bytes, until: float) -> bytes:
    _allow(client, until)
    # A request can be refused before it was read to its end: then the answer says why.
    with suppress(BrokenPipeError):
        client.sendall(request)
    pieces: list[bytes] = []
    while True:
        _allow(client, until)
        piece = client.recv(_RECEIVE_BYTES)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


def _allow(client: socket.socket, until: float) -> None:
    """Let the next step take what is left of the time; raises TimeoutError when nothing is."""
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    client.settimeout(left)


def _read(answer: bytes) -> Any:
    head, found, body = answer.partition(b"\r\n\r\n")
    try:
        status = int(head.split(b" ", 2)[1])
        facts = json.loads(body)
    except (IndexError, ValueError):
        if not found:
            raise NotRunning(
                "the daemon stopped while it was asked", fix="retaind status"
            ) from None
        raise NoAnswer("what answers on the control socket is not retaind") from None
    if status != HTTP_OK:
        raise Refusal(facts)
    return facts
