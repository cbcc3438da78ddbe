"""What the user decided about retention, as frozen values that the configuration hands down."""

from dataclasses import dataclass, field
from typing import Final, Literal

Tools = Literal["none", "summary", "full"]
Format = Literal["text", "json", "jsonl"]
Mode = Literal["full", "metadata", "off"]

RECALL_PREAMBLE: Final = (
    "What follows was said in earlier conversations and may help with this one."
    " Where memories disagree, the newer one holds. Leave aside whatever does not bear on the request."
)
"""What opens the block of memories that an agent is given, unless the user wrote something else."""


@dataclass(frozen=True, slots=True)
class RetainPolicy:
    """What of a conversation is retained, and in which form (specs: configuration keys `retain.*`).

    Every field has the default that works without a configuration file.
    """

    format: Format = "text"
    tools: Tools = "summary"
    roles: tuple[str, ...] = ("user", "assistant")
    min_chars: int = 1
    """A message whose cleaned text is shorter is dropped as `too_short`."""
    context: str = "claude-code"
    tags: tuple[str, ...] = ("{session_id}",)
    metadata: tuple[tuple[str, str], ...] = ()
    harness_wrappers: bool = False
    """True keeps slash-command echoes and local command output as conversation."""
    tool_input_chars: int = 2000
    tool_result_chars: int = 2000
    operational_words: tuple[str, ...] = (
        "recall", "retain", "reflect", "search", "extract",
        "create_", "delete_", "update_", "get_", "list_",
    )  # fmt: skip
    """An MCP tool whose name has one of these at a word's start is not a channel message."""
    redact: bool = True


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Which transcripts leave no byte, or only offsets and counts."""

    paths: tuple[str, ...] = ()
    """Globs against the transcript's whole path; `~` is already expanded."""
    projects: tuple[str, ...] = ()
    """Globs or folders against the session's first cwd."""
    modes: tuple[tuple[str, Mode], ...] = field(default=())
    """Folder → mode, longest folder first."""
