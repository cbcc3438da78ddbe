"""Sessions that go on: resumed, continued, forked, and resumed behind a torn line."""

import json
from pathlib import Path

from agents.fake_model import Say
from agents.lab import Lab

_TORN = b'{"parentUuid":null,"type":"user","message":{"role":"user","content":"the wryne'


def test_a_resumed_and_continued_session_is_kept_once_and_each_message_retained_once(
    lab: Lab,
) -> None:
    transcript = _begun(lab)

    lab.claude.run("ask the rook", "--resume", transcript.stem)
    lab.captured_promptly(transcript)
    lab.claude.run("ask the jackdaw", "--continue")
    lab.captured_promptly(transcript)

    row = lab.settled(transcript)
    assert [path.name for path in _sessions(transcript)] == [transcript.name]
    assert (row["messages"], row["turns"]) == (6, 3)
    assert row["memories"]["local"]["retained"] == 6
    assert [len(lab.search(name)) for name in ("swift", "rook", "jackdaw")] == [2, 2, 2]


def test_a_fork_is_kept_whole_and_what_it_copied_is_not_retained_again(lab: Lab) -> None:
    transcript = _begun(lab)
    lab.settled(transcript)

    lab.claude.run("ask the rook", "--resume", transcript.stem, "--fork-session")
    (fork,) = set(_sessions(transcript)) - {transcript}
    lab.captured_promptly(fork)

    parent, child = lab.settled(transcript), lab.settled(fork)
    assert (parent["messages"], child["messages"]) == (2, 4)
    assert parent["memories"]["local"]["retained"] == 2
    assert child["memories"]["local"]["retained"] == 2
    assert child["memories"]["local"]["dropped"]["duplicate"] == 2
    assert child["parent_id"] == parent["id"]
    assert {hit["session_id"] for hit in lab.search("swift")} == {transcript.stem}
    assert {hit["session_id"] for hit in lab.search("rook")} == {fork.stem}


def test_a_record_that_is_glued_to_a_torn_line_is_read_and_all_after_it_is_found(lab: Lab) -> None:
    transcript = _begun(lab)
    with transcript.open("ab") as file:
        file.write(_TORN)
    lab.captured_promptly(transcript)

    lab.claude.run("ask the rook", "--resume", transcript.stem)
    lab.captured_promptly(transcript)

    lines = transcript.read_bytes().removesuffix(b"\n").split(b"\n")
    (glued,) = (line.removeprefix(_TORN) for line in lines if line.startswith(_TORN))
    assert json.loads(glued)["type"] == "queue-operation"
    local = lab.settled(transcript)["memories"]["local"]
    assert local["dropped"]["truncated"] == 1
    assert local["retained"] == 4
    assert local["retained"] + sum(local["dropped"].values()) == len(lines) + 1
    assert len(lab.search("rook")) == 2


def _begun(lab: Lab) -> Path:
    """Have a session with one question and one answer, and teach the model two more."""
    lab.model.teach("ask the swift", (Say("The swift screams."),))
    lab.model.teach("ask the rook", (Say("The rook caws."),))
    lab.model.teach("ask the jackdaw", (Say("The jackdaw clicks."),))
    return lab.claude.new_session("ask the swift")


def _sessions(transcript: Path) -> list[Path]:
    return list(transcript.parent.glob("*.jsonl"))
