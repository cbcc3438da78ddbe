"""Every setting, as frozen values. Each default is the one that works with no configuration file.

Seconds are `*_s`. A setting's key in the file is its section and name, as `watch.scan_interval_s`;
the sections `local` and `hindsight` are written `memory.local` and `memory.hindsight`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from retaind.core.policy import RECALL_PREAMBLE, Exclusion, RetainPolicy

Role = Literal["user", "assistant"]
MemoryName = Literal["local", "hindsight"]
LogLevel = Literal["debug", "info", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Watch:
    """How changes are noticed. `scan` does without the system's watcher."""

    mode: Literal["auto", "scan"] = "auto"
    scan_interval_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Vault:
    """How long exact bytes are kept: for ever, a number of days, or until every memory has them."""

    keep: Literal["forever", "retained"] | int = "forever"


@dataclass(frozen=True, slots=True)
class Roots:
    """Folders to watch in addition to those that are found; absolute paths."""

    claude_code: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Metering:
    """The unit in which content is counted: UTF-8 bytes / 4 rounded up, or exact cl100k tokens."""

    tokenizer: Literal["bytes/4", "cl100k"] = "bytes/4"


@dataclass(frozen=True, slots=True)
class Llm:
    """The OpenAI-compatible endpoint that the `llm` extractor of the local memory asks."""

    base_url: str = ""
    model: str = ""
    api_key_env: str = ""
    """Name of the environment variable that holds the key."""
    api_key_file: str = ""
    concurrency: int = 2
    timeout_s: float = 120.0


@dataclass(frozen=True, slots=True)
class Local:
    """The local memory. A session is retained once idle, and is at most `max_behind_s` behind."""

    enabled: bool = True
    idle_s: float = 2.0
    max_behind_s: float = 30.0
    chunk_chars: int = 1000
    batch_tokens: int = 10_000
    extractor: Literal["index", "llm"] = "index"
    llm: Llm = field(default_factory=Llm)


@dataclass(frozen=True, slots=True)
class Hindsight:
    """The Hindsight server. It is used if, and only if, `url` is set."""

    url: str = ""
    token: str = field(default="", repr=False)
    token_file: str = ""
    bank: str = ""
    """A fixed bank; stands before all of `bank.*`."""
    mode: Literal["session", "chunked"] = "session"
    every_n_turns: int = 10
    overlap_turns: int = 2
    idle_s: float = 120.0
    max_behind_s: float = 900.0
    max_behind_tokens: int = 8000
    max_parallel: int = 10
    poll_s: float = 2.0
    backfill: Literal["none", "all"] | int = "none"
    """What happened before the server was configured: nothing, all, or the last so many days."""
    request_timeout_s: float = 30.0

    @property
    def enabled(self) -> bool:
        """True if the user named a server."""
        return bool(self.url)


@dataclass(frozen=True, slots=True)
class Bank:
    """Which of the server's banks a session belongs to; decided once per session."""

    id: str = "claude_code"
    id_prefix: str = ""
    dynamic: bool = False
    granularity: tuple[str, ...] = ("agent", "project")
    directory_map: tuple[tuple[str, str], ...] = ()
    """Folder → bank, longest folder first; a folder stands for all below it."""
    resolve_worktrees: bool = True
    agent_name: str = "claude-code"
    channel: str = "default"
    user: str = "anonymous"
    mission: str = ""
    retain_mission: str = ""


@dataclass(frozen=True, slots=True)
class Recall:
    """What is asked of a memory, and how much of the answer is given to the agent."""

    auto: bool = True
    """Whether an agent whose hooks are installed is given memories unasked, at its prompts."""
    deadline_ms: float = 800.0
    """What is not remembered by then is not given; the agent never waits longer."""
    min_prompt_chars: int = 5
    """To a shorter prompt nothing is given unasked."""
    floor: float = 0.3
    """The share of a prompt's weight, in its rarest words, that a memory must have; 1 is all of it."""
    own_session: bool = False
    """Whether an asking session is reminded of itself, its fork ancestors and sub-agents, too."""
    project_first: bool = True
    memory: MemoryName = "local"
    context_turns: int = 1
    max_query_chars: int = 800
    """0 or less is no limit."""
    max_tokens: int = 1024
    """Bounds the whole block, counted as characters / 4."""
    roles: tuple[Role, ...] = ("user", "assistant")
    preamble: str = RECALL_PREAMBLE
    budget: Literal["low", "mid", "high"] = "mid"
    types: tuple[str, ...] = ("observation",)
    tags: tuple[str, ...] = ()
    tags_match: Literal["any", "all", "any_strict", "all_strict"] = "any"
    tag_groups: object = None
    """Handed to the server as it is."""
    additional_banks: tuple[str, ...] = ()
    additional_bank_filters: Mapping[str, object] = field(default_factory=dict)
    min_scores: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Hooks:
    """Commands of the user's. `post_retain` gets one RetainResult as JSON on its standard input."""

    post_retain: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Log:
    """How much is logged."""

    level: LogLevel = "info"


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings in force. `origins` gives for each key `default`, FILE:LINE or a variable."""

    watch: Watch = field(default_factory=Watch)
    vault: Vault = field(default_factory=Vault)
    roots: Roots = field(default_factory=Roots)
    exclusion: Exclusion = field(default_factory=Exclusion)
    retain: RetainPolicy = field(default_factory=RetainPolicy)
    metering: Metering = field(default_factory=Metering)
    local: Local = field(default_factory=Local)
    hindsight: Hindsight = field(default_factory=Hindsight)
    bank: Bank = field(default_factory=Bank)
    recall: Recall = field(default_factory=Recall)
    hooks: Hooks = field(default_factory=Hooks)
    log: Log = field(default_factory=Log)
    origins: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
