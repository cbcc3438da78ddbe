"""The daemon's life as the system sees it: one instance, signals, readiness, the watchdog."""

import asyncio
import faulthandler
import fcntl
import os
import signal
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

import anyio

from retaind import __version__
from retaind.errors import AlreadyRunning, DiskFull, StateDamaged, StateError, StateUnwritable
from retaind.paths import Holder, Paths, private_dir, read_holder, write_holder

_FORCED_EXIT: Final = 130
_TASK_PAUSE_S: Final = 5.0
_LOCK_PATIENCE_S: Final = 0.5
_LOCK_PAUSE_S: Final = 0.02


@contextmanager
def single_instance(paths: Paths, started: float) -> Iterator[None]:
    """Hold the lock on the state directory for as long as the block runs.

    The lock disappears with the process, so nothing stale can stand in the way; the file stays, and is
    empty after a clean end.
    Raises AlreadyRunning, naming the process that holds it, or StateUnwritable.
    """
    private_dir(paths.state_dir, symlink_ok=True)
    try:
        descriptor = os.open(
            paths.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
    except OSError as error:
        raise StateUnwritable(
            f"the lock file {paths.lock} cannot be opened",
            why=error.strerror or str(error),
            fix=f"make {paths.state_dir} writable for this user, or set RETAIND_STATE_DIR",
        ) from error
    try:
        _lock(descriptor, paths)
        write_holder(descriptor, Holder(os.getpid(), paths.socket, started, __version__))
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, paths: Paths) -> None:
    """Take the lock. Whoever only asks who holds it has it for a moment: that is waited for."""
    until = time.monotonic() + _LOCK_PATIENCE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if time.monotonic() >= until:
                raise _already_running(paths) from error
            time.sleep(_LOCK_PAUSE_S)


def _already_running(paths: Paths) -> AlreadyRunning:
    holder = read_holder(paths.lock)
    return AlreadyRunning(
        f"retaind already runs with {paths.state_dir}",
        why=f"process {holder.pid} holds the lock" if holder else "its lock is held",
        fix="retaind status, or retaind restart",
    )


def notify(*lines: str) -> bool:
    """Tell the service manager something, if there is one that listens; never fails."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]
    with (
        suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as peer,
    ):
        peer.connect(address)
        peer.sendall("\n".join(lines).encode())
        return True
    return False


def watchdog_interval_s() -> float | None:
    """Return how often the service manager wants to hear from us, or None when it does not."""
    pid = os.environ.get("WATCHDOG_PID")
    if pid is not None and pid != str(os.getpid()):
        return None
    try:
        return int(os.environ["WATCHDOG_USEC"]) / 3_000_000
    except (KeyError, ValueError):
        return None


def child_environment() -> dict[str, str]:
    """Return our environment without what the service manager meant for this process alone."""
    own = ("NOTIFY_SOCKET", "WATCHDOG_", "LISTEN_")
    return {name: value for name, value in os.environ.items() if not name.startswith(own)}


def watch_signals(stop: Callable[[], None], reload: Callable[[], None]) -> None:
    """From now on, ask to stop at the first SIGTERM or SIGINT, and leave at once at the second.

    Leaving at once is as safe as a crash, and happens in the signal handler itself, so that it works while
    the event loop hangs. The handlers stay for the rest of the process: were they taken away before the
    last flush, a second Ctrl-C would tear through it as an exception. SIGHUP calls `reload`. Both are
    called by the running event loop.
    """
    loop = asyncio.get_running_loop()
    asked = False

    def received(number: int, _frame: FrameType | None) -> None:
        nonlocal asked
        if number == signal.SIGHUP:
            soon(reload)
        elif asked:
            os._exit(_FORCED_EXIT)
        else:
            asked = True
            soon(stop)

    def soon(call: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: all is done
            loop.call_soon_threadsafe(call)

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, received)


async def keep_going(run: Callable[[], Awaitable[None]], log: Callable[..., object]) -> None:
    """Run a task to its end; a full disk, or a database that somebody holds, only makes it wait."""
    while True:
        try:
            await run()
        except StateDamaged:
            raise
        except (DiskFull, StateError) as error:
            log("task_waits", why=str(error))
            await anyio.sleep(_TASK_PAUSE_S)
        else:
            return


def show_where_it_hangs() -> None:
    """Have the watchdog's SIGABRT print where every thread stands, before the process ends."""
    faulthandler.enable(all_threads=True)


def leave_within(seconds: float) -> None:
    """Leave by then whatever happens, and print where every thread stood: that is as safe as a crash."""
    faulthandler.dump_traceback_later(seconds, exit=True)


class ClockGap:
    """Notices that the machine slept: the wall clock went on and the monotonic clock did not."""

    def __init__(self, tolerance_s: float = 30.0) -> None:
        self._tolerance_s = tolerance_s
        self._offset = time.time() - time.monotonic()

    def check(self) -> bool:
        """Say whether the clocks have moved apart since the last check."""
        offset = time.time() - time.monotonic()
        gap = abs(offset - self._offset)
        self._offset = offset
        return gap > self._tolerance_s
