"""`retaind backfill`: what was said before a remote memory was set up."""

from typing import Any

import click

from retaind.cli import client, context
from retaind.cli.output import counted, number, print_json, table
from retaind.errors import UsageError

_MEMORY = "hindsight"
_HEADS = ("session", "lines", "documents", "tokens")
_NUMBERS = frozenset({"lines", "documents", "tokens"})
_TIMEOUT_S = 600.0


@click.command()
@click.argument("session", required=False, metavar="[ID]")
@click.option("--dry-run", is_flag=True, help="Print what it would send, and send nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the facts as JSON.")
def command(session: str | None, *, dry_run: bool, as_json: bool) -> None:
    """Have the remote memory retain what was said before it was set up: in one session, or in all."""
    if dry_run:
        _measure(session, as_json=as_json)
        return
    answer = client.post(context.paths(), "backfill", {"session": session}, _TIMEOUT_S)
    if as_json:
        print_json(answer)
        return
    print(f"{counted(int(answer['sessions']), 'session')} on the way")
    if answer["waiting"]:
        print(
            f"{counted(int(answer['waiting']), 'session')} busy: try again when they are delivered"
        )


def _measure(session: str | None, *, as_json: bool) -> None:
    """Print documents and tokens per session, and in all."""
    rows = _estimates(session)
    sums = {name: sum(row[name] for row in rows) for name in ("lines", "documents", "tokens")}
    if as_json:
        print_json({"sessions": rows, **sums})
    elif not rows:
        print("nothing was passed over")
    else:
        table(_HEADS, [_cells(row) for row in rows], _NUMBERS)
        print(
            f"in all {counted(sums['documents'], 'document')}, {number(sums['tokens'])} tokens (bytes / 4)"
        )


def _estimates(session: str | None) -> list[dict[str, Any]]:
    from retaind.hosts import HOSTS
    from retaind.runtime import backfill
    from retaind.runtime.catalog import resolve

    settings = context.settings()
    if not settings.hindsight.enabled:
        raise UsageError("there is no remote memory", fix="set memory.hindsight.url")
    policy = settings.retain
    rows = []
    with context.reader() as connection:
        only = resolve(connection, session).id if session else None
        ledger = backfill.Ledger(_MEMORY, frozenset())
        for one in backfill.skipped(connection, _MEMORY, only):
            found = backfill.estimate(connection, one, HOSTS, policy, ledger)
            rows.append(
                {
                    "id": one.public_id,
                    "session_id": one.session_id,
                    "lines": one.lines,
                    "documents": found.documents,
                    "tokens": found.tokens,
                }
            )
    return rows


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        row["session_id"],
        number(row["lines"]),
        number(row["documents"]),
        number(row["tokens"]),
    )
