"""`retaind hook`: its help, and what is said to a person who runs it; agents do not come by here."""

import click

from retaind.cli.event import EVENTS, handle


@click.command()
@click.argument("event", type=click.Choice(EVENTS))
def command(event: str) -> int:
    """Take a coding agent's event as JSON on standard input.

    `retaind hooks install` has Claude Code run it. At UserPromptSubmit it prints what is remembered for
    the prompt. It ends with 0 always, and says nothing when the daemon is down.
    """
    return handle([event])
