"""A real Hindsight server on loopback, where the script that starts one lies beside the repository."""

import json
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

SCRIPT = Path(__file__).resolve().parents[3] / "shared" / "hindsight" / "up.sh"
START_S = 300


class CannotStart(Exception):
    """The server did not come up."""


class RealHindsight:
    """The server's processes, and what it has, for the test to look at."""

    def __init__(self, folder: Path) -> None:
        ports = _free_ports(3)
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        self.url = f"http://127.0.0.1:{ports[0]}"
        self._environ = {
            **os.environ,
            "HS_DIR": str(folder),
            "HS_VENV": os.environ.get("HS_VENV") or str(cache / "retaind-hindsight" / "venv"),
            "HS_PYTHON": os.environ.get("HS_PYTHON") or sys.executable,
            "HS_PORT": str(ports[0]),
            "HS_PG_PORT": str(ports[1]),
            "HS_EMB_PORT": str(ports[2]),
        }

    def up(self) -> None:
        """Start it, or what of it is down, and wait until it is ready."""
        done = self._run("up")
        if done.returncode:
            raise CannotStart(done.stderr[-2000:])

    def down(self) -> None:
        """Stop it; what it has stays."""
        self._run("down")

    def wipe(self) -> None:
        """Stop it and drop what it has."""
        self._run("wipe")

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.url}/v1/default/banks/{path}", timeout=30) as answer:
            return json.load(answer)

    def documents(self, bank: str) -> dict[str, Any]:
        """Return what is listed of each document in a bank."""
        found: dict[str, Any] = {}
        while True:
            try:
                page = self.get(f"{bank}/documents?limit=100&offset={len(found)}")
            except urllib.error.HTTPError:
                return found
            found |= {one["id"]: one for one in page["items"]}
            if len(page["items"]) < 100:
                return found

    def texts(self, bank: str) -> list[str]:
        """Return the documents' texts, each session's in the order of its bytes."""
        names = sorted(
            self.documents(bank),
            key=lambda name: (name.rpartition("@")[0], int(name.rpartition("@")[2].split("-")[0])),
        )
        return [
            self.get(f"{bank}/documents/{quote(name, safe='')}")["original_text"] for name in names
        ]

    def operations(self, bank: str) -> list[Any]:
        """Return the retains that the server was asked for in a bank: one each."""
        found: list[Any] = []
        while True:
            page = self.get(f"{bank}/operations?type=batch_retain&limit=100&offset={len(found)}")
            found += page["operations"]
            if len(page["operations"]) < 100:
                return found

    def _run(self, verb: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [os.fspath(SCRIPT), verb],
            env=self._environ,
            capture_output=True,
            text=True,
            check=False,
            timeout=START_S,
        )


@contextmanager
def real_hindsight(folder: Path) -> Iterator[RealHindsight]:
    """A running server with nothing in it. Raises CannotStart."""
    server = RealHindsight(folder)
    try:
        server.up()
        yield server
    finally:
        server.wipe()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()
