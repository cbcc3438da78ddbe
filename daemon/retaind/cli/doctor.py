"""`retaind doctor`: check everything, with a fix for what is wrong."""

import click

from retaind.cli import context
from retaind.cli.checks import all_checks
from retaind.cli.output import paint, print_json

_COLOR_OF = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the checks as JSON.")
def command(*, as_json: bool) -> int:
    """Check the installation, the state, the daemon and the folders it watches. Changes nothing.

    Exit 1 if any check fails.
    """
    found = []
    for check in all_checks(context.paths()):
        found.append(check)
        if not as_json:
            print(
                f"{paint(check.state.ljust(4), _COLOR_OF[check.state])}  {check.name}: {check.detail}"
            )
            if check.fix:
                print(f"      fix: {check.fix}")
    if as_json:
        print_json({"checks": [check._asdict() for check in found]})
    return 1 if any(check.state == "fail" for check in found) else 0
