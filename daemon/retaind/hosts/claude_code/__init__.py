"""Claude Code: the host whose sessions are JSON lines below `~/.claude/projects`."""

from typing import Final

from retaind.core.records import Record
from retaind.hosts.claude_code import origin, parsing, places
from retaind.hosts.port import Peek, Place

CONFIG_DIR_VARIABLE: Final = "CLAUDE_CONFIG_DIR"
"""The environment variable that names the folder, where it is set."""

CONFIG_DIRS: Final = (".claude", ".claude-*", ".config/claude")
"""Names and globs below a home folder; each that holds `PROJECTS_DIR` is a root."""

PROJECTS_DIR: Final = "projects"


class ClaudeCode:
    """The host, as `retaind.hosts.port.Host` has it. Roots are folders such as `~/.claude`."""

    name: Final = "claude_code"
    parser_version: Final = 1
    folders: Final = (PROJECTS_DIR.encode(),)

    def place(self, relative: bytes) -> Place | None:
        """Say what a path relative to a root is; None: nothing to keep."""
        return places.place(relative)

    def parse(self, start: int, line: bytes) -> tuple[Record, ...]:
        """Read one line without its newline. The last record ends after that newline."""
        return parsing.parse(start, line)

    def peek(self, head: bytes) -> Peek:
        """Look at the first bytes of a stream (at most 64 KiB)."""
        return origin.peek(head)
