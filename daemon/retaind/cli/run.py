"""`retaind run`: the daemon in the foreground."""

import os

import click

from retaind.cli import context


@click.command()
def command() -> int:
    """Run the daemon in the foreground, until Ctrl-C or SIGTERM.

    Exits with 78 when the configuration is malformed, and with 75 when a daemon runs already.
    """
    os.umask(0o077)
    paths, settings = context.paths(), context.settings()
    from retaind.runtime.daemon import main

    return main(settings, paths)
