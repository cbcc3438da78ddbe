"""A daemon in a home of its own, to be measured: started, fed, asked, looked at, stopped."""

import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

from bench import meter
from retaind.cli import client
from retaind.db import open_readonly
from retaind.errors import RetaindError
from retaind.paths import find_paths

COMMAND = (sys.executable, "-I", "-m", "retaind")
_DEADLINE_S = 900.0
_RESTFUL_S = 2.0
_RESTFUL_CPU_S = 0.02


class Daemon:
    """One daemon under `home`, which it sees as its user's; `projects` is where transcripts go."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.projects = home / ".claude" / "projects"
        self.projects.mkdir(parents=True, exist_ok=True)
        self.log = home / "daemon.log"
        self.environ = meter.private_environ(
            home,
            CLAUDE_CONFIG_DIR=str(self.projects.parent),
            RETAIND_STATE_DIR=str(home / "state"),
            RETAIND_SOCKET=str(home / "ctl"),
            RETAIND_CONFIG_FILE=str(home / "config.toml"),
        )
        self.paths = find_paths(self.environ)
        self._process: subprocess.Popen[bytes] | None = None
        self._looking: sqlite3.Connection | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> float:
        """Start it, and wait until it says on its socket that it is well; returns the seconds."""
        began = time.monotonic()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*COMMAND, "run"],
                env=self.environ,
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.wait_until(self._is_well, "the daemon is ready", every_s=0.005)
        return time.monotonic() - began

    def stop(self) -> float:
        """Ask it to end, and wait until it has; returns the seconds."""
        if self._looking is not None:
            self._looking.close()
            self._looking = None
        if self._process is None:
            return 0.0
        began = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(_DEADLINE_S)
        self._process = None
        return time.monotonic() - began

    def search(self, words: str) -> Any:
        return client.get(self.paths, f"search?q={quote_plus(words)}", timeout_s=60)

    def recall(self, prompt: str) -> Any:
        return client.post(self.paths, "recall", {"prompt": prompt}, timeout_s=60)

    def captured_bytes(self, path: Path | None = None) -> int:
        """Return how many bytes the vault holds, of one transcript or of all; does not disturb the daemon."""
        if path is None:
            return self._number("SELECT coalesce(sum(captured), 0) FROM generation")
        return self._number(
            "SELECT coalesce(max(g.captured), 0) FROM generation g JOIN stream s ON s.id = g.stream_id"
            " WHERE s.path = ? AND g.closed IS NULL",
            bytes(path),
        )

    def retained_bytes(self) -> int:
        """Return how many bytes the local memory has taken, retained or dropped."""
        return self._number("SELECT coalesce(sum(offset), 0) FROM cursor WHERE memory = 'local'")

    def wait_until_retained(self, paths: Sequence[Path]) -> None:
        """Wait until the vault and the local memory have all that stands in these, the only transcripts."""
        total = sum(path.stat().st_size for path in paths)
        self.wait_until(lambda: self.captured_bytes() >= total, "every byte is in the vault")
        self.wait_until(lambda: self.retained_bytes() >= total, "every byte is retained")

    def wait_until(self, holds: Callable[[], bool], what: str, *, every_s: float = 0.02) -> None:
        """Look until something holds. Raises TimeoutError, or RuntimeError when the daemon left."""
        end = time.monotonic() + _DEADLINE_S
        while not holds():
            if self._process is not None and self._process.poll() is not None:
                raise RuntimeError(
                    f"the daemon left with {self._process.returncode}: see {self.log}"
                )
            if time.monotonic() > end:
                raise TimeoutError(what)
            time.sleep(every_s)

    def wait_until_restful(self) -> None:
        """Wait until it uses next to no CPU time for two seconds, such as when merging has ended."""

        def is_restful() -> bool:
            before = meter.read(self.pid)
            time.sleep(_RESTFUL_S)
            return (meter.read(self.pid) - before).cpu_s < _RESTFUL_CPU_S

        self.wait_until(is_restful, "the daemon rests")

    def _is_well(self) -> bool:
        try:
            return bool(client.get(self.paths, "health")["ok"])
        except RetaindError:
            return False

    def _number(self, query: str, *values: object) -> int:
        if self._looking is None:
            self._looking = open_readonly(self.paths.database)
        return int(self._looking.execute(query, values).fetchone()[0])


@contextmanager
def running(daemon: Daemon) -> Iterator[Daemon]:
    """Start a daemon for the block, and end it afterwards."""
    daemon.start()
    try:
        yield daemon
    finally:
        daemon.stop()
