"""Which hooks retaind has in Claude Code's settings: what they say, and which ones are ours."""

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from retaind.cli.agent_settings import Json, hooks_of
from retaind.cli.event import EVENTS, PROMPT

WAITED_FOR: Final = frozenset({"SessionStart", PROMPT})
"""The host waits for these: what a prompt is given must be there before it, and so must a fork's parent."""
_TIMEOUT_S: Final = 10
_VERSIONS, _CURRENT = "versions", "current"
_RUN: Final = ("-I", "-m", "retaind", "hook")

State = Literal["installed", "outdated", "partly", "none"]


class Found(NamedTuple):
    """What is installed: how it is, and the commands as they stand there, by event."""

    state: State
    commands: Mapping[str, str]


def command(event: str) -> str:
    """Return the shell command of an event: by absolute path, whatever PATH or folder the agent has."""
    return shlex.join([str(_python()), *_RUN, event])


def installed(settings: Json) -> Json:
    """Return the settings with our hooks, each once, and everything else where it was."""
    if look(settings).state == "installed":
        return settings
    found = removed(settings)
    hooks = dict(found.get("hooks", {}))
    for event in EVENTS:
        hooks[event] = [*hooks.get(event, []), {"hooks": [_entry(event)]}]
    return {**found, "hooks": hooks}


def removed(settings: Json) -> Json:
    """Return the settings without our hooks, and without what only they made necessary."""
    if not _ours(settings):
        return settings
    hooks = dict(settings["hooks"])
    for event, groups in hooks_of(settings).items():
        left = [_without_ours(group) for group in groups]
        kept = [group for group in left if group is not None]
        if kept:
            hooks[event] = kept
        elif groups:
            del hooks[event]
    if hooks:
        return {**settings, "hooks": hooks}
    return {name: value for name, value in settings.items() if name != "hooks"}


def look(settings: Mapping[str, Any]) -> Found:
    """Say which of our hooks are there, and whether they are as `installed` would write them."""
    entries = _ours(settings)
    commands = {event: str(entry["command"]) for event, entry in entries}
    wanted = [(event, _entry(event)) for event in EVENTS]
    if sorted(entries, key=_by_event) == sorted(wanted, key=_by_event):
        return Found("installed", commands)
    if not entries:
        return Found("none", {})
    return Found("outdated" if set(commands) == set(EVENTS) else "partly", commands)


def _by_event(one: tuple[str, Mapping[str, Any]]) -> str:
    return one[0]


def _entry(event: str) -> Json:
    entry: Json = {"type": "command", "command": command(event), "timeout": _TIMEOUT_S}
    return entry if event in WAITED_FOR else {**entry, "async": True}


def _ours(settings: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    return [
        (event, entry)
        for event, groups in hooks_of(settings).items()
        for group in groups
        if isinstance(group, dict) and isinstance(group.get("hooks"), list)
        for entry in group["hooks"]
        if is_ours(entry)
    ]


def is_ours(entry: object) -> bool:
    """Whether a hook is one that retaind writes: an interpreter, -I -m retaind hook EVENT."""
    if not isinstance(entry, dict) or not isinstance(entry.get("command"), str):
        return False
    try:
        words = shlex.split(entry["command"])
    except ValueError:
        return False
    return len(words) == len(_RUN) + 2 and tuple(words[1:-1]) == _RUN and words[-1] in EVENTS


def _without_ours(group: Any) -> Any:
    """Return a group of hooks without ours; None if nothing is left of it."""
    if not isinstance(group, dict) or not isinstance(group.get("hooks"), list):
        return group
    left = [entry for entry in group["hooks"] if not is_ours(entry)]
    if len(left) == len(group["hooks"]):
        return group
    return {**group, "hooks": left} if left else None


def _python() -> Path:
    """Return the interpreter that stays: of the installation's `current` link, or the one that runs this."""
    prefix = Path(sys.prefix)
    link = prefix.parent.parent / _CURRENT
    if prefix.parent.name == _VERSIONS and os.path.realpath(link) == os.path.realpath(prefix):
        return link / "bin" / "python"
    return Path(sys.executable)
