"""The user service of systemd: its unit, and the user manager that runs it."""

import contextlib
import os
from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from retaind_service.commands import Outcome, run
from retaind_service.files import place
from retaind_service.port import Activity, Installed, Kind, Layout, ServiceError, ServiceState

UNIT = "retaind.service"

_SYSTEMCTL = ("systemctl", "--user", "--no-ask-password")
_UP = frozenset({"running", "degraded", "starting", "initializing", "maintenance"})
# Above TimeoutStartSec= and TimeoutStopSec= together, both prolonged once.
_ACT_TIMEOUT_S = 90.0
# Control characters by number; backslash, quote and percent by what unit files have for them.
_ESCAPES = {
    **{code: f"\\x{code:02x}" for code in (*range(1, 0x20), 0x7F)},
    **str.maketrans({"\\": "\\\\", '"': '\\"', "%": "%%"}),
}
_ACTIVITIES: Mapping[str, Activity] = {
    "active": "running",
    "reloading": "running",
    "activating": "starting",
    "deactivating": "stopping",
    "failed": "failed",
}
_SHOWN = "LoadState,ActiveState,MainPID,NRestarts,Result,StatusText,UnitFileState"


def quoted(word: str) -> str:
    """Return `word` as one word of a unit file: quoted, escaped, and with no specifier in it."""
    return '"' + word.translate(_ESCAPES) + '"'


def unit_text(layout: Layout) -> str:
    """Return the text of the unit that runs `layout.python` with `layout.environment`."""
    environment = {**layout.environment, "RETAIND_SUPERVISOR": "systemd"}
    lines = [f"Environment={quoted(f'{name}={value}')}" for name, value in environment.items()]
    template = resources.files("retaind_service") / "templates" / UNIT
    return (
        template.read_text(encoding="utf-8")
        .replace("@EXEC_START@", f"ExecStart={_executable(layout.python)} -I -m retaind run")
        .replace("@ENVIRONMENT@", "\n".join(lines))
    )


def _executable(python: Path) -> str:
    # The path is never expanded, but the same word as argv[0] is, unless a colon leads it (since 244).
    name = str(python)
    return quoted(f":{name}" if "$" in name else name)


def session_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` with the runtime directory by which systemctl finds the user's manager.

    Shells of cron, su and some ssh servers lack it; the place is the same on every system.
    """
    found = dict(environ)
    usual = Path(f"/run/user/{os.getuid()}")
    if not found.get("XDG_RUNTIME_DIR") and usual.is_dir():
        found["XDG_RUNTIME_DIR"] = str(usual)
    return found


def answers(environ: Mapping[str, str]) -> bool:
    """Whether a systemd user manager runs for this user."""
    asked = run((*_SYSTEMCTL, "is-system-running"), session_environ(environ))
    return asked.out.strip() in _UP


class Systemd:
    """The user manager of systemd, and retaind's unit in it."""

    kind: Kind = "systemd"

    def __init__(self, home: Path, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = session_environ(environ)
        self.path = self._folder(home / ".config" / "systemd" / "user") / UNIT

    def _folder(self, usual: Path) -> Path:
        # The manager searches by its own XDG_CONFIG_HOME, and does not see the shell's.
        asked = run((*_SYSTEMCTL, "show", "--property=UnitPath", "--value"), self._environ)
        found = [Path(name) for name in asked.out.split() if name.endswith("/systemd/user")]
        # The user's own comes before the system's; a name that is cut at a space does not count.
        return found[0] if found and found[0].is_absolute() else usual

    def installed(self) -> bool:
        """Whether the unit is in its place."""
        return self.path.exists()

    def install(self, layout: Layout, *, known_sha256: str | None = None) -> Installed:
        """Write the unit if it differs, reload the manager and enable the unit; start nothing."""
        text = unit_text(layout).encode()
        placed = place(self.path, text, known_sha256=known_sha256)
        if placed.changed:
            self._verify()
        self._must("the unit could not be read", "daemon-reload")
        self._must("the service could not be enabled", "enable", "--quiet", UNIT)
        return placed

    def _verify(self) -> None:
        # An older systemd only warns of keys that it does not know. The interpreter may still be
        # missing: a first installation links it into its place afterwards.
        told = run(("systemd-analyze", "--user", "verify", str(self.path)), self._environ)
        ours = [line for line in told.err.splitlines() if UNIT in line]
        ours = [line for line in ours if "is not executable" not in line]
        if told.rc == 1 and ours:
            raise ServiceError(
                "systemd refuses the unit",
                why=ours[-1],
                fix=f"systemd-analyze --user verify {self.path}",
            )

    def uninstall(self) -> tuple[Path, ...]:
        """Stop, disable and remove the unit, whatever of it is there."""
        with contextlib.suppress(ServiceError):
            self.stop()
        run((*_SYSTEMCTL, "disable", "--quiet", UNIT), self._environ)
        removed = (self.path,) if self.path.exists() else ()
        self.path.unlink(missing_ok=True)
        run((*_SYSTEMCTL, "daemon-reload"), self._environ)
        run((*_SYSTEMCTL, "reset-failed", UNIT), self._environ)
        return removed

    def start(self) -> None:
        """Start the unit and wait for its READY=1; a crash loop in the past does not stand in the way."""
        run((*_SYSTEMCTL, "reset-failed", UNIT), self._environ)
        self._must("the service did not start", "start", UNIT)

    def stop(self) -> None:
        """Stop the unit and wait for the end of its process, flush included."""
        if self.state().activity != "absent":
            self._must("the service did not stop", "stop", UNIT)

    def restart(self) -> None:
        """Read the unit again and restart it, or start it."""
        self._must("the unit could not be read", "daemon-reload")
        run((*_SYSTEMCTL, "reset-failed", UNIT), self._environ)
        self._must("the service did not restart", "restart", UNIT)

    def state(self) -> ServiceState:
        """Ask the manager; `detail` is the daemon's own STATUS= line, or why there is no answer."""
        asked = run((*_SYSTEMCTL, "show", UNIT, f"--property={_SHOWN}"), self._environ)
        if not asked.ok:
            return ServiceState("absent", detail=asked.complaint)
        facts = dict(line.partition("=")[::2] for line in asked.out.splitlines())
        if facts.get("LoadState") == "not-found" and facts.get("ActiveState") == "inactive":
            return ServiceState("absent", detail="no such unit")
        return ServiceState(
            _ACTIVITIES.get(facts.get("ActiveState", ""), "stopped"),
            pid=int(facts.get("MainPID") or 0) or None,
            enabled=facts.get("UnitFileState") == "enabled",
            restarts=int(facts.get("NRestarts") or 0),
            result=facts.get("Result", ""),
            detail=facts.get("StatusText", ""),
        )

    def logs_command(self, lines: int, *, follow: bool = False) -> tuple[str, ...]:
        """Return a journalctl command. `--user-unit` also finds what a volatile journal keeps."""
        command = ("journalctl", "--no-pager", f"--lines={lines}", f"--user-unit={UNIT}")
        return (*command, "--follow") if follow else command

    def _must(self, what: str, *words: str) -> None:
        done = self._call(*words)
        if not done.ok:
            fix = " ".join(self.logs_command(20))
            raise ServiceError(what, why=done.complaint, fix=fix)

    def _call(self, *words: str) -> Outcome:
        return run((*_SYSTEMCTL, *words), self._environ, timeout_s=_ACT_TIMEOUT_S)
