"""What a path below Claude Code's folder is."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.claude_lines import HOST
from retaind.hosts.port import Place

SESSION = "aaaaaaaa-0000-4000-8000-000000000001"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (f"projects/-w/{SESSION}.jsonl", Place("session", SESSION)),
        ("projects/-w/transcript.jsonl", Place("session", "transcript")),
        (f"projects/-w/{SESSION}.jsonl.reset.1795987673", Place("session", SESSION)),
        (f"projects/-w/{SESSION}.jsonl.reset.2026-01-01T10:00:00.5Z", Place("session", SESSION)),
        ("projects/-w/agent-102f1267.jsonl", Place("subagent", "agent-102f1267")),
        (
            f"projects/-w/{SESSION}/subagents/agent-a1.jsonl",
            Place("subagent", "agent-a1", SESSION),
        ),
        (
            f"projects/-w/{SESSION}/subagents/workflows/wf-1/agent-a2.jsonl",
            Place("subagent", "agent-a2", SESSION),
        ),
        (
            f"projects/-w/{SESSION}/subagents/a/b/c/d/agent-a3.jsonl",
            Place("subagent", "agent-a3", SESSION),
        ),
        (
            f"projects/-w/{SESSION}/subagents/workflows/wf-1/journal.jsonl",
            Place("attachment", "subagents/workflows/wf-1/journal.jsonl", SESSION),
        ),
        (
            f"projects/-w/{SESSION}/subagents/agent-a1.meta.json",
            Place("attachment", "subagents/agent-a1.meta.json", SESSION),
        ),
        ("projects/-w/agent-a1.meta.json", Place("attachment", "agent-a1.meta.json")),
        (
            f"projects/-w/{SESSION}/tool-results/toolu_1.txt",
            Place("attachment", "tool-results/toolu_1.txt", SESSION),
        ),
        (
            f"projects/-w/{SESSION}/tool-results/more/b.json",
            Place("attachment", "tool-results/more/b.json", SESSION),
        ),
        ("history.jsonl", Place("attachment", "history")),
    ],
)
def test_transcripts_and_their_companions_are_known(path: str, place: Place) -> None:
    assert HOST.place(path.encode()) == place


@pytest.mark.parametrize(
    "path",
    [
        "",
        "projects",
        "projects/-w",
        "projects//x.jsonl",
        "projects/x.jsonl",
        "x.jsonl",
        "settings.json",
        "sessions/1234.json",
        "todos/x.jsonl",
        f"projects/-w/{SESSION}.jsonl.bak",
        f"projects/-w/{SESSION}.jsonl.tmp",
        f"projects/-w/{SESSION}.jsonl~",
        f"projects/-w/.{SESSION}.jsonl.swp",
        f"projects/-w/.#{SESSION}.jsonl",
        f"projects/-w/#{SESSION}.jsonl#",
        f"projects/-w/{SESSION}.jsonl.reset.",
        f"projects/-w/{SESSION}.jsonl.reset.1.bak",
        "projects/-w/.jsonl",
        "projects/-w/sessions-index.json",
        "projects/-w/notes.md",
        "projects/-w/memory/MEMORY.md",
        f"projects/-w/{SESSION}/notes.jsonl",
        f"projects/-w/{SESSION}/subagents",
        f"projects/-w/{SESSION}/subagents/agent-a1.jsonl.bak",
        f"projects/-w/{SESSION}/subagents/notes.md",
        "projects/-w//subagents/agent-a1.jsonl",
        f"projects/-w/{SESSION}/tool-results/",
        f"projects/-w/{SESSION}/tool-results/.toolu_1.txt.swp",
        f"projects/-w/{SESSION}/tool-results/toolu_1.txt.tmp",
        f"projects/-w/{SESSION}/tool-results/toolu_1.txt~",
    ],
)
def test_everything_else_is_left_alone(path: str) -> None:
    assert HOST.place(path.encode()) is None


def test_a_name_that_is_not_utf8_is_escaped() -> None:
    assert HOST.place(b"projects/-w/\xff\xe9.jsonl") == Place("session", "\\xff\\xe9")


@given(st.lists(st.sampled_from([b"projects", b"s", b"subagents", b"tool-results"]) | st.binary()))
def test_any_path_has_an_answer_that_can_be_stored(parts: list[bytes]) -> None:
    place = HOST.place(b"/".join([*parts, b"\xfe.jsonl"]))

    if place is not None:
        with sqlite3.connect(":memory:") as connection:
            connection.execute("SELECT ?, ?", (place.session_id, place.owner_session))
        connection.close()
