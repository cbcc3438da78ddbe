"""The real Claude Code with hooks: it is given what earlier sessions said, and capture needs none of it."""

import json
import os
import signal
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from agents.fake_model import Call, Say
from hooks.hooked_lab import HookedLab, prompt_hook_s
from retaind.config import Settings
from retaind.core.conversation import WRAPPER

PLUGIN = Path(__file__).resolve().parents[2] / "plugin"
DEADLINE_S = Settings().recall.deadline_ms / 1000
WAIT_FOR_TOOLS = {"MCP_CONNECTION_NONBLOCKING": "0", "MCP_CONNECT_TIMEOUT_MS": "60000"}
SLACK_S = 0.5
"""What the agent itself takes to notice that a hook has ended, on busy cores."""


def test_a_second_session_is_given_what_the_first_said_and_that_is_not_retained_again(
    lab: HookedLab,
) -> None:
    lab.install()
    first = _begun(lab)

    session = str(uuid4())
    lab.run("which bird nests at the old brewery?", "--session-id", session)

    second = lab.claude.transcript(session)
    row = lab.settled(second)
    assert "The swift nests under the eaves of the brewery." in lab.given("at the old brewery")
    assert WRAPPER in second.read_text()
    assert lab.search(WRAPPER) == []
    assert [hit["session_id"] for hit in lab.search("swift eaves")] == [first.stem]
    assert (row["messages"], row["turns"]) == (2, 1)
    assert row["memories"]["local"]["retained"] == 2


def test_a_resumed_continued_compacted_and_forked_session_is_retained_once_and_not_given_itself(
    lab: HookedLab,
) -> None:
    lab.install()
    first = _begun(lab)

    lab.run("ask the rook about the brewery", "--resume", first.stem)
    lab.run("ask the jackdaw about the brewery", "--continue")
    lab.run("ask the magpie about the brewery", "--resume", first.stem, "--fork-session")
    given = [lab.given(f"ask the {bird}") for bird in ("rook", "jackdaw", "magpie")]
    lab.run("/compact", "--resume", first.stem)

    (fork,) = set(first.parent.glob("*.jsonl")) - {first}
    row, forked = lab.settled(first), lab.settled(fork)
    assert given == ["", "", ""]
    # What both have belongs to the one whose turn came first.
    assert sum(one["memories"]["local"]["retained"] for one in (row, forked)) == 8
    assert forked["parent_id"] == row["id"]
    for bird in ("swift", "rook", "jackdaw", "magpie"):
        assert len(lab.search(f"the {bird}", role="user")) == 1, bird


def test_a_session_that_ends_at_once_loses_nothing_though_its_hooks_are_cancelled(
    lab: HookedLab,
) -> None:
    lab.install()
    lab.model.teach("ask the swift", (Say("The swift nests under the eaves."),))

    session = str(uuid4())
    events = lab.run("ask the swift where it nests", "--session-id", session)
    lab.captured_promptly(lab.claude.transcript(session))

    ended = [one for one in events if one.get("subtype") == "hook_response"]
    assert "success" in {one["outcome"] for one in ended}


def test_a_daemon_that_is_stopped_delays_a_turn_by_less_than_the_deadline(lab: HookedLab) -> None:
    lab.install()
    _begun(lab)
    assert lab.home.process is not None

    lab.home.process.send_signal(signal.SIGSTOP)
    events = lab.run("which bird nests at the old brewery?")
    lab.home.process.send_signal(signal.SIGCONT)

    assert prompt_hook_s(events) < DEADLINE_S + SLACK_S
    assert lab.given("at the old brewery") == ""


def test_a_daemon_that_is_killed_is_not_missed(lab: HookedLab) -> None:
    lab.install()
    first = _begun(lab)
    lab.home.kill()

    session = str(uuid4())
    events = lab.run("which bird nests at the old brewery?", "--session-id", session)
    lab.home.start()

    assert prompt_hook_s(events) < DEADLINE_S
    assert lab.given("at the old brewery") == ""
    for transcript in (first, lab.claude.transcript(session)):
        assert lab.settled(transcript)["memories"]["local"]["retained"] == 2


def test_a_folder_that_no_service_knows_is_learnt_from_its_hooks(lab: HookedLab) -> None:
    config = lab.home.folder / "elsewhere" / "claude"
    config.mkdir(parents=True)
    elsewhere = HookedLab(lab.home, lab.model, replace(lab.claude, config=config))
    elsewhere.install()
    lab.model.teach("ask the swift", (Say("The swift nests under the eaves."),))
    session = str(uuid4())

    elsewhere.run("ask the swift where it nests", "--session-id", session)

    transcript = elsewhere.claude.transcript(session)
    assert lab.settled(transcript)["messages"] == 2


def test_the_plugin_brings_hooks_and_tools(lab: HookedLab) -> None:
    first = _begun(lab)
    tool = "mcp__plugin_retaind_retaind__show_session"
    lab.model.teach("at the old brewery", (Call(tool, {"id": first.stem}),), (Say("The swift."),))

    events = lab.run(
        "which bird nests at the old brewery?",
        *("--plugin-dir", str(PLUGIN), "--allowedTools", tool),
        **WAIT_FOR_TOOLS,
    )

    begun = next(one for one in events if one.get("subtype") == "init")
    assert begun["mcp_servers"] == [{"name": "plugin:retaind:retaind", "status": "connected"}]
    assert "The swift nests under the eaves of the brewery." in lab.given("at the old brewery")
    results = [
        block
        for message in lab.model.asked[-1]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] == "tool_result"
    ]
    assert "The swift nests under the eaves of the brewery." in json.dumps(results)
    lab.settled(lab.claude.transcript(begun["session_id"]))
    assert len(lab.search("swift eaves")) == 1


def test_the_plugin_is_valid(lab: HookedLab) -> None:
    code = os.spawnve(
        os.P_WAIT,
        lab.claude.program,
        ["claude", "plugin", "validate", "--strict", str(PLUGIN)],
        lab.claude.environ(),
    )

    assert code == 0


def _begun(lab: HookedLab) -> Path:
    """Have a session in which the agent says where the swift nests, and the daemon know it."""
    lab.model.teach("ask the swift", (Say("The swift nests under the eaves of the brewery."),))
    for bird in ("rook", "jackdaw", "magpie"):
        lab.model.teach(f"ask the {bird}", (Say(f"It does not say, that {bird}."),))
    lab.model.teach("at the old brewery", (Say("I was told."),))
    transcript = lab.claude.new_session("ask the swift where it nests")
    lab.settled(transcript)
    return transcript
