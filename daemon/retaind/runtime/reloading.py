"""What a reload of the configuration changes, and which of it waits for a restart."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from retaind.config import Settings
from retaind.config.keys import KEYS, target

AT_ONCE: Final = (
    "exclude.",
    "projects",
    "roots.",
    "recall.",
    "hooks.post_retain",
    "memory.local.idle_s",
    "memory.local.max_behind_s",
    "watch.scan_interval_s",
)
"""How the keys begin that hold from a reload on; all others are read at the start only."""

Adopt = Callable[[Settings], None]
"""Takes over what the running parts need of settings that hold at once."""


def changed_keys(before: Settings, after: Settings) -> list[str]:
    """Return the keys whose values differ."""
    return [key for key in KEYS if _value(before, key) != _value(after, key)]


def after_restart(changed: list[str]) -> list[str]:
    """Return which of the changed keys wait for a restart."""
    return [key for key in changed if not key.startswith(AT_ONCE)]


def in_force(before: Settings, fresh: Settings) -> Settings:
    """Return the settings that hold after a reload: the fresh ones, but the old ones that need a restart."""
    return replace(
        before,
        exclusion=fresh.exclusion,
        roots=fresh.roots,
        recall=fresh.recall,
        hooks=replace(before.hooks, post_retain=fresh.hooks.post_retain),
        watch=replace(before.watch, scan_interval_s=fresh.watch.scan_interval_s),
        local=replace(
            before.local, idle_s=fresh.local.idle_s, max_behind_s=fresh.local.max_behind_s
        ),
        origins=fresh.origins,
    )


def _value(settings: Settings, key: str) -> object:
    value: object = settings
    for name in target(key):
        value = getattr(value, name)
    return value
