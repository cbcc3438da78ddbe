"""Facts about sessions, read from a real database and real files."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from retaind.db import open_readonly
from retaind.errors import Ambiguous, NotFound
from retaind.runtime.catalog import resolve
from retaind.runtime.report import sessions, summary, timestamp
from runtime.vaulted import Vaulted

LINES = b'{"type":"user"}\n{"type":"assistant"}\n'


@pytest.fixture
def state(tmp_path: Path) -> Iterator[Vaulted]:
    vaulted = Vaulted(tmp_path)
    yield vaulted
    vaulted.database.close()


@pytest.fixture
def reader(state: Vaulted) -> Iterator[sqlite3.Connection]:
    connection = open_readonly(state.database.path)
    yield connection
    connection.close()


def test_a_session_that_is_kept_and_retained_is_idle(
    state: Vaulted, reader: sqlite3.Connection
) -> None:
    opened = state.keep("s1.jsonl", LINES)
    state.cursor(opened.generation_id, len(LINES), records=3, retained=2, dropped={"transport": 1})

    (row,) = sessions(reader, ["local"])

    assert row["id"] == opened.public_id
    assert (row["session_id"], row["kind"], row["host"]) == ("s1", "session", "claude_code")
    assert (row["project"], row["cwd"]) == ("app", "/work/app")
    assert (row["size_bytes"], row["captured_bytes"], row["unfinished_bytes"]) == (37, 37, 0)
    assert (row["messages"], row["turns"], row["generation"]) == (3, 1, 1)
    assert row["generations"] == [{"n": 1, "captured_bytes": 37, "closed": None}]
    assert row["state"] == "idle"
    assert row["memories"]["local"] == {
        "retained_bytes": 37,
        "pending_bytes": 0,
        "retained": 2,
        "pending": 0,
        "set_aside": 0,
        "dropped": {"transport": 1},
        "redacted": {},
        "lossy": 0,
        "state": "idle",
    }


def test_an_unfinished_line_is_counted_apart_and_is_not_pending(
    state: Vaulted, reader: sqlite3.Connection
) -> None:
    opened = state.keep("s1.jsonl", LINES + b'{"type":"us')
    state.cursor(opened.generation_id, len(LINES))

    (row,) = sessions(reader, ["local"])

    assert row["unfinished_bytes"] == 11
    assert row["memories"]["local"]["pending_bytes"] == 0
    assert row["state"] == "idle"


def test_whole_lines_that_no_memory_has_are_pending(
    state: Vaulted, reader: sqlite3.Connection
) -> None:
    state.keep("s1.jsonl", LINES + b"{", block_bytes=5)

    (row,) = sessions(reader, ["local"])

    assert row["unfinished_bytes"] == 1
    assert row["memories"]["local"]["pending_bytes"] == len(LINES)
    assert row["state"] == "pending"


def test_each_memory_has_its_own_account(state: Vaulted, reader: sqlite3.Connection) -> None:
    opened = state.keep("s1.jsonl", LINES)
    state.cursor(opened.generation_id, len(LINES))
    state.cursor(opened.generation_id, 16, memory="hindsight", set_aside=1, records=1)

    (row,) = sessions(reader, ["local", "hindsight"])

    assert row["memories"]["local"]["state"] == "idle"
    assert row["memories"]["hindsight"]["pending_bytes"] == 21
    assert row["memories"]["hindsight"]["state"] == "degraded"
    assert row["state"] == "degraded"


def test_the_size_is_that_of_now(state: Vaulted, reader: sqlite3.Connection) -> None:
    opened = state.keep("s1.jsonl", LINES)
    path = Path(os.fsdecode(opened.path))
    path.write_bytes(LINES * 2)
    assert sessions(reader, ["local"])[0]["size_bytes"] == 74

    path.unlink()
    assert sessions(reader, ["local"])[0]["size_bytes"] == 37


def test_empty_and_excluded_transcripts_have_rows(
    state: Vaulted, reader: sqlite3.Connection
) -> None:
    state.keep("empty.jsonl", b"")
    state.keep("secret.jsonl", LINES, captured=b"", mode="off")

    rows = {row["session_id"]: row for row in sessions(reader, ["local"])}

    assert (rows["empty"]["size_bytes"], rows["empty"]["state"]) == (0, "idle")
    assert (rows["secret"]["captured_bytes"], rows["secret"]["state"]) == (0, "excluded")


def test_a_source_that_is_gone_says_so(state: Vaulted, reader: sqlite3.Connection) -> None:
    opened = state.keep("s1.jsonl", LINES)
    state.run("UPDATE stream SET source_state = 'gone' WHERE id = ?", (opened.stream_id,))

    assert sessions(reader, ["local"])[0]["state"] == "source_gone"


def test_the_top_level_describes_the_current_generation(
    state: Vaulted, reader: sqlite3.Connection
) -> None:
    opened = state.keep("s1.jsonl", LINES)
    second = state.rewrite(opened, LINES[:16])
    state.cursor(second, 16, records=1, retained=1)

    (row,) = sessions(reader, ["local"])

    assert (row["generation"], row["captured_bytes"]) == (2, 16)
    assert row["generations"] == [
        {"n": 1, "captured_bytes": 37, "closed": "rewritten"},
        {"n": 2, "captured_bytes": 16, "closed": None},
    ]
    assert row["memories"]["local"]["pending_bytes"] == 37, "the first one still waits"


def test_attachments_are_counted_on_their_owner(state: Vaulted, reader: sqlite3.Connection) -> None:
    state.keep("s1.jsonl", LINES)
    state.keep("agent-1.jsonl", LINES, kind="subagent", owner="s1")
    state.keep("result.txt", b"12345", kind="attachment", owner="s1")

    rows = {row["session_id"]: row for row in sessions(reader, ["local"])}

    assert set(rows) == {"s1", "agent-1"}
    assert (rows["s1"]["attachments"], rows["s1"]["attachment_bytes"]) == (1, 5)
    assert rows["agent-1"]["owner_session"] == "s1"
    assert rows["agent-1"]["attachments"] == 0


def test_a_name_that_is_not_utf_8_is_shown_escaped(
    state: Vaulted, reader: sqlite3.Connection
) -> None:
    opened = state.keep("s1.jsonl", LINES)
    state.run("UPDATE stream SET path = ? WHERE id = ?", (b"/a/\xff.jsonl", opened.stream_id))

    assert sessions(reader, ["local"])[0]["path"] == "/a/\\xff.jsonl"


def test_one_session_can_be_asked_for(state: Vaulted, reader: sqlite3.Connection) -> None:
    state.keep("s1.jsonl", LINES)
    state.keep("s2.jsonl", LINES)

    only = resolve(reader, "s2")

    assert [row["session_id"] for row in sessions(reader, ["local"], only)] == ["s2"]


def test_names_resolve_by_id_session_id_and_their_beginnings(
    state: Vaulted, reader: sqlite3.Connection
) -> None:
    one = state.keep("aaaa-1111.jsonl", LINES)
    two = state.keep("aaaa-2222.jsonl", LINES)

    assert resolve(reader, one.public_id).id == one.stream_id
    assert resolve(reader, "aaaa-2222").id == two.stream_id
    assert resolve(reader, "aaaa-2").id == two.stream_id
    with pytest.raises(Ambiguous) as caught:
        resolve(reader, "aaaa")
    assert len(caught.value.candidates) == 2
    for unknown in ("zzzz", "a", "", "%%%%", "____"):
        with pytest.raises(NotFound):
            resolve(reader, unknown)


def test_the_same_session_in_two_roots_is_ambiguous(
    state: Vaulted, reader: sqlite3.Connection
) -> None:
    (state.folder / "other").mkdir()
    state.keep("s1.jsonl", LINES)
    second = state.keep("other/s1.jsonl", LINES)

    with pytest.raises(Ambiguous):
        resolve(reader, "s1")
    assert resolve(reader, second.public_id).id == second.stream_id


def test_an_attachment_is_no_session(state: Vaulted, reader: sqlite3.Connection) -> None:
    state.keep("result.txt", b"x", kind="attachment", owner="s1")

    with pytest.raises(NotFound):
        resolve(reader, "result")


def test_the_summary_adds_everything_up(state: Vaulted, reader: sqlite3.Connection) -> None:
    one = state.keep("s1.jsonl", LINES)
    state.keep("s2.jsonl", LINES)
    state.keep("result.txt", b"12345", kind="attachment", owner="s1")
    state.cursor(one.generation_id, 37, records=3, retained=2, dropped={"meta": 1})

    facts = summary(reader, ["local", "hindsight"])

    assert (facts["sessions"], facts["captured_bytes"]) == (2, 79)
    assert facts["pending_bytes"] == 74
    assert facts["memories"]["local"] == {
        "state": "pending",
        "pending_bytes": 37,
        "records": 3,
        "retained": 2,
        "pending": 0,
        "set_aside": 0,
        "dropped": {"meta": 1},
        "redacted": {},
        "lossy": 0,
    }
    assert facts["memories"]["hindsight"]["pending_bytes"] == 74


def test_an_empty_state_has_an_empty_summary(reader: sqlite3.Connection) -> None:
    facts = summary(reader, ["local"])

    assert (facts["sessions"], facts["captured_bytes"], facts["last_activity"]) == (0, 0, None)
    assert sessions(reader, ["local"]) == []


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0, "1970-01-01T00:00:00.000Z"), (1e18, "1970-01-01T00:00:00.000Z")],
)
def test_times_are_iso_8601_in_utc(seconds: float, text: str) -> None:
    assert timestamp(seconds) == text
