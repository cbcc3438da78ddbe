"""Claude Code's print mode: what it writes is kept and found while it is written, with no hook."""

from agents.fake_model import Call, Say, Think
from agents.lab import Lab

_ODD = (
    "otter \U0001f9a6 \U0001f469\u200d\U0001f680 漢字かな שלום e\u0301 "
    "LS[\u2028] PS[\u2029] NEL[\x85] NUL[\0] BOM[\ufeff] half[\ud83d]"
)
_LONG = "grebe " * 200_000 + "kingfisher"


def test_a_session_is_kept_a_second_after_its_last_write_and_found_when_idle(lab: Lab) -> None:
    lab.model.teach(
        "where is the heron",
        (Think("A river."), Say("I look."), Call("Bash", {"command": "echo egret"})),
        (Say(_ODD),),
    )

    transcript = lab.claude.new_session("where is the heron? 鷺")
    lab.captured_promptly(transcript)

    assert "鷺".encode() in transcript.read_bytes()
    assert rb"half[\ud83d]" in transcript.read_bytes()
    for words in ("where is the heron", "I look", "echo egret", "otter", "漢字", "שלום"):
        assert lab.found(words, transcript)


def test_a_line_of_more_than_a_megabyte_is_kept_and_found_to_its_end(lab: Lab) -> None:
    lab.model.teach("list the grebes", (Say(_LONG),))

    transcript = lab.claude.new_session("list the grebes")
    lab.captured_promptly(transcript)

    assert max(map(len, transcript.read_bytes().splitlines())) > len(_LONG)
    assert lab.found("kingfisher", transcript)


def test_a_sub_agent_is_kept_in_its_own_right_and_linked_to_its_session(lab: Lab) -> None:
    order = {"description": "nests", "prompt": "count them", "subagent_type": "general-purpose"}
    lab.model.teach("ask the swallow", (Call("Agent", order),), (Say("It says seven."),))
    lab.model.teach("count them", (Say("Seven, of mud."),))

    transcript = lab.claude.new_session("ask the swallow")
    (agent,) = transcript.with_suffix("").glob("subagents/agent-*.jsonl")
    for path in (transcript, agent):
        lab.captured_promptly(path)

    row = lab.settled(agent)
    assert (row["kind"], row["owner_session"]) == ("subagent", transcript.stem)
    assert [hit["session_id"] for hit in lab.found("seven of mud", agent)] == [agent.stem]
    told = agent.with_suffix(".meta.json")
    kept = lab.home.restored(transcript.stem, "--attachment", told.name)
    assert kept == told.read_bytes()
