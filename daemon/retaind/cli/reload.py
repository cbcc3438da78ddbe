"""`retaind reload`: read the configuration again."""

import click

from retaind.cli import client, context
from retaind.cli.output import print_json


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def command(*, as_json: bool) -> None:
    """Have the daemon read its configuration again, and say what changed."""
    context.settings()
    answer = client.post(context.paths(), "reload", {}, timeout_s=30.0)
    if as_json:
        print_json(answer)
        return
    changed = ", ".join(answer.get("changed", ())) or "nothing"
    print(f"reloaded; changed: {changed}")
    if later := answer.get("after_restart"):
        print(f"in force after `retaind restart`: {', '.join(later)}")
