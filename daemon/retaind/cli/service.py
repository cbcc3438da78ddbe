"""Whether start, stop, restart and logs go through a service manager, or to a process of our own."""

import os
from typing import TYPE_CHECKING

from retaind.paths import Paths

if TYPE_CHECKING:
    from retaind_service import Manager


def installed_manager(paths: Paths) -> "Manager | None":
    """Return the service manager if it runs the daemon of these paths, else None."""
    import retaind_service

    manager = retaind_service.manager()
    if not manager.installed() or manager.path is None:
        return None
    chosen = os.environ.get("RETAIND_STATE_DIR")
    if chosen and os.fsencode(paths.state_dir) not in manager.path.read_bytes():
        return None  # the service is another daemon, with another state
    return manager
