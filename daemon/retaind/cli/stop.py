"""`retaind stop`: end the daemon in order."""

import click

from retaind.cli import context, detached
from retaind.cli.service import installed_manager


@click.command()
def command() -> None:
    """Stop the daemon, and wait until it is gone; nothing happens if it does not run.

    Whatever was captured stays safe, and retention goes on at the next start.
    """
    paths = context.paths()
    manager = installed_manager(paths)
    if manager is not None:
        manager.stop()
    stopped = detached.stop(paths)
    was_running = manager is not None or stopped is not None
    print("retaind is stopped" if was_running else "retaind is not running")
