"""`retaind rebuild`: a memory derived anew from the vault."""

import sys
from typing import Any

import click

from retaind.cli import client, context
from retaind.cli.asking import confirm
from retaind.cli.output import counted, number, print_json

_TIMEOUT_S = 86_400.0
_INCOMPLETE_EXIT = 8
_LOCAL = "local"
_REASONS = {
    "off": "excluded",
    "held": "held back until a record says where they were started",
    "metadata": "kept without bytes",
    "pruned": "bytes pruned",
    "under_way": "documents are on their way",
}


@click.command()
@click.argument("session", required=False, metavar="[ID]")
@click.option("--memory", help="The memory; by default the local one.")
@click.option("--dry-run", is_flag=True, help="Say what would change; change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before a server is sent everything anew.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def command(
    session: str | None, memory: str | None, *, dry_run: bool, yes: bool, as_json: bool
) -> int:
    """Derive a memory anew from the vault, of one session or of all.

    Today's policy, parser and extractor decide. Everything can be searched meanwhile. What a remote memory
    has leaves once the new has arrived; the tokens that it will be sent are shown first.
    """
    body = {"session": session, "memory": memory, "dry_run": dry_run}
    if memory not in {None, _LOCAL} and not dry_run and not yes:
        found = client.post(context.paths(), "rebuild", {**body, "dry_run": True}, _TIMEOUT_S)
        confirm(
            "rebuilding a remote memory asks before it sends anything",
            lambda: _say(found, sys.stderr),
            f"Send {number(found['after']['tokens'])} tokens?",
        )
    answer = client.post(context.paths(), "rebuild", body, _TIMEOUT_S)
    if as_json:
        print_json(answer)
    else:
        _say(answer)
    if not answer["complete"]:
        print("not finished: the daemon was stopped; it goes on at its next start", file=sys.stderr)
        return _INCOMPLETE_EXIT
    return 0


def _stale(answer: dict[str, Any]) -> str:
    one, many = ("is", "are") if answer["dry_run"] else ("was", "were")
    count = answer["stale"]
    return f"{number(count) if count else 'none'} {one if count <= 1 else many} stale"


def _say(answer: dict[str, Any], file: Any = None) -> None:
    verb = "would be rebuilt" if answer["dry_run"] else "rebuilt"
    print(f"{counted(answer['sessions'], 'session')} {verb}; {_stale(answer)}", file=file)
    for name in ("records", "retained", "tokens"):
        before, after = answer["before"][name], answer["after"][name]
        print(f"  {name:<9} {number(before)} -> {number(after)}", file=file)
    for reason, count in answer["skipped"].items():
        print(f"  left as they are ({_REASONS.get(reason, reason)}): {number(count)}", file=file)
