"""`retaind start`: the daemon in the background."""

import click

from retaind.cli import context, detached
from retaind.cli.service import installed_manager


@click.command()
def command() -> None:
    """Start the daemon, and wait until it answers; nothing happens if it runs.

    Through systemd or launchd where the service is installed, else as a process of its own.
    """
    paths = context.paths()
    context.settings()  # a malformed configuration is told here, not in a log
    manager = installed_manager(paths)
    if manager is not None:
        manager.start()
        print(f"retaind runs (a service of {manager.kind})")
        return
    started = detached.start(paths)
    print(f"retaind {'runs already' if started.already else 'runs'} (process {started.pid})")
