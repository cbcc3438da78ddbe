"""A real daemon process in a home of its own, asked only through its public interfaces."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from harness.zygote import Forked, Zygote

DEADLINE_S = 30.0
_POLL_S = 0.02


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=DEADLINE_S)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(DEADLINE_S)
        self.sock.connect(os.fspath(self._path))


def wait_until(condition: Callable[[], Any], what: str, deadline_s: float = DEADLINE_S) -> Any:
    """Look again and again until the condition holds, and return what it returned; fail at the deadline."""
    end = time.monotonic() + deadline_s
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not within {deadline_s} s: {what}")
        time.sleep(_POLL_S)  # the condition is looked at, not the time


class Home:
    """A home folder with Claude Code's folder in it, and the daemon and commands that run there."""

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str] | None = None,
        zygote: Zygote | None = None,
    ) -> None:
        """With a `zygote` daemons are forked from it, which is ten times as fast as starting Python."""
        self.folder = folder
        self._zygote = zygote
        self.claude = folder / ".claude"
        self.project = self.claude / "projects" / "-home-dev-lab"
        self.project.mkdir(parents=True, exist_ok=True)
        self.state = folder / "state"
        self.socket = folder / "ctl.sock"
        self.log = folder / "daemon.log"
        self.config = folder / "config.toml"
        kept = {k: v for k, v in os.environ.items() if k in {"PATH", "LANG", "LC_ALL", "TMPDIR"}}
        self.environ = {
            **kept,
            "HOME": str(folder),
            "RETAIND_STATE_DIR": str(self.state),
            "RETAIND_SOCKET": str(self.socket),
            "RETAIND_CONFIG_FILE": str(self.config),
            **(environ or {}),
        }
        self.process: subprocess.Popen[bytes] | Forked | None = None

    # the daemon

    def start(
        self,
        *,
        wait: bool = True,
        bound: bool = False,
        limits: Mapping[int, int] | None = None,
        inotify: Mapping[str, int] | None = None,
        **extra: str,
    ) -> None:
        """Start the daemon, and wait until its socket answers. See `Zygote.start`."""
        if self._zygote is not None:
            environ = {**self.environ, **extra}
            self.process = self._zygote.start(
                environ, self.log, bound=bound, limits=limits, inotify=inotify
            )
        else:
            self.process = self._started(extra)
        if wait:
            wait_until(self.answers, "the daemon answers on its socket")

    def _started(self, extra: Mapping[str, str]) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-I", "-m", "retaind", "run"],
                env={**self.environ, **extra},
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def answers(self) -> bool:
        """Whether the daemon answers; one that has ended fails the test."""
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(
                f"the daemon left with {self.process.returncode}: {self.log.read_text()}"
            )
        try:
            return bool(self.ask("GET", "/v1/health")["version"])
        except OSError:
            return False

    def kill(self) -> None:
        """End the daemon by SIGKILL."""
        self.signal(signal.SIGKILL)

    def stop(self) -> int:
        """End the daemon by SIGTERM; returns its exit code."""
        return self.signal(signal.SIGTERM)

    def signal(self, number: int) -> int:
        """Send a signal that ends the daemon, and wait for the end."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.wait_for_exit()

    def run_to_its_end(self, **arguments: Any) -> tuple[int, str]:
        """Start a daemon that cannot run; returns its exit code and what it said."""
        before = self.log.stat().st_size if self.log.exists() else 0
        self.start(wait=False, **arguments)
        code = self.wait_for_exit()
        return code, self.log.read_bytes()[before:].decode()

    def wait_for_exit(self, deadline_s: float = DEADLINE_S) -> int:
        """Wait until the daemon has left; returns its exit code."""
        assert self.process is not None
        code = self.process.wait(deadline_s)
        self.process = None
        return code

    def proc(self, name: str) -> Path:
        """Return what the kernel says of the daemon under this name; skips the test where it says nothing."""
        if not sys.platform.startswith("linux"):
            pytest.skip("the kernel tells such things on Linux only")
        assert self.process is not None
        return Path(f"/proc/{self.process.pid}/{name}")

    def clean_up(self) -> None:
        """End whatever still runs."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    # what it says

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """Ask the control socket; returns the decoded answer."""
        connection = _UnixConnection(self.socket)
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status < 400, (answer.status, text)
            return json.loads(text)
        finally:
            connection.close()

    @contextmanager
    def connected(self) -> Iterator[http.client.HTTPConnection]:
        """Hold a connection to the control socket, for requests whose answer may never come."""
        connection = _UnixConnection(self.socket)
        try:
            yield connection
        finally:
            connection.close()

    def metrics(self) -> dict[str, float]:
        """Return what the socket tells Prometheus, by name with its labels."""
        with self.connected() as connection:
            connection.request("GET", "/v1/metrics")
            lines = connection.getresponse().read().decode().splitlines()
        pairs = (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        return {name: float(value) for name, value in pairs}

    def status(self) -> Any:
        return self.ask("GET", "/v1/status")

    def sessions(self) -> dict[str, Any]:
        """Return the rows of `sessions`, by file name."""
        return {os.path.basename(row["path"]): row for row in self.ask("GET", "/v1/sessions")}

    def flush(self) -> None:
        """Have everything captured and retained."""
        answer = self.ask("POST", "/v1/flush", {"timeout_s": DEADLINE_S})
        assert answer["complete"], answer

    def cli(
        self, *arguments: str, stdin: bytes | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a command as a user would; the exit code is for the test to look at."""
        return subprocess.run(
            [sys.executable, "-I", "-m", "retaind", *arguments],
            env=self.environ,
            cwd=self.folder,
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=DEADLINE_S,
        )

    def json(self, *arguments: str) -> Any:
        """Run a command with --json, and return what it printed."""
        finished = self.cli(*arguments, "--json")
        assert finished.stdout, finished.stderr.decode()
        return json.loads(finished.stdout)

    def restored(self, session: str, *arguments: str) -> bytes:
        """Return the bytes that `restore` gives for a session."""
        finished = self.cli("restore", session, *arguments)
        assert finished.returncode == 0, finished.stderr.decode()
        return finished.stdout

    def found(self, *words: str) -> list[str]:
        """Return the session ids that a search for these words gives."""
        return [hit["session_id"] for hit in self.json("search", *words)["results"]]


@contextmanager
def home(folder: Path, **environ: str) -> Iterator[Home]:
    """A home whose daemon, if one was started, ends with the block."""
    place = Home(folder, environ)
    try:
        yield place
    finally:
        place.clean_up()


@contextmanager
def running_daemon(folder: Path, **environ: str) -> Iterator[Home]:
    """A home with a running daemon."""
    with home(folder, **environ) as place:
        place.start()
        yield place
