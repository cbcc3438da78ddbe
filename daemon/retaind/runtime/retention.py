"""What retention into one memory is made of: the user's decisions, and how the memory takes documents."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from retaind.core.cadence import Cadence
from retaind.core.plan import Draft, Limits
from retaind.core.policy import RetainPolicy
from retaind.core.render import Rendered
from retaind.db import Connection
from retaind.hosts.port import Host
from retaind.memory.port import Item, RetainResult
from retaind.runtime import cursors
from retaind.runtime.coverage import Range

ProjectOf = Callable[[str], str | None]
RetainIn = Callable[[Connection, Sequence[Item], str], RetainResult]
"""The memory's part of the transaction: takes items, and the id of the execution."""


class Stream(NamedTuple):
    """What a window needs to know of its stream."""

    host: str
    session_id: str
    public_id: str
    kind: str
    mode: str
    n: int
    project: str | None
    cwd: str | None
    stream_id: int


class Outbox(Protocol):
    """What a memory that completes documents later has to do with a window."""

    @property
    def cadence(self) -> Cadence | None:
        """How turns are grouped; None retains sessions as they come."""

    def put(
        self,
        connection: Connection,
        stream: Stream,
        generation_id: int,
        documents: Sequence[tuple[Draft, Rendered]],
    ) -> None:
        """Store documents that are to be delivered."""

    def covered(self, generation_id: int) -> Sequence[Range]:
        """Return the bytes of a generation that the memory has, although nothing here says so."""


@dataclass(frozen=True, slots=True)
class Retention:
    """What the user decided, and the parts that retention is made of."""

    memory: str
    hosts: Mapping[str, Host]
    policy: RetainPolicy
    limits: Limits
    project_of: ProjectOf
    user_id: str = ""
    """What `{user_id}` stands for in tags and metadata."""
    retain_in: RetainIn | None = None
    """Takes documents at once."""
    outbox: Outbox | None = None
    """Takes them on their way; one of the two is there."""
    moved: Callable[[Connection, str, int, int], None] | None = None
    """Is told, in the same transaction, the stream, generation and offset that a window has reached."""

    def covered(self, generation_id: int) -> Sequence[Range]:
        """Return the bytes that the memory turned out to have."""
        return () if self.outbox is None else self.outbox.covered(generation_id)

    def stale(self, connection: Connection) -> int:
        """Return how many sessions were retained under another policy, or by another parser."""
        parsers = {name: host.parser_version for name, host in self.hosts.items()}
        return len(cursors.stale(connection, self.memory, self.policy_hash, parsers))

    @property
    def policy_hash(self) -> str:
        """Names the policy that a cursor ran under."""
        return hashlib.sha256(repr(self.policy).encode()).hexdigest()[:12]
