"""`verify` finds what lies on disk and has no row, unless it was excluded or forgotten."""

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.rig import Rig, lines
from retaind.core.policy import Exclusion
from retaind.db import open_readonly
from retaind.hosts.claude_code import ClaudeCode
from retaind.runtime import tombstones
from retaind.runtime.admission import Admission
from retaind.runtime.content import Verdict
from retaind.runtime.scan import Root, scan
from retaind.runtime.unkept import Unkept, find_unkept

Find = Callable[..., list[Unkept]]
_NO_RULES = Exclusion()


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.stop()


@pytest.fixture
def find(rig: Rig) -> Iterator[Find]:
    connection: sqlite3.Connection = open_readonly(rig.folder / "retaind.db")

    def find(exclusion: Exclusion = _NO_RULES) -> list[Unkept]:
        stones = tombstones.read(connection, rig.folder)
        admission = Admission(exclusion, lambda cwd: cwd.rpartition("/")[2], stones)
        return find_unkept(connection, scan([Root(ClaudeCode(), os.fsencode(rig.root))]), admission)

    yield find
    connection.close()


def names(found: list[Unkept]) -> list[str]:
    return [os.path.basename(os.fsdecode(one.path)) for one in found]


def test_a_transcript_without_a_row_is_not_kept(rig: Rig, find: Find) -> None:
    (rig.project / "old.jsonl").write_bytes(lines(1, 3))
    rig.settle()
    new = rig.project / "new.jsonl"
    new.write_bytes(lines(4, 6))

    (one,) = find()

    assert one.verdict is Verdict.DIFFERS
    row = one.row()
    assert (row["id"], row["session_id"], row["path"]) == (None, "new", str(new))
    assert (row["source_bytes"], row["vault_bytes"], row["ok"]) == (len(lines(4, 6)), 0, False)
    assert row["reason"] == "not in the vault yet; is the daemon running?"
    rig.settle()
    assert find() == []


def test_an_empty_transcript_has_nothing_to_be_kept(rig: Rig, find: Find) -> None:
    (rig.project / "new.jsonl").write_bytes(b"")

    assert find() == []


def test_a_sub_agent_counts_and_an_attachment_does_not(rig: Rig, find: Find) -> None:
    session = rig.project / "s1"
    (session / "subagents").mkdir(parents=True)
    (session / "subagents" / "agent-a1.jsonl").write_bytes(lines(1, 3))
    (session / "tool-results").mkdir()
    (session / "tool-results" / "x.txt").write_bytes(b"spilled")

    assert names(find()) == ["agent-a1.jsonl"]


def test_a_renamed_or_linked_file_is_kept_under_its_other_name(rig: Rig, find: Find) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        (rig.project / name).write_bytes(lines(1, 3) + name.encode() + b"\n")
    rig.settle()
    (rig.project / "a.jsonl").rename(rig.project / "moved.jsonl")
    (rig.project / "linked.jsonl").hardlink_to(rig.project / "b.jsonl")

    assert find() == []
    with (rig.project / "moved.jsonl").open("ab") as file:
        file.write(lines(4, 4))
    assert names(find()) == ["moved.jsonl"]


def test_excluded_transcripts_are_not_reported(rig: Rig, find: Find) -> None:
    record = {"type": "user", "cwd": "/work/secret", "sessionId": "s", "uuid": "u"}
    (rig.project / "new.jsonl").write_bytes(json.dumps(record).encode() + b"\n")

    assert names(find()) == ["new.jsonl"]
    assert find(Exclusion(paths=("*/projects/-home-dev-lab/*",))) == []
    assert find(Exclusion(projects=("/work/secret",))) == []


def test_forgotten_sessions_are_not_reported(rig: Rig, find: Find) -> None:
    (rig.project / "gone.jsonl").write_bytes(lines(1, 3))
    stones = tombstones.made_of(sessions=[("claude_code", "gone")])
    rig.database.write_now(lambda connection: tombstones.store(connection, stones))

    assert find() == []


def test_what_was_forgotten_is_not_reported_by_the_file_of_tombstones_alone(
    rig: Rig, find: Find
) -> None:
    (rig.project / "gone.jsonl").write_bytes(lines(1, 3))
    tombstones.write(rig.folder, tombstones.made_of(sessions=[("claude_code", "gone")]))

    assert find() == []
