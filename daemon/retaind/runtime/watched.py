"""The roots that the running daemon watches: found, configured, and reported by hooks."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from retaind.hosts.claude_code import ClaudeCode
from retaind.runtime.reported import ReportedRoots
from retaind.runtime.roots import claude_roots
from retaind.runtime.scan import Root, watch_paths


class Roots:
    """The roots as they are now: looked up anew for each scan, because folders come and go."""

    def __init__(self, configured: Sequence[str], reported: ReportedRoots) -> None:
        self.configured = tuple(configured)
        self._reported = reported
        self._host = ClaudeCode()

    def __call__(self) -> Sequence[Root]:
        """Return them."""
        home = Path(os.path.expanduser("~"))
        found = claude_roots(home, os.environ, self.configured, self._reported.folders)
        return [Root(self._host, os.fsencode(path)) for path in found]

    def folders(self) -> Iterator[bytes]:
        """Yield the folders in which new bytes may appear, whether or not they exist yet."""
        for root in self():
            yield from watch_paths(root)
