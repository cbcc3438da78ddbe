"""Daemons that start in milliseconds: processes forked from one that has imported everything already.

Each is a process of its own that runs the whole of `retaind run`; only the interpreter's start is shared.
Run as a program this is the process that forks; `Zygote` is what a test holds.
"""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

_POLL_S = 0.005
NO_NAMESPACE = 71
"""The exit code of a daemon that should have had limits of its own, where none can be set."""


class Forked:
    """A forked daemon, with what tests need of `subprocess.Popen`."""

    def __init__(self, zygote: "Zygote", pid: int) -> None:
        self._zygote = zygote
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        if self.returncode is None:
            self.returncode = self._zygote.poll(self.pid)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait until it has ended; returns its exit code."""
        end = time.monotonic() + (60.0 if timeout is None else timeout)
        while (code := self.poll()) is None:
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired("retaind run", timeout or 60.0)
            time.sleep(_POLL_S)  # the process is looked at, not the time
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)


class Zygote:
    """Starts daemons. Use it as a context; it leaves no process behind."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._daemons: list[Forked] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for daemon in self._daemons:
            daemon.kill()
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def start(
        self,
        environ: Mapping[str, str],
        log: Path,
        *,
        bound: bool = False,
        limits: Mapping[int, int] | None = None,
        inotify: Mapping[str, int] | None = None,
    ) -> Forked:
        """Fork a daemon with this environment; what it prints goes to `log`.

        `bound` has permissions bind it although it runs as root; `limits` are resource limits;
        `inotify` limits `instances` or `watches` in a user namespace of its own.
        """
        start = {"environ": dict(environ), "log": str(log), "bound": bound, "inotify": inotify}
        pid = self._ask({**start, "limits": list((limits or {}).items())})
        assert pid is not None
        self._daemons = [daemon for daemon in self._daemons if daemon.returncode is None]
        self._daemons.append(Forked(self, pid))
        return self._daemons[-1]

    def poll(self, pid: int) -> int | None:
        """Return the exit code of a daemon that has ended."""
        return self._ask({"poll": pid})

    def _ask(self, request: object) -> int | None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the process that forks has ended"
        found: int | None = json.loads(answer)
        return found


def _serve() -> None:
    import retaind.memory.local
    import retaind.runtime.daemon  # noqa: F401 - so that a fork need not

    for line in sys.stdin:
        request = json.loads(line)
        if "poll" in request:
            ended, status = os.waitpid(request["poll"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if ended else None
        else:
            answer = _start(request)
        print(json.dumps(answer), flush=True)  # noqa: T201 - this is how the test is answered


def _start(request: Mapping[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        _become(request["environ"], request["log"])
        for resource_id, limit in request["limits"]:
            resource.setrlimit(resource_id, (limit, limit))
        if request["bound"]:
            _let_permissions_bind()
        if request["inotify"]:
            _limit_inotify(request["inotify"])
        from retaind.cli.app import run

        code = run(["run"])
    except SystemExit as left:
        code = int(left.code or 0)
    finally:
        os._exit(code)


def _become(environ: Mapping[str, str], log: str) -> None:
    """Be as if started with this environment."""
    import importlib

    from retaind import failpoint

    os.environ.clear()
    os.environ.update(environ)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    importlib.reload(failpoint)  # it reads the environment when it is imported


def _let_permissions_bind() -> None:
    """Give up the capabilities by which root passes over permissions."""
    import ctypes
    import struct

    if not sys.platform.startswith("linux"):
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = ctypes.create_string_buffer(struct.pack("=Ii", 0x20080522, 0))
    sets = ctypes.create_string_buffer(24)
    if libc.capget(header, sets) == 0:
        # DAC_OVERRIDE, DAC_READ_SEARCH and FOWNER are the bits 1 to 3 of the first three words.
        words = [word & ~0b1110 for word in struct.unpack("=6I", sets.raw[:24])]
        libc.capset(header, ctypes.create_string_buffer(struct.pack("=6I", *words)))


def _limit_inotify(limits: Mapping[str, int]) -> None:
    """Enter a user namespace in which inotify has these limits."""
    import ctypes

    uid = os.geteuid()
    if not sys.platform.startswith("linux") or ctypes.CDLL(None).unshare(0x10000000):
        raise SystemExit(NO_NAMESPACE)
    Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1")
    for name, limit in limits.items():
        Path(f"/proc/sys/user/max_inotify_{name}").write_text(str(limit))


if __name__ == "__main__":
    _serve()
