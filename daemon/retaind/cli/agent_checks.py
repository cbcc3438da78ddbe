"""What `doctor` looks at in Claude Code's own settings: our hooks, and another memory beside us."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from retaind.cli import agent_hooks, agent_settings
from retaind.cli.check import Check
from retaind.cli.output import short_path
from retaind.cli.plugin_settings import PLUGIN, find
from retaind.errors import RetaindError

_INSTALL: Final = "retaind hooks install"
_MIGRATE: Final = "retaind migrate hindsight-plugin"


def agent_checks(roots: Sequence[Path], *, sends_to_hindsight: bool) -> Iterator[Check]:
    """Look at the settings of each of Claude Code's folders."""
    plugged = False
    for root in roots:
        if not root.is_dir():
            continue
        name = short_path(str(root / agent_settings.FILE_NAME))
        try:
            settings = agent_settings.read(root)
        except RetaindError as error:
            yield Check("hooks", "warn", str(error.what), error.fix)
            continue
        yield _hooks(name, agent_hooks.look(settings).state)
        if is_plugged(settings):
            plugged = True
            if sends_to_hindsight:
                yield Check(
                    "hindsight plugin",
                    "warn",
                    f"{name} runs it, and memory.hindsight.url is set: both retain the same sessions",
                    f"claude plugin disable {PLUGIN}",
                )
    home = Path(os.path.expanduser("~"))
    if not sends_to_hindsight and (plugged or find(home, roots, os.environ) is not None):
        yield Check(
            "hindsight plugin", "ok", f"its settings are not used here; {_MIGRATE} takes them over"
        )


def is_plugged(settings: Mapping[str, Any]) -> bool:
    """Whether these settings run the Hindsight plugin, as a plugin or by hooks of their own."""
    plugins = settings.get("enabledPlugins")
    if isinstance(plugins, dict) and any(
        name.partition("@")[0] == PLUGIN and on for name, on in plugins.items()
    ):
        return True
    return any(
        "hindsight" in str(entry.get("command"))
        for groups in agent_settings.hooks_of(settings).values()
        for group in groups
        if isinstance(group, dict) and isinstance(group.get("hooks"), list)
        for entry in group["hooks"]
        if isinstance(entry, dict)
    )


def _hooks(name: str, state: agent_hooks.State) -> Check:
    if state == "none":
        return Check(
            "hooks", "ok", f"none in {name}; with them agents are given memories: {_INSTALL}"
        )
    if state == "installed":
        return Check("hooks", "ok", f"installed in {name}")
    return Check("hooks", "warn", f"{state} in {name}", _INSTALL)
