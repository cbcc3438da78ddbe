"""What a service manager is to retaind, and the values that cross that line."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

Kind = Literal["systemd", "launchd", "none"]
"""The service managers that retaind knows."""

Activity = Literal["running", "starting", "stopping", "stopped", "failed", "absent"]
"""What the service is doing. `absent`: the manager does not know it, or there is no manager."""


class ServiceError(Exception):
    """The service could not be installed, started or stopped: ``what``, ``why`` and a ``fix`` to try."""

    def __init__(self, what: str, *, why: str, fix: str) -> None:
        self.what = what
        self.why = why
        self.fix = fix
        super().__init__(f"{what}. WHY: {why.rstrip('.')}. FIX: {fix}")


@dataclass(frozen=True, slots=True)
class Layout:
    """What a unit is made from.

    `python` is the interpreter that the service executes, by its stable path; `home` is the user's
    home; `environment` holds the variables to record, since services do not see shells' variables.
    """

    python: Path
    home: Path
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServiceState:
    """What the manager says of the service. `pid` None: no process; `detail` is its own wording."""

    activity: Activity
    pid: int | None = None
    enabled: bool = False
    restarts: int = 0
    result: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Installed:
    """The outcome of installing. `changed` is False when the file already had this content.

    `backup` is where a file that the user had edited went.
    """

    path: Path
    changed: bool
    backup: Path | None = None


class Manager(Protocol):
    """A service manager, seen by whoever wants the daemon started or stopped.

    Every method that acts blocks until the manager has done it, and raises ServiceError.
    """

    kind: Kind

    @property
    def path(self) -> Path | None:
        """Where the unit belongs; None where there is no manager."""
        ...

    def installed(self) -> bool:
        """Whether retaind's unit is in its place."""
        ...

    def install(self, layout: Layout, *, known_sha256: str | None = None) -> Installed:
        """Write the unit when its content differs, have the manager read it, and enable it.

        `known_sha256` is the hash of the content last installed: a file with another hash was edited
        by the user and is kept as `.bak`. Starts nothing.
        """
        ...

    def uninstall(self) -> tuple[Path, ...]:
        """Stop, disable and remove the unit; return the paths removed. Half an installation is fine."""
        ...

    def start(self) -> None:
        """Start the service, and return when it says that it is ready; nothing when it runs."""
        ...

    def stop(self) -> None:
        """Stop the service, and return when its process is gone; nothing when it does not run."""
        ...

    def restart(self) -> None:
        """Stop it if it runs, and start it from its unit as it is now."""
        ...

    def state(self) -> ServiceState:
        """Ask the manager what the service is doing; never raises."""
        ...

    def logs_command(self, lines: int, *, follow: bool = False) -> tuple[str, ...]:
        """Return the command that prints the last `lines` lines of the log, and goes on if `follow`."""
        ...


class Absent:
    """The manager of a machine that has none."""

    kind: Kind = "none"
    path: Path | None = None

    def installed(self) -> bool:
        """Return False: there is nowhere to install it."""
        return False

    def install(
        self,
        layout: Layout,  # noqa: ARG002 - the Manager's own signature, here and below
        *,
        known_sha256: str | None = None,  # noqa: ARG002
    ) -> Installed:
        """Raise ServiceError."""
        raise _nobody()

    def uninstall(self) -> tuple[Path, ...]:
        """Do nothing: there is nothing to remove."""
        return ()

    def start(self) -> None:
        """Raise ServiceError."""
        raise _nobody()

    def stop(self) -> None:
        """Raise ServiceError."""
        raise _nobody()

    def restart(self) -> None:
        """Raise ServiceError."""
        raise _nobody()

    def state(self) -> ServiceState:
        """Return `absent`."""
        return ServiceState("absent", detail="no service manager answers")

    def logs_command(
        self,
        lines: int,  # noqa: ARG002
        *,
        follow: bool = False,  # noqa: ARG002
    ) -> tuple[str, ...]:
        """Raise ServiceError."""
        raise _nobody()


def _nobody() -> ServiceError:
    return ServiceError(
        "there is no service manager here",
        why="neither systemd's user manager nor launchd answers",
        fix="retaind start",
    )
