"""What the engine knows of files that wait or cannot be read."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.rig import Rig, lines
from retaind.hosts.claude_code import ClaudeCode
from retaind.runtime.looks import uncaptured_bytes
from retaind.runtime.scan import Root, scan
from retaind.runtime.unreadable import Unreadable


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.stop()


def test_bytes_of_files_that_are_still_to_be_looked_at_are_counted(rig: Rig) -> None:
    known, new = rig.project / "a.jsonl", rig.project / "b.jsonl"
    known.write_bytes(lines(1, 3))
    rig.settle()
    with known.open("ab") as file:
        file.write(lines(4, 4))
    new.write_bytes(lines(5, 9))

    rig.engine.hint([os.fsencode(known), os.fsencode(new)])

    assert uncaptured_bytes(rig.engine) == len(lines(4, 4)) + len(lines(5, 9))
    rig.settle()
    assert uncaptured_bytes(rig.engine) == 0


def test_a_path_is_unreadable_by_its_last_look_alone() -> None:
    unreadable = Unreadable()
    unreadable.judge(b"/a", "EACCES")
    unreadable.judge(b"/a", "EACCES")
    unreadable.judge(b"/b", "EIO")
    unreadable.judge(b"/b", "EMFILE")

    assert unreadable.paths() == {b"/a": "permission", b"/b": "EIO"}
    unreadable.works(b"/a")
    unreadable.judge(b"/b", "ENOENT")
    assert not unreadable.paths()


def test_a_path_that_a_scan_no_longer_meets_is_forgotten(rig: Rig) -> None:
    here, gone = (os.fsencode(rig.project / name) for name in ("a.jsonl", "b.jsonl"))
    Path(os.fsdecode(here)).write_bytes(lines(1, 3))
    unreadable = Unreadable()
    for path in (here, gone):
        unreadable.judge(path, "EACCES")

    unreadable.drop_absent(scan([Root(ClaudeCode(), os.fsencode(rig.root))]))

    assert list(unreadable.paths()) == [here]
