"""The port between the runtime and a host: where its transcripts are, and how a line becomes records."""

from dataclasses import dataclass
from typing import Literal, Protocol

from retaind.core.records import Record

Kind = Literal["session", "subagent", "attachment"]


@dataclass(frozen=True, slots=True)
class Place:
    """What a path below a root is. `owner_session` names the session of a sub-agent or attachment."""

    kind: Kind
    session_id: str
    owner_session: str | None = None


@dataclass(frozen=True, slots=True)
class Peek:
    """What the first bytes of a stream tell before any byte of it is stored.

    `decided` is False while a later byte could still name the cwd or the origin. `session_id` is the
    session that the records name: of a sub-agent's the one that it worked for, of a fork's perhaps
    the one that it was copied from.
    """

    cwd: str | None
    memory_tool: bool
    decided: bool
    session_id: str | None = None


class Host(Protocol):
    """One coding agent. Every method is a pure function of its arguments."""

    @property
    def name(self) -> str:
        """The name in rows and filters, such as `claude_code`."""
        ...

    @property
    def folders(self) -> tuple[bytes, ...]:
        """The folders of a root below which transcripts lie, such as `projects`."""
        ...

    @property
    def parser_version(self) -> int:
        """Rises whenever `parse` would give other records for the same bytes."""
        ...

    def place(self, relative: bytes) -> Place | None:
        """Say what a path, relative to a root and with `/` between folders, is; None: not ours."""
        ...

    def parse(self, start: int, line: bytes) -> tuple[Record, ...]:
        """Read one line without its newline. Never raises; what cannot be read is a CORRUPT record.

        The records' ranges lie in [start, start + len(line) + 1), in order, without a gap or overlap.
        """
        ...

    def peek(self, head: bytes) -> Peek:
        """Look at the first bytes of a stream (at most 64 KiB)."""
        ...
