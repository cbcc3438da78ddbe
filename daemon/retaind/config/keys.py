"""The table of keys: what each accepts, and where in `Settings` its value goes."""

from collections.abc import Mapping
from types import MappingProxyType

from retaind.config import rules
from retaind.config.rules import Rule

_DAY_S = 86_400
_MANY = 1_000_000

KEYS: Mapping[str, Rule] = MappingProxyType(
    {
        "watch.mode": rules.choice("auto", "scan"),
        "watch.scan_interval_s": rules.number(0.1, _DAY_S, "seconds"),
        "vault.keep": rules.days("forever", "retained"),
        "roots.claude_code": rules.folders(),
        "exclude.paths": rules.texts(),
        "exclude.projects": rules.texts(),
        "projects": rules.modes("full", "metadata", "off"),
        "retain.format": rules.choice("text", "json", "jsonl"),
        "retain.tools": rules.choice("none", "summary", "full"),
        "retain.roles": rules.texts("user", "assistant"),
        "retain.min_chars": rules.whole(0, _MANY, "characters"),
        "retain.context": rules.text(),
        "retain.tags": rules.texts(),
        "retain.metadata": rules.text_map(),
        "retain.harness_wrappers": rules.switch(),
        "retain.tool_input_chars": rules.whole(0, _MANY, "characters"),
        "retain.tool_result_chars": rules.whole(0, _MANY, "characters"),
        "retain.operational_words": rules.texts(),
        "redact.enabled": rules.switch(),
        "metering.tokenizer": rules.choice("bytes/4", "cl100k"),
        "memory.local.enabled": rules.switch(),
        "memory.local.idle_s": rules.number(0, _DAY_S, "seconds"),
        "memory.local.max_behind_s": rules.number(0, _DAY_S, "seconds"),
        "memory.local.chunk_chars": rules.whole(100, 100_000, "characters"),
        "memory.local.batch_tokens": rules.whole(100, _MANY, "tokens"),
        "memory.local.extractor": rules.choice("index", "llm"),
        "memory.local.llm.base_url": rules.url(),
        "memory.local.llm.model": rules.text(),
        "memory.local.llm.api_key_env": rules.text(),
        "memory.local.llm.api_key_file": rules.text(),
        "memory.local.llm.concurrency": rules.whole(1, 64, "requests at a time"),
        "memory.local.llm.timeout_s": rules.number(0.1, 3600, "seconds"),
        "memory.hindsight.url": rules.url(),
        "memory.hindsight.token": rules.text(secret=True),
        "memory.hindsight.token_file": rules.text(),
        "memory.hindsight.bank": rules.text(),
        "memory.hindsight.mode": rules.choice("session", "chunked"),
        "memory.hindsight.every_n_turns": rules.whole(1, _MANY, "turns"),
        "memory.hindsight.overlap_turns": rules.whole(0, 1000, "turns"),
        "memory.hindsight.idle_s": rules.number(0, _DAY_S, "seconds"),
        "memory.hindsight.max_behind_s": rules.number(0, _DAY_S, "seconds"),
        "memory.hindsight.max_behind_tokens": rules.whole(100, 8000, "tokens"),
        "memory.hindsight.max_parallel": rules.whole(1, 64, "sessions at a time"),
        "memory.hindsight.poll_s": rules.number(0.05, 3600, "seconds"),
        "memory.hindsight.backfill": rules.days("none", "all"),
        "memory.hindsight.request_timeout_s": rules.number(0.1, 3600, "seconds"),
        "bank.id": rules.text(),
        "bank.id_prefix": rules.text(),
        "bank.dynamic": rules.switch(),
        "bank.granularity": rules.texts("agent", "project", "session", "channel", "user"),
        "bank.directory_map": rules.text_map(),
        "bank.resolve_worktrees": rules.switch(),
        "bank.agent_name": rules.text(),
        "bank.channel": rules.text(),
        "bank.user": rules.text(),
        "bank.mission": rules.text(),
        "bank.retain_mission": rules.text(),
        "recall.auto": rules.switch(),
        "recall.deadline_ms": rules.number(10, 8000, "milliseconds"),
        "recall.min_prompt_chars": rules.whole(0, _MANY, "characters"),
        "recall.floor": rules.number(0, 1, "parts of a prompt's weight"),
        "recall.own_session": rules.switch(),
        "recall.project_first": rules.switch(),
        "recall.memory": rules.choice("local", "hindsight"),
        "recall.context_turns": rules.whole(0, 1000, "turns"),
        "recall.max_query_chars": rules.whole(-1, _MANY, "characters (0: no limit)"),
        "recall.max_tokens": rules.whole(1, _MANY, "tokens"),
        "recall.roles": rules.texts("user", "assistant"),
        "recall.preamble": rules.text(),
        "recall.budget": rules.choice("low", "mid", "high"),
        "recall.types": rules.texts("world", "experience", "observation"),
        "recall.tags": rules.texts(),
        "recall.tags_match": rules.choice("any", "all", "any_strict", "all_strict"),
        "recall.tag_groups": rules.anything(),
        "recall.additional_banks": rules.texts(),
        "recall.additional_bank_filters": rules.tables(),
        "recall.min_scores": rules.number_map(),
        "hooks.post_retain": rules.texts(),
        "log.level": rules.choice("debug", "info", "warning", "error"),
    }
)

HOLD_PATHS = frozenset(
    {
        "roots.claude_code",
        "exclude.paths",
        "exclude.projects",
        "projects",
        "bank.directory_map",
        "memory.local.llm.api_key_file",
        "memory.hindsight.token_file",
        "hooks.post_retain",
    }
)
"""Keys in whose values a leading `~` is the user's home."""

_RENAMED = {
    "redact.enabled": ("retain", "redact"),
    "exclude.paths": ("exclusion", "paths"),
    "exclude.projects": ("exclusion", "projects"),
    "projects": ("exclusion", "modes"),
}


def target(key: str) -> tuple[str, ...]:
    """Return the attributes that lead from a `Settings` to the key's value."""
    if key in _RENAMED:
        return _RENAMED[key]
    parts = tuple(key.split("."))
    return parts[1:] if parts[0] == "memory" else parts


def variable(key: str) -> str:
    """Return the environment variable that sets the key."""
    return "RETAIND_" + key.replace(".", "_").upper()
