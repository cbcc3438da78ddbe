"""The settings of Hindsight's Claude Code plugin, and what they are called here.

Later ones win: the plugin's own settings.json, ~/.hindsight/claude-code.json, the environment.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from retaind.config.keys import KEYS
from retaind.config.rules import TRUE, Unfit

PLUGIN: Final = "hindsight-memory"
_LOCAL_PORT: Final = 9077
_SAME: Final = {
    "autoRecall": "recall.auto",
    "recallBudget": "recall.budget",
    "recallMaxTokens": "recall.max_tokens",
    "recallTypes": "recall.types",
    "recallContextTurns": "recall.context_turns",
    "recallMaxQueryChars": "recall.max_query_chars",
    "recallRoles": "recall.roles",
    "recallTags": "recall.tags",
    "recallTagsMatch": "recall.tags_match",
    "recallTagGroups": "recall.tag_groups",
    "recallAdditionalBanks": "recall.additional_banks",
    "recallAdditionalBankFilters": "recall.additional_bank_filters",
    "recallMinScores": "recall.min_scores",
    "recallPromptPreamble": "recall.preamble",
    "retainRoles": "retain.roles",
    "retainEveryNTurns": "memory.hindsight.every_n_turns",
    "retainOverlapTurns": "memory.hindsight.overlap_turns",
    "retainContext": "retain.context",
    "retainTags": "retain.tags",
    "retainMetadata": "retain.metadata",
    "retainMission": "bank.retain_mission",
    "hindsightApiUrl": "memory.hindsight.url",
    "hindsightApiToken": "memory.hindsight.token",
    "requestTimeoutSeconds": "memory.hindsight.request_timeout_s",
    "bankId": "bank.id",
    "bankIdPrefix": "bank.id_prefix",
    "dynamicBankId": "bank.dynamic",
    "dynamicBankGranularity": "bank.granularity",
    "directoryBankMap": "bank.directory_map",
    "resolveWorktrees": "bank.resolve_worktrees",
    "agentName": "bank.agent_name",
    "bankMission": "bank.mission",
}
_ENVIRONMENT: Final = {
    "HINDSIGHT_AUTO_RECALL": "autoRecall",
    "HINDSIGHT_RECALL_BUDGET": "recallBudget",
    "HINDSIGHT_RECALL_MAX_TOKENS": "recallMaxTokens",
    "HINDSIGHT_RECALL_CONTEXT_TURNS": "recallContextTurns",
    "HINDSIGHT_RECALL_MAX_QUERY_CHARS": "recallMaxQueryChars",
    "HINDSIGHT_RECALL_ROLES": "recallRoles",
    "HINDSIGHT_RECALL_TAGS": "recallTags",
    "HINDSIGHT_RECALL_TAGS_MATCH": "recallTagsMatch",
    "HINDSIGHT_RECALL_TAG_GROUPS": "recallTagGroups",
    "HINDSIGHT_RECALL_ADDITIONAL_BANK_FILTERS": "recallAdditionalBankFilters",
    "HINDSIGHT_AUTO_RETAIN": "autoRetain",
    "HINDSIGHT_RETAIN_MODE": "retainMode",
    "HINDSIGHT_API_URL": "hindsightApiUrl",
    "HINDSIGHT_API_TOKEN": "hindsightApiToken",
    "HINDSIGHT_API_PORT": "apiPort",
    "HINDSIGHT_REQUEST_TIMEOUT_SECONDS": "requestTimeoutSeconds",
    "HINDSIGHT_BANK_ID": "bankId",
    "HINDSIGHT_DYNAMIC_BANK_ID": "dynamicBankId",
    "HINDSIGHT_AGENT_NAME": "agentName",
    "HINDSIGHT_BANK_MISSION": "bankMission",
    "HINDSIGHT_DEBUG": "debug",
}
_ALSO: Final = {"HINDSIGHT_USER_ID": "bank.user", "HINDSIGHT_CHANNEL_ID": "bank.channel"}
_OWN_SERVER: Final = frozenset(
    {
        "apiPort", "daemonIdleTimeout", "embedVersion", "embedPackagePath", "llmProvider", "llmModel",
        "llmApiKeyEnv",
    }
)  # fmt: skip
_SWITCHES: Final = frozenset({"autoRecall", "autoRetain", "dynamicBankId", "debug"})


class Taken(NamedTuple):
    """What the plugin's settings say in retaind's terms, and in plain words what has no place here."""

    values: Mapping[str, object]
    notes: tuple[str, ...]
    sources: tuple[str, ...]


def find(home: Path, roots: Iterable[Path], environ: Mapping[str, str]) -> Taken | None:
    """Read the plugin's settings, wherever they are; None where there are none at all."""
    given: dict[str, Any] = {}
    sources: list[str] = []
    notes: list[str] = []
    for path in (*_shipped(roots, environ), home / ".hindsight" / "claude-code.json"):
        found = _read(path, notes)
        if found is not None:
            given |= {name: value for name, value in found.items() if value is not None}
            sources.append(str(path))
    for variable, name in _ENVIRONMENT.items():
        if text := environ.get(variable):
            given[name] = _from_text(name, text)
            sources.append(variable)
    values = dict(_values(given, notes))
    for variable, key in _ALSO.items():
        if text := environ.get(variable):
            values[key] = text
            sources.append(variable)
    return Taken(values, tuple(notes), tuple(sources)) if sources else None


def _shipped(roots: Iterable[Path], environ: Mapping[str, str]) -> list[Path]:
    """Return the settings of the installed plugin, the newest version last."""
    found = [
        path
        for root in roots
        for pattern in (
            "plugins/cache/*/{}/*/settings.json",
            "plugins/marketplaces/*/{}/settings.json",
        )
        for path in root.glob(pattern.format(PLUGIN))
    ]
    named = environ.get("CLAUDE_PLUGIN_ROOT")
    if named and PLUGIN in named:
        found.append(Path(named) / "settings.json")
    return sorted(found, key=lambda path: path.stat().st_mtime)


def _read(path: Path, notes: list[str]) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        notes.append(f"{path} cannot be read as JSON: left out")
        return None
    return found if isinstance(found, dict) else None


def _from_text(name: str, text: str) -> object:
    if name in _SWITCHES:
        return text.strip().lower() in TRUE
    rule = KEYS.get(_SAME.get(name, ""))
    return rule.from_text(text) if rule is not None else text


def _values(given: Mapping[str, Any], notes: list[str]) -> Iterator[tuple[str, object]]:
    """Yield key and value of what can be taken over, and note the rest."""
    for name, value in given.items():
        key = _SAME.get(name)
        if key is None or value in ("", None):
            continue
        try:
            KEYS[key].read(value)
        except Unfit:
            notes.append(f"{name} is left out: {key} must be {KEYS[key].expects}")
            continue
        yield key, value
    yield from _others(given, notes)


def _others(given: Mapping[str, Any], notes: list[str]) -> Iterator[tuple[str, object]]:
    if given.get("retainMode") in {"full-session", "chunked"}:
        chunked = given["retainMode"] == "chunked"
        yield "memory.hindsight.mode", "chunked" if chunked else "session"
    if given.get("retainToolCalls") is True:
        yield "retain.tools", "full"
        yield "retain.format", "json"
    if given.get("debug") is True:
        yield "log.level", "debug"
    if not given.get("hindsightApiUrl"):
        port = given.get("apiPort")
        port = port if isinstance(port, int) else _LOCAL_PORT
        yield "memory.hindsight.url", f"http://127.0.0.1:{port}"
        notes.append("the plugin started a server of its own: from now on you start it yourself")
    elif _OWN_SERVER.intersection(given):
        notes.append("settings of the plugin's own server are left out: a server is named")
    if given.get("autoRecall", True) is not False:
        yield "recall.memory", "hindsight"
    if given.get("autoRetain", True) is False:
        notes.append("autoRetain is off: once a server is set, retaind retains in it")
