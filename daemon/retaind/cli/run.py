"""`retaind run`: the daemon in the foreground."""

import click

from retaind.cli.foreground import run_daemon


@click.command()
def command() -> int:
    """Run the daemon in the foreground, until Ctrl-C or SIGTERM.

    Exits with 78 when the configuration is malformed, and with 75 when a daemon runs already.
    """
    return run_daemon()
