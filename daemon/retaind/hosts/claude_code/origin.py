"""Where a session was started, and whether a memory tool started it, from its first bytes.

A memory tool that lets the agent summarise or observe leaves transcripts of its own, and whatever reads
them feeds on itself. Such a session is known by the folder it runs in, which is the tool's own data, or
by the fixed words with which the tool opens it; those count only where no person sat at the terminal.
The environment that such tools set for their agent leaves no trace in a transcript.
"""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from retaind.core.lines import frame
from retaind.core.records import Fate, Record, lenient_value, storable
from retaind.hosts.claude_code.parsing import parse
from retaind.hosts.port import Peek

_DATA_FOLDERS: Final = (
    "/.hindsight/",
    "/.claude-mem/",
    "/.episodic-memory/",
    "/.local/share/hindsight/",
    "/.local/share/claude-mem/",
    "/.local/share/episodic-memory/",
    "/superpowers/conversation-archive/",
)
_OPENINGS: Final = (
    "You are a Claude-Mem, a specialized observer tool",
    "Hello memory agent, you are continuing to observe",
    "Context: This summary will be shown in a list to help users and Claude choose",
    "You are performing a one-time structural survey of THIS repository to seed its Hindsight",
)
# In bytes, so that it also serves a first line that is longer than what is looked at. Inside a string
# the quotes would be escaped.
_INTERACTIVE: Final = re.compile(rb'"entrypoint": ?"cli"')
_CWD: Final = re.compile(rb'"cwd": ?("(?:[^"\\]|\\.)*+")')
_SESSION: Final = re.compile(rb'"sessionId": ?("(?:[^"\\]|\\.)*+")')
_OPENING: Final = re.compile(
    rb'"(?:content|text)": ?"(?:' + b"|".join(re.escape(text.encode()) for text in _OPENINGS) + b")"
)


class _Named(msgspec.Struct, gc=False, rename="camel"):
    """The session that a line names."""

    session_id: str | None = None


_decode_named = msgspec.json.Decoder(_Named).decode


def peek(head: bytes) -> Peek:
    """Look at the first bytes of a stream; see `Host.peek`."""
    lines, end = frame(head, 0)
    cwd = ""
    opening: str | None = None
    for start, line in lines:
        for record in parse(start, line):
            cwd = cwd or record.cwd
            if opening is None and record.fate is Fate.CONVERSATION:
                opening = _opening(record, line)
        if cwd and opening is not None:
            break
    rest = head[end:]
    cwd = storable(cwd or _cut_text(_CWD, rest))
    begun = opening.startswith(_OPENINGS) if opening is not None else _opens_cut(rest)
    memory_tool = begun or any(folder in f"{cwd}/" for folder in _DATA_FOLDERS)
    decided = memory_tool or (cwd != "" and opening is not None)
    session_id = _named_session(line for _, line in lines) or _cut_text(_SESSION, rest)
    return Peek(cwd or None, memory_tool, decided, storable(session_id) or None)


def _named_session(lines: Iterable[bytes]) -> str:
    """Return the first session that a line names, or ""."""
    for line in lines:
        try:
            named = _decode_named(line).session_id
        except (msgspec.DecodeError, RecursionError):
            continue
        if named:
            return named
    return ""


def _opening(record: Record, line: bytes) -> str:
    """Return the text that begins the conversation, if a program may have written it, else ""."""
    if record.role != "user" or _INTERACTIVE.search(line):
        return ""
    if isinstance(record.content, str):
        return record.content.lstrip()
    texts = (block.text for block in record.content if block.type == "text")
    return next(texts, "").lstrip()


def _cut_text(field: re.Pattern[bytes], rest: bytes) -> str:
    """Return a field's text in the part of a line that was looked at, or ""."""
    found = field.search(rest)
    value = lenient_value(found[1]) if found else None
    return value if isinstance(value, str) else ""


def _opens_cut(rest: bytes) -> bool:
    return _INTERACTIVE.search(rest) is None and _OPENING.search(rest) is not None
