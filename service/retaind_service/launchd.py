"""The launchd agent: its property list, and the launchctl of the user's domain."""

import os
import plistlib
import re
import time
from collections.abc import Mapping
from pathlib import Path

from retaind_service.commands import Outcome, run
from retaind_service.files import place
from retaind_service.port import Activity, Installed, Kind, Layout, ServiceError, ServiceState

LABEL = "dev.retaind.agent"

_EXIT_TIMEOUT_S = 20
_GONE_WITHIN_S = _EXIT_TIMEOUT_S + 12.0
_POLL_S = 0.25
# launchctl's own: bootstrap is refused while the label of before is still going away.
_IO_ERROR_RC = 5
_BOOTSTRAP_TRIES = 4
_PID = re.compile(r"^\s*pid = (\d+)$", re.MULTILINE)
_STATE = re.compile(r"^\s*state = (.+)$", re.MULTILINE)
_LAST_EXIT = re.compile(r"^\s*last exit code = (-?\d+)", re.MULTILINE)
_RUNS = re.compile(r"^\s*runs = (\d+)$", re.MULTILINE)


def logs_folder(home: Path, environ: Mapping[str, str]) -> Path:
    """Return where the daemon logs under launchd, which itself rotates nothing."""
    state = environ.get("RETAIND_STATE_DIR")
    return Path(state) / "log" if state else home / "Library" / "Logs" / "retaind"


def plist_bytes(layout: Layout) -> bytes:
    """Return the property list that runs `layout.python` with `layout.environment`."""
    logs = logs_folder(layout.home, layout.environment)
    content = {
        "Label": LABEL,
        "ProgramArguments": [str(layout.python), "-I", "-m", "retaind", "run"],
        "RunAtLoad": True,
        # Plain `true` would fight a stop that was meant.
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 10,
        "ExitTimeOut": _EXIT_TIMEOUT_S,
        # `Background` is confined to slow cores, and people wait for answers.
        "ProcessType": "Standard",
        "LowPriorityIO": True,
        "Nice": 5,
        "Umask": 0o077,
        "EnvironmentVariables": {**layout.environment, "RETAIND_SUPERVISOR": "launchd"},
        "StandardOutPath": "/dev/null",
        "StandardErrorPath": str(logs / "launchd.err.log"),
        "SoftResourceLimits": {"NumberOfFiles": 8192},
        "WorkingDirectory": str(layout.home),
    }
    return plistlib.dumps(content)


def answers(environ: Mapping[str, str]) -> bool:
    """Whether launchd has a domain for this user."""
    return _domain(environ) is not None


def _domain(environ: Mapping[str, str]) -> str | None:
    # Over ssh without a login at the screen there is no gui domain.
    for domain in (f"gui/{os.getuid()}", f"user/{os.getuid()}"):
        if run(("launchctl", "print", domain), environ).ok:
            return domain
    return None


class Launchd:
    """launchd's domain of the user, and retaind's agent in it."""

    kind: Kind = "launchd"

    def __init__(self, home: Path, environ: Mapping[str, str] = os.environ) -> None:
        self._home = home
        self._environ = environ
        self._domain = _domain(environ) or f"gui/{os.getuid()}"
        self._target = f"{self._domain}/{LABEL}"
        self.path = home / "Library" / "LaunchAgents" / f"{LABEL}.plist"

    def installed(self) -> bool:
        """Whether the property list is in its place."""
        return self.path.exists()

    def install(self, layout: Layout, *, known_sha256: str | None = None) -> Installed:
        """Write the property list if it differs, and enable the label; start nothing."""
        logs_folder(self._home, layout.environment).mkdir(mode=0o700, parents=True, exist_ok=True)
        placed = place(self.path, plist_bytes(layout), known_sha256=known_sha256)
        self._call("enable", self._target)
        return placed

    def uninstall(self) -> tuple[Path, ...]:
        """Boot the label out and remove the property list, whatever of it is there."""
        self.stop()
        removed = (self.path,) if self.path.exists() else ()
        self.path.unlink(missing_ok=True)
        return removed

    def start(self) -> None:
        """Load the agent, or start it again where it is loaded and has ended."""
        if not self._loaded():
            self._bootstrap()
            return
        if self.state().pid is None:
            self._must("the agent did not start", self._call("kickstart", self._target))

    def stop(self) -> None:
        """Boot the agent out and wait until its label is gone; launchctl itself does not wait."""
        if not self._loaded():
            return
        asked = self._call("bootout", self._target)
        end = time.monotonic() + _GONE_WITHIN_S
        while self._loaded():
            if time.monotonic() > end:
                raise ServiceError(
                    "the agent did not stop",
                    why=f"still loaded after {_GONE_WITHIN_S:g} s; bootout said: {asked.complaint}",
                    fix=f"launchctl kill SIGKILL {self._target}",
                )
            time.sleep(_POLL_S)

    def restart(self) -> None:
        """Boot the agent out, and load it from its property list as it is now."""
        self.stop()
        self._bootstrap()

    def state(self) -> ServiceState:
        """Ask launchctl what it knows of the label; the wording of its answer is no interface."""
        asked = self._call("print", self._target)
        if not asked.ok:
            return ServiceState("stopped" if self.installed() else "absent", detail=asked.complaint)
        pid = _PID.search(asked.out)
        last = _LAST_EXIT.search(asked.out)
        runs = _RUNS.search(asked.out)
        said = _STATE.search(asked.out)
        return ServiceState(
            _activity(running=pid is not None, last_exit=int(last[1]) if last else 0),
            pid=int(pid[1]) if pid else None,
            enabled=True,
            restarts=max(int(runs[1]) - 1, 0) if runs else 0,
            result=f"exit status {last[1]}" if last else "",
            detail=said[1] if said else "",
        )

    def logs_command(self, lines: int, *, follow: bool = False) -> tuple[str, ...]:
        """Return a tail command on the daemon's own log file."""
        log = str(logs_folder(self._home, self._environ) / "retaind.log")
        return ("tail", "-n", str(lines), *(("-F",) if follow else ()), log)

    def _loaded(self) -> bool:
        return self._call("print", self._target).ok

    def _bootstrap(self) -> None:
        self._call("enable", self._target)
        for attempt in range(_BOOTSTRAP_TRIES):
            asked = self._call("bootstrap", self._domain, str(self.path))
            if asked.rc != _IO_ERROR_RC or attempt == _BOOTSTRAP_TRIES - 1:
                break
            time.sleep(_POLL_S * 2**attempt)
        self._must("the agent could not be loaded", asked)

    def _must(self, what: str, asked: Outcome) -> None:
        if not asked.ok:
            raise ServiceError(what, why=asked.complaint, fix=f"launchctl print {self._target}")

    def _call(self, *words: str) -> Outcome:
        return run(("launchctl", *words), self._environ)


def _activity(*, running: bool, last_exit: int) -> Activity:
    if running:
        return "running"
    return "failed" if last_exit else "stopped"
