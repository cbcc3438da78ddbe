"""`retaind status`: whether it is working."""

import sys
import time
from typing import Any

import click

from retaind.cli import context
from retaind.cli.condition import look
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
from retaind.errors import ConfigError

DEGRADED = 8
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


def _print(found: dict[str, Any]) -> None:
    state = str(found["state"])
    shown = paint(state, _COLOR_OF.get(state, "red"))
    if state == "degraded":  # the time is that of the process, not of the trouble
        shown = f"running, {shown},"
    print(f"retaind {found['version']} is {shown}{_since(found)}")
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
    rows += _settings()
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


def _settings() -> list[tuple[str, str]]:
    """Say what is wrong with the configuration as it is now: a daemon goes on with what it read before."""
    try:
        context.settings()
    except ConfigError as error:
        return [("settings", paint(str(error), "yellow"))]
    return []


def _memory(memory: dict[str, Any]) -> str:
    parts = [f"{number(memory['retained'])} retained"]
    if dropped := sum(memory["dropped"].values()):
        parts.append(f"{number(dropped)} dropped by policy")
    if memory["pending_bytes"]:
        parts.append(f"{size(memory['pending_bytes'])} pending")
    if memory["set_aside"]:
        parts.append(paint(f"{number(memory['set_aside'])} set aside", "yellow"))
    if waiting := memory.get("chunks_pending"):
        parts.append(f"{counted(waiting, 'chunk')} to be extracted")
    if stale := memory.get("stale"):
        parts.append(f"{counted(stale, 'session')} under an older policy (retaind rebuild)")
    return ", ".join(parts)


def _import(running: dict[str, Any]) -> str:
    done, total = running["files_done"], max(running["files_total"], 1)
    cells = int(_BAR_CELLS * min(done / total, 1.0))
    full, empty = ("█", "░") if is_colored() else ("#", ".")
    line = f"{full * cells}{empty * (_BAR_CELLS - cells)} {100 * done // total} %"
    return f"{line}  ({number(done)} of {number(total)} files)"
