"""`verify` finds each kind of difference, and nothing where there is none."""

import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from retaind.db import open_readonly
from retaind.runtime.content import Verdict
from retaind.runtime.verify import take_sizes, verify
from retaind.vault.streams import OpenGeneration
from runtime.vaulted import Vaulted

LINES = b'{"type":"user"}\n{"type":"assistant"}\n'
Check = Callable[..., tuple[dict[str, Any], Verdict]]


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


@pytest.fixture
def check(reader: sqlite3.Connection) -> Check:
    def check(*, deep: bool = False) -> tuple[dict[str, Any], Verdict]:
        facts, verdict = verify(reader, take_sizes(reader), ["local"], deep=deep)
        assert facts["ok"] == (verdict is Verdict.OK)
        return facts["sessions"][0], verdict

    return check


def settled(state: Vaulted, name: str = "s1.jsonl", content: bytes = LINES) -> OpenGeneration:
    opened = state.keep(name, content, block_bytes=7)
    state.cursor(
        opened.generation_id,
        len(content),
        records=4,
        retained=2,
        dropped={"meta": 1, "duplicate": 1},
    )
    return opened


def path_of(opened: OpenGeneration) -> Path:
    return Path(os.fsdecode(opened.path))


@pytest.mark.parametrize("deep", [False, True])
def test_equal_bytes_and_accounted_records_are_ok(
    state: Vaulted,
    check: Check,
    deep: bool,  # noqa: FBT001 - pytest passes it by name
) -> None:
    opened = settled(state)

    row, verdict = check(deep=deep)

    assert verdict is Verdict.OK
    assert row == {
        "id": opened.public_id,
        "session_id": "s1",
        "source_bytes": 37,
        "vault_bytes": 37,
        "pruned_bytes": 0,
        "kept_bytes": 37,
        "sha256": hashlib.sha256(LINES).hexdigest() if deep else None,
        "memories": {
            "local": {
                "records": 4,
                "retained": 2,
                "dropped": 2,
                "pending": 0,
                "set_aside": 0,
                "duplicate": 1,
            }
        },
        "ok": True,
        "reason": None,
    }


def test_bytes_that_were_not_captured_differ(state: Vaulted, check: Check) -> None:
    path_of(settled(state)).write_bytes(LINES * 2)

    row, verdict = check()

    assert verdict is Verdict.DIFFERS
    assert row["reason"] == "37 bytes are not captured yet"


def test_growth_after_the_sizes_were_taken_is_no_fault(
    state: Vaulted, reader: sqlite3.Connection
) -> None:
    opened = settled(state)
    sources = take_sizes(reader)
    path_of(opened).write_bytes(LINES * 2)

    assert verify(reader, sources, ["local"])[1] is Verdict.OK


def test_a_source_that_shrank_differs(state: Vaulted, check: Check) -> None:
    path_of(settled(state)).write_bytes(LINES[:5])

    assert "truncated" in check()[0]["reason"]


def test_another_file_of_the_same_bytes_is_ok(state: Vaulted, check: Check) -> None:
    opened = settled(state)
    copy = state.folder / "copy"
    copy.write_bytes(LINES)
    copy.replace(path_of(opened))

    row, verdict = check()

    assert verdict is Verdict.OK
    assert row["sha256"] is None


def test_another_file_of_other_bytes_differs_without_deep(state: Vaulted, check: Check) -> None:
    opened = settled(state)
    copy = state.folder / "copy"
    copy.write_bytes(LINES.replace(b"user", b"ruse"))
    copy.replace(path_of(opened))

    assert check()[1] is Verdict.DIFFERS


def test_changed_bytes_are_found_by_deep_alone(state: Vaulted, check: Check) -> None:
    opened = settled(state)
    with path_of(opened).open("r+b") as file:
        file.seek(10)
        file.write(b"X")

    assert check()[1] is Verdict.OK
    row, verdict = check(deep=True)
    assert verdict is Verdict.DIFFERS
    assert row["reason"] == "source and vault differ between 7 and 14"


def test_a_deleted_source_is_ok_and_said(state: Vaulted, check: Check) -> None:
    path_of(settled(state)).unlink()

    row, verdict = check(deep=True)

    assert verdict is Verdict.OK
    assert row["source_bytes"] is None
    assert "gone" in row["reason"]
    assert row["sha256"] == hashlib.sha256(LINES).hexdigest()


def test_a_source_that_cannot_be_seen_is_unobservable(state: Vaulted, check: Check) -> None:
    opened = settled(state)
    path_of(opened).unlink()
    path_of(opened).symlink_to(path_of(opened).name)

    row, verdict = check()

    assert verdict is Verdict.UNOBSERVABLE
    assert not row["ok"]
    assert "cannot be seen" in row["reason"]


def test_a_damaged_block_is_found(state: Vaulted, check: Check) -> None:
    opened = settled(state)
    state.run(
        "UPDATE block SET data = x'00' WHERE generation_id = ? AND start = 14",
        (opened.generation_id,),
    )

    assert "block at 14" in check(deep=True)[0]["reason"]


def test_a_missing_block_is_found(state: Vaulted, check: Check) -> None:
    opened = settled(state)
    state.run("DELETE FROM block WHERE generation_id = ? AND start = 14", (opened.generation_id,))

    assert check(deep=True)[1] is Verdict.DIFFERS


def test_a_missing_last_block_is_found(state: Vaulted, check: Check) -> None:
    opened = settled(state)
    state.run("DELETE FROM block WHERE generation_id = ? AND start = 35", (opened.generation_id,))

    assert check(deep=True)[0]["reason"] == "the vault ends at 35 instead of 37"


def test_a_pruned_block_is_compared_by_its_hash(state: Vaulted, check: Check) -> None:
    opened = settled(state)
    state.run(
        "UPDATE block SET data = NULL, sha256 = ? WHERE generation_id = ? AND start = 7",
        (hashlib.sha256(LINES[7:14]).digest(), opened.generation_id),
    )

    row, verdict = check(deep=True)

    assert verdict is Verdict.OK
    assert row["pruned_bytes"] == 7
    assert row["sha256"] is None


def test_records_without_an_account_differ(state: Vaulted, check: Check) -> None:
    opened = state.keep("s1.jsonl", LINES)
    state.cursor(opened.generation_id, len(LINES), records=3, retained=2)

    assert check()[0]["reason"] == "local: 3 records, but 2 accounted for"


def test_lines_that_no_memory_took_differ(state: Vaulted, check: Check) -> None:
    opened = state.keep("s1.jsonl", LINES)
    state.cursor(opened.generation_id, 16)

    assert check()[0]["reason"] == "local: 21 bytes are not retained yet"


def test_an_unfinished_line_is_fine(state: Vaulted, check: Check) -> None:
    opened = state.keep("s1.jsonl", LINES + b'{"half')
    state.cursor(opened.generation_id, len(LINES))

    assert check()[1] is Verdict.OK


def test_a_closed_generation_must_be_retained_to_its_end(state: Vaulted, check: Check) -> None:
    opened = state.keep("s1.jsonl", LINES + b'{"half')
    state.cursor(opened.generation_id, len(LINES))
    second = state.rewrite(opened, LINES)
    state.cursor(second, len(LINES))

    assert check()[0]["reason"] == "local: 6 bytes are not retained yet"


def test_an_excluded_session_has_nothing_to_compare(state: Vaulted, check: Check) -> None:
    state.keep("s1.jsonl", LINES, captured=b"", mode="off")

    row, verdict = check(deep=True)

    assert verdict is Verdict.OK
    assert "excluded" in row["reason"]


def test_what_is_wrong_with_an_attachment_is_said_of_its_session(
    state: Vaulted, check: Check
) -> None:
    settled(state)
    part = state.keep("result.txt", b"12345", captured=b"123", kind="attachment", owner="s1")

    row, verdict = check()

    assert verdict is Verdict.DIFFERS
    assert row["reason"] == f"attachment {part.public_id}: 2 bytes are not captured yet"


def test_one_difference_among_many_decides(state: Vaulted, reader: sqlite3.Connection) -> None:
    settled(state)
    path_of(settled(state, "s2.jsonl")).write_bytes(LINES + b"x\n")

    facts, verdict = verify(reader, take_sizes(reader), ["local"])

    assert verdict is Verdict.DIFFERS
    assert [row["ok"] for row in sorted(facts["sessions"], key=lambda row: row["session_id"])] == [
        True,
        False,
    ]
