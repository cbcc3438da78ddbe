"""Named points at which a test may kill the process, to prove that dying there loses nothing.

`RETAIND_FAILPOINT=name` kills at the first time the point is reached, `name:3` at the third.
Without the variable a point costs one dictionary look-up.
"""

import os
import signal
from typing import Final

_ARMED: Final = os.environ.get("RETAIND_FAILPOINT", "")
_NAME, _, _NTH = _ARMED.partition(":")
_reached = 0


def reach(name: str) -> None:
    """Die by SIGKILL if the point `name` is armed and this is the time that was asked for."""
    global _reached  # noqa: PLW0603 (a process has one life: the count belongs to it)
    if name != _NAME:
        return
    _reached += 1
    if _reached == int(_NTH or 1):
        os.kill(os.getpid(), signal.SIGKILL)
