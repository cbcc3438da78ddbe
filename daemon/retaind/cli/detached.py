"""A daemon without a service manager: started as a process of its own, found again by its lock."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from retaind.cli import client
from retaind.cli.client import NoAnswer
from retaind.cli.locking import is_locked
from retaind.errors import NotRunning, RetaindError
from retaind.paths import Paths, private_dir, read_holder

if TYPE_CHECKING:
    import subprocess

START_S = 30.0
STOP_S = 20.0
CRASH_LOG = "crash.log"
_CRASH_LOG_BYTES = 1024 * 1024
_STEP_S = 0.05
_LAST_LINES = 5


class Started(NamedTuple):
    """A daemon that answers; `already` if it did before it was asked for."""

    pid: int
    already: bool


def start(paths: Paths) -> Started:
    """Start a daemon that outlives this command, and wait until it answers."""
    if pid := _answering(paths):
        return Started(pid, already=True)
    private_dir(paths.state_dir, symlink_ok=True)
    private_dir(paths.log_dir, symlink_ok=True)
    crash_log = paths.log_dir / CRASH_LOG
    child = _spawn(crash_log)
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if pid := _answering(paths):
            return Started(pid, already=pid != child.pid)
        if child.poll() is not None:
            raise _ended(child.returncode, crash_log)
        time.sleep(_STEP_S)
    raise NoAnswer(
        f"the daemon (process {child.pid}) does not answer after {START_S:g} s",
        why="a large migration or a slow disk may keep it busy",
        fix="retaind status, and retaind logs",
    )


def stop(paths: Paths, timeout_s: float = STOP_S) -> int | None:
    """Stop the daemon that holds the lock, and wait until it is gone; returns its pid, None if none."""
    if not is_locked(paths):
        return None
    deadline = time.monotonic() + timeout_s
    pid = _holder_pid(paths)
    _ask_to_stop(pid)
    while is_locked(paths):
        holder = read_holder(paths.lock)
        if holder is not None and holder.pid != pid:
            pid = holder.pid  # another one was waiting for the lock
            _ask_to_stop(pid)
        if time.monotonic() > deadline:
            raise RetaindError(
                f"process {pid} still runs after {timeout_s:g} s",
                why="it was asked to stop, and may be busy with a slow disk",
                fix=f"wait, or kill -KILL {pid}: nothing that is captured is lost by that",
            )
        time.sleep(_STEP_S)
    return pid


def _ask_to_stop(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    except PermissionError:
        raise RetaindError(
            f"process {pid} cannot be stopped", why="it belongs to another user"
        ) from None


def _answering(paths: Paths) -> int | None:
    try:
        return int(client.root(paths, timeout_s=1.0)["pid"])
    except (NotRunning, NoAnswer):
        return None


def _holder_pid(paths: Paths) -> int:
    """Return the lock's holder: it wrote its pid there after it had taken the lock."""
    holder = read_holder(paths.lock)
    answering = _answering(paths)
    if holder is None or (answering is not None and answering != holder.pid):
        raise RetaindError(
            "the daemon cannot be told from other processes",
            why=f"{paths.lock} is held, but does not say by whom",
            fix="retaind status, and try again in a moment",
        )
    return holder.pid


def _spawn(crash_log: Path) -> "subprocess.Popen[bytes]":
    import subprocess

    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(crash_log, flags, 0o600)
    try:
        if os.fstat(descriptor).st_size > _CRASH_LOG_BYTES:
            os.ftruncate(descriptor, 0)
        return subprocess.Popen(
            [sys.executable, "-I", "-m", "retaind", "run"],
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            cwd="/",
            env=os.environ | {"RETAIND_SUPERVISOR": "detached"},
            start_new_session=True,
        )
    finally:
        os.close(descriptor)


def _ended(code: int, crash_log: Path) -> RetaindError:
    last = crash_log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
    said = next((line for line in reversed(last) if line.startswith("error: ")), "")
    error = RetaindError(
        "the daemon ended at once",
        why=said.removeprefix("error: ") or f"exit status {code}",
        fix=f"see {crash_log}",
    )
    error.exit_code = code if code > 0 else 1
    return error
