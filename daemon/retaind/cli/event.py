"""What runs inside a coding agent at its events: `retaind hook EVENT`, without the parser of arguments.

It tells the daemon where to look, and at a prompt it fetches what is remembered. It holds the agent up
for no longer than a deadline, ends with 0 whatever happens, and is silent when there is nothing to say.
Nothing that is kept depends on it: an agent without hooks loses nothing.
"""

import json
import os
import select
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from retaind.cli import client
from retaind.paths import Paths, find_paths

EVENTS: Final = (
    "SessionStart", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact", "SessionEnd",
)  # fmt: skip
PROMPT: Final = "UserPromptSubmit"

DEADLINE_MS: Final = 800
"""The default of recall.deadline_ms; a test holds the two equal."""
_SHORTEST_MS, _LONGEST_MS = 10, 8000
_PROCESS_MS: Final = 100
"""The deadline is the agent's: starting and ending this process is part of it."""
_DEADLINE_KEY: Final = "deadline_ms"
_OFF_SWITCHES: Final = ("RETAIND_DISABLE", "HINDSIGHT_DISABLE_HOOKS")
_FALSE: Final = frozenset({"", "0", "false", "no", "off"})
_NUDGE_S: Final = 0.25
_INPUT_S: Final = 2.0
_INPUT_BYTES: Final = 16 << 20
_PIECE_BYTES: Final = 1 << 16
_PROMPT_CHARS: Final = 20_000
"""Of a longer prompt, the rest would not fit into a question anyway."""


def handle(arguments: Sequence[str]) -> int:
    """Do what one event asks for; returns 0, always."""
    with suppress(BaseException):  # whatever it is, the agent's turn matters more
        if len(arguments) == 1 and arguments[0] in EVENTS and not is_disabled(os.environ):
            _handle(arguments[0], time.monotonic())
    return 0


def is_disabled(environ: Mapping[str, str]) -> bool:
    """Whether the user, or a program that starts agents of its own, switched the hooks off."""
    return any(environ.get(name, "").strip().lower() not in _FALSE for name in _OFF_SWITCHES)


def _handle(event: str, started: float) -> None:
    paths = find_paths(os.environ)
    given = _payload(started + _INPUT_S)
    if event != PROMPT:
        client.post(paths, "hint", _hint(event, given), _NUDGE_S)
        return
    deadline_ms = _deadline_ms(paths, os.environ)
    until = started + max(deadline_ms - _PROCESS_MS, deadline_ms / 2) / 1000
    prompt = _text(given, "prompt") or _text(given, "user_prompt")
    if not prompt:
        return
    asked = _hint(event, given) | {
        "prompt": prompt[:_PROMPT_CHARS],
        "prompt_id": _text(given, "prompt_id"),
        "until": until,
    }
    answer = client.post(paths, "prompt", asked, until - time.monotonic())
    if answer["block"]:
        _say(answer["block"])


def _payload(until: float) -> dict[str, Any]:
    """Return what the agent wrote on standard input; {} if it is not an object, or not there in time."""
    pieces: list[bytes] = []
    while sum(map(len, pieces)) < _INPUT_BYTES:
        if not select.select([0], [], [], max(until - time.monotonic(), 0))[0]:
            return {}
        piece = os.read(0, _PIECE_BYTES)
        if not piece:
            break
        pieces.append(piece)
    given = json.loads(b"".join(pieces))
    return given if isinstance(given, dict) else {}


def _hint(event: str, given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "event": event,
        "path": _text(given, "transcript_path"),
        "agent_path": _text(given, "agent_transcript_path"),
        "session_id": _text(given, "session_id"),
        "cwd": _text(given, "cwd"),
        "source": _text(given, "source"),
    }


def _text(given: Mapping[str, Any], name: str) -> str | None:
    value = given.get(name)
    # Half a surrogate pair is valid JSON, but no text that can be sent.
    return value.encode(errors="replace").decode() if isinstance(value, str) else None


def _say(block: str) -> None:
    output = {"hookSpecificOutput": {"hookEventName": PROMPT, "additionalContext": block}}
    sys.stdout.write(json.dumps(output) + "\n")
    sys.stdout.flush()


def _deadline_ms(paths: Paths, environ: Mapping[str, str]) -> float:
    """Return recall.deadline_ms. The settings are not loaded for it: that takes longer than an answer."""
    value: object = environ.get("RETAIND_RECALL_DEADLINE_MS") or _from_file(paths)
    try:
        found = float(value) if isinstance(value, str | int | float) else DEADLINE_MS
    except ValueError:
        return DEADLINE_MS
    return found if _SHORTEST_MS <= found <= _LONGEST_MS else DEADLINE_MS


def _from_file(paths: Paths) -> object:
    try:
        source = paths.config_file.read_text(encoding="utf-8")
    except OSError:
        return None
    if _DEADLINE_KEY not in source:
        return None
    import tomllib

    try:
        return tomllib.loads(source)["recall"][_DEADLINE_KEY]
    except (ValueError, KeyError, TypeError):
        return None
