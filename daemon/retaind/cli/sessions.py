"""`retaind sessions`: a row per transcript."""

from typing import Any

import click

from retaind.cli import context
from retaind.cli.output import ago, number, print_json, short_path, size, table

_HEADS = ("id", "project", "kept", "pending", "messages", "active", "state")
_NUMBERS = frozenset({"kept", "pending", "messages"})
_LISTED = 50


@click.command()
@click.argument("session", required=False, metavar="[ID]")
@click.option("--all", "show_all", is_flag=True, help="Print all, not only the last 50.")
@click.option("--json", "as_json", is_flag=True, help="Print every fact as JSON.")
def command(session: str | None, *, show_all: bool, as_json: bool) -> None:
    """List transcripts, the one active last first: how much is kept, and what waits."""
    from retaind.runtime import report

    with context.reader() as connection:
        only = report.resolve(connection, session) if session else None
        rows = report.sessions(connection, context.memories(), only)
    if as_json:
        print_json(rows)
        return
    if not rows:
        print("no transcripts yet; `retaind status` shows which folders are watched")
        return
    shown = rows if show_all or session else rows[:_LISTED]
    table(_HEADS, [_cells(row) for row in shown], _NUMBERS)
    if len(shown) < len(rows):
        print(f"… and {number(len(rows) - len(shown))} more: retaind sessions --all")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    pending = max((memory["pending_bytes"] for memory in row["memories"].values()), default=0)
    project = row["project"] or short_path(row["path"]).rpartition("/")[0].rpartition("/")[2]
    kind = "" if row["kind"] == "session" else f" ({row['kind']})"
    return (
        row["id"],
        project + kind,
        size(row["captured_bytes"]),
        size(pending) if pending else "-",
        number(row["messages"]),
        ago(row["last_activity"]),
        row["state"],
    )
