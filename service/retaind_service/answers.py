"""Asking the installed daemon, through its own command line, how it is."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from retaind_service.commands import run
from retaind_service.port import ServiceError

_POLL_S = 0.2


def wait(
    command: Sequence[str],
    version: str,
    *,
    timeout_s: float = 30.0,
    environ: Mapping[str, str] = os.environ,
) -> dict[str, Any]:
    """Run `command` until it prints a status of this `version`, and return that status.

    Raises ServiceError when `timeout_s` have passed.
    """
    end = time.monotonic() + timeout_s
    while True:
        asked = run(command, environ, timeout_s=10.0)
        status = _parsed(asked.out)
        if asked.ok and status.get("version") == version:
            return status
        if time.monotonic() >= end:
            heard = f"version {status['version']}" if "version" in status else asked.complaint
            raise ServiceError(
                f"retaind {version} does not answer",
                why=f"after {timeout_s:g} s its status is: {heard}",
                fix="retaind logs -n 20",
            )
        time.sleep(_POLL_S)


def _parsed(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def summary(status: Mapping[str, Any]) -> str:
    """Return one plain line of what a status says it found."""
    parts = []
    roots = status.get("watch", {}).get("roots") if isinstance(status.get("watch"), dict) else None
    if isinstance(roots, list):
        parts.append(f"watching {_counted(len(roots), 'root')}")
    if isinstance(status.get("sessions"), int):
        parts.append(_counted(status["sessions"], "session"))
    if isinstance(status.get("captured_bytes"), int):
        parts.append(f"{status['captured_bytes'] / 1e6:.1f} MB kept")
    return ", ".join(parts)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
