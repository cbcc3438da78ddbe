"""Make docs/terminal.svg: what the commands of the README print, in a home made for it, by a real daemon.

usage: python docs/picture.py        (from the checkout, in the development environment)
"""

import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import Console
from rich.text import Text

SAID = (
    ("user", "Why does checkout time out for large carts?"),
    ("assistant", "The tax service is called once per line item. I will look at the calls."),
    (
        "assistant",
        "Confirmed: src/cart.py:88 calls the tax service in a loop. Batched, 200 items take 0.4 s.",
    ),
    ("user", "Do it, and keep the old path behind a flag for a week."),
    ("assistant", "Done. The flag is TAX_BATCHING, on by default; remove it after 8 December."),
)
COMMANDS = (
    ("status",),
    ("search", "tax", "service"),
    ("recall", "why was checkout slow?"),
    ("verify",),
)
COLUMNS = 100
INDENT = "\N{NO-BREAK SPACE}" * 2
"""Blanks at the beginning of a line are lost in a picture, these are not."""


def main() -> None:
    """Write a session, let a daemon keep it, and draw what the commands print."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        write_session(home / ".claude" / "projects" / "-home-ada-src-shop")
        run(home, "start")
        try:
            run(home, "flush")
            console = Console(record=True, width=COLUMNS, file=io.StringIO())
            for command in COMMANDS:
                console.print(Text.assemble(("$ ", "green"), shlex.join(("retaind", *command))))
                console.print(Text(run(home, *command).rstrip().replace("  ", INDENT) + "\n"))
        finally:
            run(home, "stop")
    svg = console.export_svg(title="retaind", unique_id="retaind")
    svg = re.sub(
        r"@font-face\s*\{.*?\}\s*", "", svg, flags=re.DOTALL
    )  # nothing is fetched to show it
    (Path(__file__).parent / "terminal.svg").write_text(svg, encoding="utf-8")


def write_session(project: Path) -> None:
    """Write one session as Claude Code does."""
    project.mkdir(parents=True)
    moment = datetime.now(UTC) - timedelta(days=1)
    name = "5b0c2f6e-7a41-4d5e-9c1b-2f1f5a3e8d10"
    with (project / f"{name}.jsonl").open("w", encoding="utf-8") as file:
        for role, text in SAID:
            moment += timedelta(seconds=41)
            record = {
                "type": role,
                "cwd": "/home/ada/src/shop",
                "sessionId": name,
                "uuid": str(uuid.uuid4()),
                "timestamp": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "message": {"role": role, "content": text},
            }
            file.write(json.dumps(record) + "\n")
    old = time.time() - 60
    os.utime(project / f"{name}.jsonl", (old, old))


def run(home: Path, *command: str) -> str:
    """Run a command of retaind in that home; returns what it printed."""
    environ = {"HOME": str(home), "PATH": os.environ["PATH"], "COLUMNS": str(COLUMNS)}
    done = subprocess.run(
        [sys.executable, "-I", "-m", "retaind", *command],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


if __name__ == "__main__":
    main()
