"""The daemon in the foreground, without the parser of arguments: it would hold a megabyte for good."""

import os
import signal

from retaind.cli import context


def run_daemon() -> int:
    """Run the daemon until it is asked to stop; returns its exit code. Raises RetaindError."""
    os.umask(0o077)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # before it is ready there is nothing to reload
    paths, settings = context.paths(), context.settings()
    from retaind.runtime.daemon import main

    return main(settings, paths)
