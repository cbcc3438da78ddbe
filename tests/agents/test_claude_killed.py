"""The agent is killed: what it had written by then, and what it writes while it ends, is kept."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.fake_model import Call, Say
from agents.lab import Lab
from harness.process import wait_until

_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)
_STORY = "It booms in the reeds. " * 20


@pytest.fixture(name="gate")
def _gate(tmp_path: Path) -> Iterator[Path]:
    """A pipe that a tool's command waits at; if it still waits in the end, it is let go."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    yield gate
    os.close(os.open(gate, os.O_RDWR | os.O_NONBLOCK))


@pytest.mark.parametrize("number", _SIGNALS, ids=lambda number: number.name)
def test_a_kill_in_the_middle_of_a_stream_loses_nothing_that_was_written(
    lab: Lab, number: signal.Signals
) -> None:
    lab.model.teach("tell of the bittern", (Say(_STORY, holds=True),))

    with lab.claude.started("tell of the bittern") as agent:
        agent.printed("booms")
        agent.wrote('"role":"user","content":"tell of the bittern"')
        agent.end(number)
        lab.captured_promptly(agent.transcript)

    assert lab.found("tell of the bittern", agent.transcript)


def test_the_last_turn_that_comes_after_the_agents_own_event_of_its_end_is_kept(lab: Lab) -> None:
    lab.model.teach("tell of the bittern", (Say(_STORY, holds=True),))
    transcripts = lab.claude.config / "projects" / "*" / "*.jsonl"
    seen = lab.home.folder / "seen"
    lab.claude.on_session_end(
        f"wc -c {transcripts} > {seen}; until grep -q interrupted {transcripts}; do sleep 0.1; done"
    )

    with lab.claude.started("tell of the bittern") as agent:
        agent.printed("booms")
        agent.wrote('"role":"user","content":"tell of the bittern"')
        agent.end(signal.SIGINT)
        lab.captured_promptly(agent.transcript)

    at_the_event = int(seen.read_text().split()[0])
    late = lab.home.restored(agent.session)[at_the_event:]
    assert b"booms in the reeds" in late
    assert b"[Request interrupted by user]" in late
    assert lab.found("booms in the reeds", agent.transcript)


@pytest.mark.parametrize("number", _SIGNALS, ids=lambda number: number.name)
def test_a_kill_in_the_middle_of_a_tool_call_loses_nothing_that_was_written(
    lab: Lab, number: signal.Signals, gate: Path
) -> None:
    begun = gate.with_name("begun")
    command = f"touch {begun} && cat {gate}"
    lab.model.teach("listen to the crake", (Say("I wait."), Call("Bash", {"command": command})))

    with lab.claude.started("listen to the crake") as agent:
        wait_until(begun.exists, "the tool has begun")
        agent.wrote('"type":"tool_use"')
        agent.end(number)
        lab.captured_promptly(agent.transcript)

    assert lab.found("I wait", agent.transcript)
    assert lab.found(f"touch {begun}", agent.transcript)
