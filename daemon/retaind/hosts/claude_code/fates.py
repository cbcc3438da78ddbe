"""The one table of what Claude Code writes, and what becomes of it.

Records are named by their type; those of the types `system` and `attachment` by type and subtype, with
"/" between. A name that is not here is UNKNOWN: kept, counted, and worth a new line in this table.
"""

from typing import Final

from retaind.core.records import Fate

CONVERSATION: Final = frozenset(
    {
        "user",
        "assistant",
        "attachment/file",  # what a person names with @; read for them, so it counts as a tool's result
        "attachment/queued_command",  # typed while the agent works; mostly the prompt's only trace
    }
)

MARKERS: Final = frozenset({"system/compact_boundary", "system/microcompact_boundary"})

BOOKKEEPING: Final = frozenset(
    {
        "agent-color", "agent-name", "agent-setting", "ai-title", "artifact-autoreact-ledger",
        "atis-latch", "attribution-snapshot", "bridge-session", "content-replacement",
        "continued-in", "cost-state", "custom-title", "file-history-delta",
        "file-history-snapshot", "fork-context-ref", "frame-link", "history-suppression",
        "last-prompt", "marble-origami-commit", "marble-origami-snapshot", "mode",
        "permission-mode", "pr-link", "progress", "queue-operation", "relocated",
        "speculation-accept", "summary", "tag", "task-summary", "worktree-state",
    }
)  # fmt: skip

SYSTEM: Final = frozenset(
    {
        "", "agents_killed", "api_error", "api_metrics", "away_summary", "bridge_status",
        "file_snapshot", "hook", "informational", "init", "local_command", "memory_saved",
        "model_refusal_fallback", "permission_retry", "scheduled_task_fire", "status",
        "stop_hook_summary", "thinking", "turn_duration",
    }
)  # fmt: skip

ATTACHMENTS: Final = frozenset(
    {
        "agent_listing_delta", "agent_mention", "already_read_file", "async_hook_response",
        "auto_mode", "auto_mode_exit", "bash_output_audience_note", "batching_reminder_sent",
        "budget_usd", "command_permissions", "compact_file_reference", "compaction_reminder",
        "context_efficiency", "context_sections", "credential_org", "critical_system_reminder",
        "current_session_memory", "date", "date_change", "deferred_tools_delta",
        "deferred_tools_record", "diagnostics", "directory", "dynamic_skill", "edited_image_file",
        "edited_text_file", "environment", "hook_additional_context", "hook_blocking_error",
        "hook_cancelled", "hook_error_during_execution", "hook_non_blocking_error",
        "hook_permission_decision", "hook_stopped_continuation", "hook_success",
        "hook_system_message", "instructions", "invoked_skills", "max_turns_reached",
        "mcp_instructions_delta", "mcp_resource", "model", "nested_memory",
        "opened_file_in_ide", "output_style", "output_style_instructions", "output_token_usage",
        "pdf_reference", "permission_mode", "plan_file_reference", "plan_mode", "plan_mode_exit",
        "plan_mode_reentry", "prompt_snapshot", "read_truncation_notice", "relevant_memories",
        "remote_session_change", "selected_lines_in_ide", "session_context",
        "silent_turn_reminder", "skill_discovery", "skill_listing", "structured_output",
        "task_reminder", "task_status", "team_context", "teammate_mailbox",
        "teammate_shutdown_batch", "thinking_stripped", "todo", "todo_reminder", "token_usage",
        "total_tokens_reminder", "ultra_effort_enter", "ultra_effort_exit", "ultrathink_effort",
        "verify_plan_reminder",
    }
)  # fmt: skip

FATES: Final[dict[str, Fate]] = {
    **dict.fromkeys(CONVERSATION, Fate.CONVERSATION),
    **dict.fromkeys(MARKERS, Fate.MARKER),
    **dict.fromkeys(BOOKKEEPING, Fate.TRANSPORT),
    **{f"system/{subtype}": Fate.TRANSPORT for subtype in SYSTEM},
    **{f"attachment/{subtype}": Fate.TRANSPORT for subtype in ATTACHMENTS},
}

REASONS: Final[dict[Fate, str]] = {
    Fate.CONVERSATION: "",
    Fate.MARKER: "marker",
    Fate.TRANSPORT: "transport",
    Fate.UNKNOWN: "unknown",
}
