"""What a path below Claude Code's folder is, told by its name alone.

Only names are looked at; what a folder's name encodes is never decoded, because the encoding collides.
"""

import re
from typing import Final

from retaind.hosts.port import Place

HISTORY: Final = b"history.jsonl"
JOURNAL: Final = b"journal.jsonl"

# A session whose history was reset lives on under its old name; it stays the same session.
_TRANSCRIPT: Final = re.compile(rb"([^.].*)\.jsonl(?:\.reset\.[0-9TZ:.+_-]+)?", re.DOTALL)
_AGENT: Final = b"agent-"
_AGENT_META: Final = re.compile(rb"agent-.+\.meta\.json", re.DOTALL)
_LEFTOVER: Final = re.compile(rb"\..*|.*(?:~|#|\.(?:bak|tmp|swp|swo|swx|orig|part))", re.DOTALL)


def place(relative: bytes) -> Place | None:
    """Say what the path is; None where it is nothing to keep. See `Host.place`."""
    if relative == HISTORY:
        return Place("attachment", "history")
    match relative.split(b"/"):
        case [b"projects", project, name] if project:
            return _beside(name)
        case [b"projects", project, session, b"subagents", *_, name] if project and session:
            return _of_subagents(_text(session), relative, name)
        case [b"projects", project, session, b"tool-results", *_, name] if project and session:
            if name and not _LEFTOVER.fullmatch(name):
                return Place("attachment", _below_session(relative), _text(session))
    return None


def _beside(name: bytes) -> Place | None:
    """Read a name directly in a project's folder."""
    if _AGENT_META.fullmatch(name):
        return Place("attachment", _text(name))
    transcript = _TRANSCRIPT.fullmatch(name)
    if transcript is None:
        return None
    if name.startswith(_AGENT):
        # Which session an agent in the flat layout worked for stands only in its records.
        return Place("subagent", _text(transcript[1]))
    return Place("session", _text(transcript[1]))


def _of_subagents(session: str, relative: bytes, name: bytes) -> Place | None:
    """Read a name somewhere below a session's folder of sub-agents."""
    if name == JOURNAL or _AGENT_META.fullmatch(name):
        return Place("attachment", _below_session(relative), session)
    transcript = _TRANSCRIPT.fullmatch(name)
    if transcript is None:
        return None
    return Place("subagent", _text(transcript[1]), session)


def _below_session(relative: bytes) -> str:
    """Return what follows the session's folder: within the session, a name of its own."""
    return _text(relative.split(b"/", 3)[3])


def _text(name: bytes) -> str:
    r"""Return a name as text that can be stored; bytes that are not UTF-8 become \xNN."""
    return name.decode("utf-8", "backslashreplace")
