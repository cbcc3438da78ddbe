"""What the daemon can be asked through its control socket, and the shapes of the questions."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Protocol

import msgspec

from retaind.memory.port import Filters
from retaind.runtime.events import Events

Facts = Mapping[str, object]


class FlushRequest(msgspec.Struct, frozen=True):
    """Capture now, and wait until the named memories have it; none named is the local one."""

    session: str | None = None
    memories: tuple[str, ...] = ()
    timeout_s: Annotated[float, msgspec.Meta(ge=0, le=86_400)] = 60.0


class RetainRequest(msgspec.Struct, frozen=True):
    """A text of the user's own for a memory; `append` adds to a document of that id."""

    content: str
    document_id: str
    memory: str | None = None
    context: str = ""
    tags: tuple[str, ...] = ()
    append: bool = False


class RecallRequest(msgspec.Struct, frozen=True):
    """A prompt, and the session whose last turns put it in context; None is the setting's default."""

    prompt: str
    session_id: str | None = None
    turns: int | None = None
    max_tokens: int | None = None
    memory: str | None = None
    cwd: str | None = None
    parent_id: str | None = None
    """The session that the asking one was forked from, where that is not in its transcript yet."""


class HintRequest(msgspec.Struct, frozen=True):
    """An agent's event: where to look. `source` says how a session starts."""

    path: str | None = None
    agent_path: str | None = None
    session_id: str | None = None
    event: str | None = None
    cwd: str | None = None
    source: str | None = None


class PromptRequest(msgspec.Struct, frozen=True):
    """A prompt as a hook tells of it. After `until`, by the machine's monotonic clock, nobody waits."""

    prompt: str
    session_id: str | None = None
    prompt_id: str | None = None
    path: str | None = None
    cwd: str | None = None
    until: float | None = None


class RetryRequest(msgspec.Struct, frozen=True):
    """Deliver again what was set aside: the deliveries named, or all."""

    deliveries: tuple[int, ...] = ()


class BackfillRequest(msgspec.Struct, frozen=True):
    """Retain what was said before a memory was set up: of a session, or of all."""

    session: str | None = None


class ForgetRequest(msgspec.Struct, frozen=True):
    """Erase a session, or all of a project's folder and those to come; `only` keeps copies of it."""

    session: str | None = None
    project: str | None = None
    only: bool = False
    dry_run: bool = False


class RebuildRequest(msgspec.Struct, frozen=True):
    """Derive a memory anew from the vault, of one session or of all."""

    session: str | None = None
    memory: str | None = None
    dry_run: bool = False


class Controls(Protocol):
    """What the daemon can be asked. Each answer is ready to be written as JSON.

    Methods raise RetaindError; it becomes an error answer that keeps what, why and fix.
    """

    @property
    def events(self) -> Events:
        """Every RetainResult, and other things worth telling."""
        ...

    async def status(self) -> Facts:
        """Answer as `status --json`."""
        ...

    async def health(self) -> Facts:
        """Answer at least `ok`; False becomes status 503."""
        ...

    async def metrics(self) -> str:
        """Answer Prometheus text."""
        ...

    async def sessions(self) -> Sequence[Facts]:
        """Answer as `sessions --json`."""
        ...

    async def session(self, name: str) -> Facts:
        """Answer one row of `sessions`, by id or session id."""
        ...

    async def search(self, query: str, limit: int, filters: Filters) -> Facts:
        """Answer as `search --json`."""
        ...

    async def flush(self, target: str | None, memories: Sequence[str], timeout_s: float) -> Facts:
        """Capture and retain now; `complete` says whether all of it was done in time."""
        ...

    async def reload(self) -> Facts:
        """Read the configuration again."""
        ...

    async def retain(self, request: RetainRequest) -> Facts:
        """Hand a text to a memory; answers the RetainResult."""
        ...

    async def recall(self, request: RecallRequest) -> Facts:
        """Answer as `recall --json`."""
        ...

    async def forget(self, request: ForgetRequest) -> Facts:
        """Erase everywhere, or say what would be erased."""
        ...

    async def rebuild(self, request: RebuildRequest) -> Facts:
        """Derive a memory anew, or say what would change."""
        ...

    async def hint(self, request: HintRequest) -> Facts:
        """Look where an agent's event says that something was written."""
        ...

    async def prompt(self, request: PromptRequest) -> Facts:
        """Answer `block`: what an agent is given unasked for a prompt, or ""."""
        ...

    async def retry(self, request: RetryRequest) -> Facts:
        """Deliver again what was set aside; answers how many documents that is."""
        ...

    async def backfill(self, request: BackfillRequest) -> Facts:
        """Retain what was said before a memory was set up; answers how many sessions that is."""
        ...
