"""Claude Code as a person runs it, in a terminal: prompt, Esc in the middle of an answer, /exit."""

from pathlib import Path

from agents.claude import AGENT_S
from agents.fake_model import Say
from agents.lab import Lab
from agents.terminal import in_terminal
from harness.process import wait_until


def test_what_the_agent_said_before_esc_is_kept_and_found(lab: Lab) -> None:
    lab.model.teach("where is the heron", (Say("By the river."),))
    lab.model.teach("tell of the bittern", (Say("It booms in the reeds. " * 20, holds=True),))

    with in_terminal(lab.claude) as terminal:
        terminal.wait_for("for shortcuts")
        terminal.say("where is the heron?")
        terminal.wait_for("By the river.")
        terminal.say("tell of the bittern")
        terminal.wait_for("It booms in the reeds.")
        terminal.press("\x1b")
        transcript = _only_transcript(lab)
        wait_until(lambda: _was_interrupted(transcript), "the turn is interrupted", AGENT_S)
        lab.captured_promptly(transcript)
        terminal.say("/exit")
        assert terminal.wait_for_end() == 0
        lab.captured_promptly(transcript)

    row = lab.settled(transcript)
    assert (row["messages"], row["turns"]) == (4, 2)
    for words in ("where is the heron", "river", "tell of the bittern", "booms in the reeds"):
        assert lab.found(words, transcript)
    history = lab.claude.config / "history.jsonl"
    assert b"tell of the bittern" in history.read_bytes()


def _only_transcript(lab: Lab) -> Path:
    (transcript,) = lab.claude.config.glob("projects/*/*.jsonl")
    return transcript


def _was_interrupted(transcript: Path) -> bool:
    return b"[Request interrupted by user]" in transcript.read_bytes()
