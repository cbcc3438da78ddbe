"""`retaind restart`: stop and start."""

import click

from retaind.cli import context, detached
from retaind.cli.service import installed_manager


@click.command()
def command() -> None:
    """Stop the daemon if it runs, and start it with the configuration as it is now."""
    paths = context.paths()
    context.settings()
    manager = installed_manager(paths)
    if manager is not None:
        manager.restart()
        print(f"retaind runs (a service of {manager.kind})")
        return
    detached.stop(paths)
    print(f"retaind runs (process {detached.start(paths).pid})")
