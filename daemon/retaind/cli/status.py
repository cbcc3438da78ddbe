"""`retaind status`: whether it is working."""

import os
import sys
import time
from typing import Any

import click

from retaind import __version__
from retaind.cli import client, context, detached
from retaind.cli.client import NoAnswer
from retaind.cli.output import (
    ago,
    counted,
    duration,
    facts,
    is_colored,
    number,
    paint,
    print_json,
    seconds_of,
    short_path,
    size,
)
from retaind.errors import NotRunning, RetaindError
from retaind.paths import Paths, control_socket, read_holder

RUNNING, DEAD, STOPPED, UNKNOWN, DEGRADED = 0, 1, 3, 4, 8
_WATCH_S = 1.0
_BAR_CELLS = 30
_COLOR_OF = {"running": "green", "degraded": "yellow", "stopped": "yellow"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the facts as JSON.")
@click.option("--check", is_flag=True, help="Exit with 8 when something needs attention.")
@click.option("--watch", is_flag=True, help="Go on until Ctrl-C.")
def command(*, as_json: bool, check: bool, watch: bool) -> int:
    """Say whether retaind is working, what it keeps, and what waits.

    Exit 0: running. 1: it died and left its lock or socket. 3: stopped. 4: unknown.
    """
    paths = context.paths()
    while True:
        found, code = look(paths)
        if watch and not as_json and sys.stdout.isatty():
            print("\x1b[H\x1b[2J", end="")
        if as_json:
            print_json(found)
        else:
            _print(found)
        if not watch:
            return DEGRADED if check and found["state"] == "degraded" else code
        sys.stdout.flush()
        time.sleep(_WATCH_S)


def look(paths: Paths) -> tuple[dict[str, Any], int]:
    """Return the facts of `status --json`, and the exit code that goes with them."""
    try:
        found: dict[str, Any] = client.get(paths, "status")
    except NotRunning:
        return _without_daemon(paths)
    except RetaindError as error:
        code = UNKNOWN if isinstance(error, NoAnswer) else error.exit_code
        return _from_database(paths, "unknown", str(error)), code
    return found, RUNNING


def _without_daemon(paths: Paths) -> tuple[dict[str, Any], int]:
    holder = read_holder(paths.lock)
    if detached.is_locked(paths):
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


def _print(found: dict[str, Any]) -> None:
    state = str(found["state"])
    print(
        f"retaind {found['version']} is {paint(state, _COLOR_OF.get(state, 'red'))}{_since(found)}"
    )
    rows: list[tuple[str, str]] = []
    rows += _watched(found.get("watch"))
    kept = f"{counted(found['sessions'], 'transcript')}, {size(found['captured_bytes'])}"
    rows.append(("kept", f"{kept}; last activity {ago(found.get('last_activity'))}"))
    for name, memory in found["memories"].items():
        rows.append((name, _memory(memory)))
    if found.get("import"):
        rows.append(("import", _import(found["import"])))
    if found.get("last_error"):
        rows.append(("trouble", paint(str(found["last_error"]), "yellow")))
    if state == "stopped":
        rows.append(("to start", "retaind start"))
    facts(rows)


def _since(found: dict[str, Any]) -> str:
    started = seconds_of(found.get("started_at"))
    if started is None:
        return ""
    return f" for {duration(time.time() - started)} (process {found['pid']})"


def _watched(watch: dict[str, Any] | None) -> list[tuple[str, str]]:
    rows = []
    for position, root in enumerate((watch or {}).get("roots", ())):
        state = str(root["state"])
        shown = paint(state, "green" if state == "ok" else "yellow")
        rows.append(("" if position else "watching", f"{short_path(root['path'])}  {shown}"))
    if watch and watch.get("trouble"):
        rows.append(("", paint(str(watch["trouble"]), "yellow")))
    return rows


def _memory(memory: dict[str, Any]) -> str:
    parts = [f"{number(memory['retained'])} retained"]
    if dropped := sum(memory["dropped"].values()):
        parts.append(f"{number(dropped)} dropped by policy")
    if memory["pending_bytes"]:
        parts.append(f"{size(memory['pending_bytes'])} pending")
    if memory["set_aside"]:
        parts.append(paint(f"{number(memory['set_aside'])} set aside", "yellow"))
    return ", ".join(parts)


def _import(running: dict[str, Any]) -> str:
    done, total = running["files_done"], max(running["files_total"], 1)
    cells = int(_BAR_CELLS * min(done / total, 1.0))
    full, empty = ("█", "░") if is_colored() else ("#", ".")
    line = f"{full * cells}{empty * (_BAR_CELLS - cells)} {100 * done // total} %"
    return f"{line}  ({number(done)} of {number(total)} files)"
