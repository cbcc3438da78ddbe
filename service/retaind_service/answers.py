"""Asking the installed daemon, through its own command line, how it is."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from retaind_service.commands import run
from retaind_service.port import ServiceError

Status = Mapping[str, Any]
"""What `status --json` prints. Nothing but `version` is taken for granted."""

_POLL_S = 0.2
# A daemon is ready before it has looked everywhere; to say what it found is worth this much.
_LOOKED_WITHIN_S = 5.0
_KILO = 1000


def wait(
    command: Sequence[str],
    version: str,
    *,
    timeout_s: float = 30.0,
    environ: Mapping[str, str] = os.environ,
) -> Status:
    """Run `command` until it prints a status of this `version`, and return that status.

    It is given a little longer to have looked through the transcripts once. Raises ServiceError when
    `timeout_s` have passed without such a status.
    """
    begun = time.monotonic()
    while True:
        asked = run(command, environ, timeout_s=10.0)
        status = _parsed(asked.out)
        answers = asked.ok and status.get("version") == version
        waited_s = time.monotonic() - begun
        if answers and (_has_looked(status) or waited_s > min(timeout_s, _LOOKED_WITHIN_S)):
            return status
        if waited_s > timeout_s:
            raise ServiceError(
                f"retaind {version} does not answer",
                why=f"after {timeout_s:g} s: {_heard(status) or asked.complaint}",
                fix="retaind logs",
            )
        time.sleep(_POLL_S)


def _heard(status: Status) -> str:
    told = {name: status.get(name) for name in ("state", "version", "last_error")}
    return ", ".join(f"{name} {value}" for name, value in told.items() if value)


def summary(status: Status) -> str:
    """Return in plain words what a status says was found."""
    watched = [root for root in _roots(status) if root.get("state") == "ok"]
    if not watched and not any(map(_unread, _roots(status))):
        return "no transcripts found yet; they are kept from the moment they appear"
    parts = [f"watching {_counted(len(watched), 'root')}"]
    parts += [f"{root.get('path')} cannot be read" for root in _roots(status) if _unread(root)]
    if isinstance(status.get("sessions"), int):
        parts.append(_counted(status["sessions"], "session"))
    if isinstance(status.get("captured_bytes"), int):
        parts.append(f"{_size(status['captured_bytes'])} kept so far")
    return ", ".join(parts)


def _parsed(text: str) -> Status:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _has_looked(status: Status) -> bool:
    watch = status.get("watch")
    return isinstance(watch, dict) and bool(watch.get("scans")) and not status.get("import")


def _roots(status: Status) -> list[Status]:
    watch = status.get("watch")
    roots = watch.get("roots", []) if isinstance(watch, dict) else []
    return [root for root in roots if isinstance(root, dict)]


def _unread(root: Status) -> bool:
    return root.get("state") in {"permission", "unobservable"}


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _size(count: int) -> str:
    """Return a number of bytes as people write it."""
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < _KILO:
            return f"{count} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= _KILO
    return f"{amount:.1f} GB"
