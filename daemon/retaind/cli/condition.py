"""How retaind is, whoever answers: the running daemon, or else its lock, socket and database."""

import os
from typing import Any

from retaind import __version__
from retaind.cli import client, context
from retaind.cli.client import NoAnswer
from retaind.cli.locking import is_locked
from retaind.cli.output import print_json
from retaind.errors import NotRunning, RetaindError
from retaind.paths import Paths, control_socket, read_holder

RUNNING, DEAD, STOPPED, UNKNOWN = 0, 1, 3, 4


def print_condition() -> int:
    """Print the facts of `status --json`, and return the exit code that goes with them."""
    found, code = look(context.paths())
    print_json(found)
    return code


def look(paths: Paths) -> tuple[dict[str, Any], int]:
    """Return the facts of `status --json`, and the exit code that goes with them."""
    try:
        found = client.get(paths, "status")
        if not isinstance(found, dict) or "state" not in found:
            raise NoAnswer("what answers on the control socket is not retaind")
    except NotRunning:
        return _without_daemon(paths)
    except RetaindError as error:
        code = UNKNOWN if isinstance(error, NoAnswer) else error.exit_code
        return _from_database(paths, "unknown", str(error)), code
    return found, RUNNING


def _without_daemon(paths: Paths) -> tuple[dict[str, Any], int]:
    holder = read_holder(paths.lock)
    if is_locked(paths):
        who = f"process {holder.pid}" if holder else "a process"
        return _from_database(
            paths, "unknown", f"{who} starts or stops: it does not answer"
        ), UNKNOWN
    if os.path.lexists(control_socket(paths)):
        who = f"process {holder.pid}" if holder else "the daemon"
        return _from_database(paths, "dead", f"{who} died; `retaind start` goes on"), DEAD
    return _from_database(paths, "stopped", None), STOPPED


def _from_database(paths: Paths, state: str, last_error: str | None) -> dict[str, Any]:
    """Fill in what the database alone can tell."""
    found: dict[str, Any] = {
        "version": __version__,
        "pid": None,
        "state": state,
        "started_at": None,
        "sessions": 0,
        "captured_bytes": 0,
        "pending_bytes": 0,
        "memories": {},
        "last_activity": None,
        "watch": None,
        "state_dir": str(paths.state_dir),
        "last_error": last_error,
    }
    if not paths.database.exists():
        return found
    from retaind.runtime.report import summary

    try:
        with context.reader() as connection:
            return found | summary(connection, context.memories())
    except RetaindError as error:
        return found | {"last_error": last_error or str(error)}
