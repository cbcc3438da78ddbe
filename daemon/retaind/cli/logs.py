"""`retaind logs`: what the daemon said."""

import subprocess
import time
from collections import deque
from pathlib import Path

import click

from retaind.cli import context
from retaind.cli.detached import CRASH_LOG
from retaind.cli.service import installed_manager
from retaind.errors import NotFound

LOG_NAME = "retaind.log"
_STEP_S = 0.3


@click.command()
@click.option("-n", "--lines", default=50, show_default=True, type=click.IntRange(0))
@click.option("-f", "--follow", is_flag=True, help="Go on until Ctrl-C.")
def command(lines: int, *, follow: bool) -> int:
    """Print the last lines of the daemon's log."""
    paths = context.paths()
    manager = installed_manager(paths)
    if manager is not None:
        return subprocess.run(manager.logs_command(lines, follow=follow), check=False).returncode  # noqa: S603 - the manager's own command
    log = paths.log_dir / LOG_NAME
    if not log.exists():
        crash = paths.log_dir / CRASH_LOG
        if not crash.exists() or not crash.stat().st_size:
            raise NotFound(
                f"there is no log at {log}",
                why="a daemon in the foreground logs to its own terminal",
                fix="retaind start",
            )
        log = crash
    with log.open(errors="replace") as file:
        for line in deque(file, maxlen=lines):
            print(line, end="")
    if follow:
        _follow(log)
    return 0


def _follow(log: Path) -> None:
    """Print what is added, also after the file was rotated."""
    file = log.open(errors="replace")
    try:
        file.seek(0, 2)
        while True:
            if line := file.readline():
                print(line, end="", flush=True)
                continue
            time.sleep(_STEP_S)
            if log.exists() and log.stat().st_ino != Path(f"/dev/fd/{file.fileno()}").stat().st_ino:
                file.close()
                file = log.open(errors="replace")
    finally:
        file.close()
