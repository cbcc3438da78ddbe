"""How the operating system keeps retaind running. Imports nothing of retaind, standard library only.

    manager()   the Manager of this machine: installed, start, stop, restart, state, logs_command
    detect()    which one that is: "systemd", "launchd" or "none"

Where there is no service manager (containers, WSL1), `manager()` is an `Absent`: it is never
installed, and starting it raises ServiceError. The caller then runs the daemon detached.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from retaind_service import launchd, systemd
from retaind_service.port import (
    Absent,
    Installed,
    Kind,
    Layout,
    Manager,
    ServiceError,
    ServiceState,
)

__all__ = [
    "Absent",
    "Installed",
    "Kind",
    "Layout",
    "Manager",
    "ServiceError",
    "ServiceState",
    "detect",
    "manager",
]


def detect(*, system: str = sys.platform, environ: Mapping[str, str] = os.environ) -> Kind:
    """Return which service manager answers for this user now; "none" when none does."""
    if system == "darwin":
        return "launchd" if launchd.answers(environ) else "none"
    return "systemd" if systemd.answers(environ) else "none"


def manager(
    *,
    system: str = sys.platform,
    home: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Manager:
    """Return the manager that answers on this machine, for the user whose home is `home`."""
    home = home or Path.home()
    match detect(system=system, environ=environ):
        case "systemd":
            return systemd.Systemd(home, environ)
        case "launchd":
            return launchd.Launchd(home, environ)
        case "none":
            return Absent()
