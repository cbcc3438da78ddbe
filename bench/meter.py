"""What a process costs: CPU time, memory, bytes read and written, wake-ups. Linux only, from /proc.

CPU time of a running process comes from its own clock, to the nanosecond; of a finished one, with its
children, from the kernel's account. Wall time is read too, but depends on what else the machine does.
"""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_INHERITED = ("PATH", "LANG", "LC_ALL", "TMPDIR")


@dataclass(frozen=True, slots=True)
class Cost:
    """What one command cost from its start to its end, children that it waited for included."""

    exit_code: int
    wall_s: float
    cpu_s: float
    peak_rss_bytes: int


@dataclass(frozen=True, slots=True)
class Reading:
    """What a running process has used up to now; the difference of two is what it used between them.

    `read_bytes` and `written_bytes` count what went through system calls, from the page cache or a
    socket too; `disk_read_bytes` only what came from the disk. `wakeups` are voluntary context switches.
    """

    at_s: float
    cpu_s: float
    read_bytes: int
    written_bytes: int
    reads: int
    disk_read_bytes: int
    wakeups: int

    def __sub__(self, earlier: "Reading") -> "Reading":
        pairs = ((getattr(self, name), getattr(earlier, name)) for name in self.__slots__)
        return Reading(*(later - before for later, before in pairs))


def private_environ(home: Path, **more: str) -> dict[str, str]:
    """Return an environment in which a command sees no home but this one."""
    kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return kept | {"HOME": str(home), "NO_COLOR": "1"} | more


def run(
    command: Sequence[str], environ: Mapping[str, str], stdin: bytes = b""
) -> tuple[Cost, bytes]:
    """Run a command to its end in its home folder; returns what it cost and what it printed."""
    began = time.monotonic()
    with subprocess.Popen(
        command, env=environ, cwd=environ["HOME"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.write(stdin)
            process.stdin.close()
        printed = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    cpu_s = used.ru_utime + used.ru_stime
    return Cost(process.returncode, time.monotonic() - began, cpu_s, used.ru_maxrss * 1024), printed


def read(pid: int) -> Reading:
    """Read what a running process has used. Raises ProcessLookupError when it is gone."""
    io = _fields(pid, "io")
    return Reading(
        at_s=time.monotonic(),
        cpu_s=_cpu_s(pid),
        read_bytes=io["rchar"],
        written_bytes=io["wchar"],
        reads=io["syscr"],
        disk_read_bytes=io["read_bytes"],
        wakeups=_wakeups(pid),
    )


def rss_bytes(pid: int) -> int:
    """Return the resident memory of a running process."""
    return _fields(pid, "status")["VmRSS"] * 1024


def peak_rss_bytes(pid: int) -> int:
    """Return the most resident memory that a running process ever had."""
    return _fields(pid, "status")["VmHWM"] * 1024


def _cpu_s(pid: int) -> float:
    # The kernel's number for "CPU clock of that process"; its children are not in it, and ours has none.
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError as error:
        raise ProcessLookupError(pid) from error


def _wakeups(pid: int) -> int:
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with suppress(FileNotFoundError, ProcessLookupError):  # the thread ended just now
            total += _fields(pid, f"task/{task}/status")["voluntary_ctxt_switches"]
    return total


def _fields(pid: int, name: str) -> dict[str, int]:
    try:
        lines = Path(f"/proc/{pid}/{name}").read_text().splitlines()
    except FileNotFoundError as error:
        raise ProcessLookupError(pid) from error
    split = (line.partition(":") for line in lines)
    numbers = ((key, value.split()) for key, _, value in split)
    return {key: int(value[0]) for key, value in numbers if value and value[0].isdigit()}
