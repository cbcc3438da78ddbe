"""A real systemd user manager for tests that need one, and the account that it works for."""

import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SCRIPT = REPOSITORY / "tests/service/user_manager.sh"
ACCOUNT = "4242"
HOME = Path("/run/home")
CANNOT = 77


PYTHON = HOME / ".local/share/retaind/current/bin/python"


class UserManager:
    """The inside of the namespaces: runs commands there as the account, and waits for facts."""

    def __init__(self, pid: int) -> None:
        self._enter = ("nsenter", f"--target={pid}", "--mount", "--pid", "--cgroup")

    def run(
        self, *argv: str | Path, user: str = ACCOUNT, check: bool = True, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as the account (or another user), with nothing but the usual variables."""
        become = ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups")
        variables = {
            "HOME": str(HOME),
            "USER": "retaind-test",
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "XDG_RUNTIME_DIR": f"/run/user/{ACCOUNT}",
            **environ,
        }
        done = subprocess.run(
            [*self._enter, *become, "env", "-i", "--chdir=/", *_pairs(variables), *argv],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 or not check, (argv, done.stdout, done.stderr)
        return done

    def systemctl(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run("systemctl", "--user", *words, check=check)

    def show(self, name: str) -> str:
        """Return a property of retaind's unit."""
        return self.systemctl("show", "retaind.service", "-p", name, "--value").stdout.strip()

    def pid(self) -> int:
        """Return the daemon's main process, which must be one."""
        number = int(self.show("MainPID"))
        assert number > 1
        return number

    def kill(self, signal: str) -> int:
        """Send a signal to the daemon, and return the process it had."""
        pid = self.pid()
        self.run("/bin/kill", f"-{signal}", str(pid))
        return pid

    def write(self, path: Path, text: str) -> None:
        self.run("mkdir", "-p", path.parent)
        self.run("sh", "-c", 'printf %s "$2" >"$1"', "sh", path, text)

    def journal(self) -> str:
        """Return what the manager and the daemon logged, for a test that fails."""
        return self.run("journalctl", "-q", "--no-pager", "-D", "/run/log/journal", user="0").stdout


def _pairs(variables: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in variables.items()]


def eventually(claim: Callable[[], bool], what: str, within_s: float = 20.0) -> None:
    """Wait until something that another process does has happened."""
    end = time.monotonic() + within_s
    while not claim():
        assert time.monotonic() < end, f"not within {within_s} s: {what}"
        time.sleep(0.05)


@contextmanager
def user_manager(*folders: str | Path) -> Iterator[UserManager]:
    """Start a user manager in namespaces that end with the block; skip where that is impossible.

    Its account reaches this Python and the `folders`.
    """
    folders = (sys.base_prefix, *folders)
    with subprocess.Popen(
        [SCRIPT, *folders], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        first = process.stdout.readline().split()
        if first[:1] == ["ready"]:
            yield UserManager(int(first[1]))
        process.communicate()
    if first[:1] != ["ready"]:
        reason = " ".join(first)
        if os.environ.get("CI") == "true" or process.returncode != CANNOT:
            pytest.fail(f"no user manager to test with: {reason}")
        pytest.skip(reason)


def packages() -> list[str]:
    """Return where this environment keeps what the daemon imports."""
    return sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
