# ruff: noqa: N802 - rows of the checklist of tailers are named in capitals
"""Group B: files that are cut, rewritten and compacted begin a generation, and the old one stays."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.kept import Generation
from harness.rig import Rig, append, line, lines
from retaind.runtime.examine import ChangedWhileReadError, take
from retaind.runtime.opened import Opened
from retaind.vault.identity import NOTHING


@pytest.fixture(name="rig")
def _rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path, retaining=True)
    yield rig
    rig.stop()


@pytest.fixture(name="path")
def _path(rig: Rig) -> Path:
    return rig.project / "a.jsonl"


def _generations(rig: Rig) -> list[bytes]:
    return [generation.data for generation in rig.streams()["a.jsonl"].generations]


def test_T14_cut_to_nothing_and_then_less_than_before(rig: Rig, path: Path) -> None:
    path.write_bytes(lines(1, 6))
    rig.flush()
    os.truncate(path, 0)
    rig.flush()
    append(path, lines(7, 8))
    rig.flush()

    assert _generations(rig) == [lines(1, 6), lines(7, 8)]
    assert rig.found() == list(range(1, 9))
    assert rig.streams()["a.jsonl"].said == tuple(range(1, 9))


def test_T15_cut_shorter_while_stopped(rig: Rig, path: Path) -> None:
    path.write_bytes(lines(1, 6))
    rig.flush()
    rig.stop()
    path.write_bytes(lines(7, 8))
    rig.start()
    rig.flush()

    assert _generations(rig) == [lines(1, 6), lines(7, 8)]
    assert rig.found() == list(range(1, 9))


def test_T16_rewritten_longer_while_stopped(rig: Rig, path: Path) -> None:
    path.write_bytes(lines(1, 4))
    rig.flush()
    rig.stop()
    path.write_bytes(lines(11, 22))
    rig.start()
    rig.flush()

    assert _generations(rig) == [lines(1, 4), lines(11, 22)]
    assert rig.found() == [1, 2, 3, 4, *range(11, 23)]


def test_T17_rewritten_in_place_with_the_same_size(rig: Rig, path: Path) -> None:
    path.write_bytes(lines(11, 14))
    rig.flush()
    path.write_bytes(lines(21, 24))
    rig.flush()

    assert len(lines(11, 14)) == len(lines(21, 24))
    assert _generations(rig) == [lines(11, 14), lines(21, 24)]
    assert rig.found() == [*range(11, 15), *range(21, 25)]


def test_T18_a_change_in_the_middle_cannot_be_seen_and_repeats_nothing(
    rig: Rig, path: Path
) -> None:
    data = lines(1001, 1500)
    path.write_bytes(data)
    rig.flush()
    with path.open("r+b") as file:
        file.seek(len(data) // 2)
        file.write(b"#" * 40)
    append(path, line(1501))
    rig.flush()

    assert _generations(rig) == [data + line(1501)]
    assert rig.found() == list(range(1001, 1502))


def test_T19_cut_to_exactly_what_is_captured(rig: Rig, path: Path) -> None:
    path.write_bytes(lines(1, 6))
    rig.flush()
    path.write_bytes(lines(1, 10))
    os.truncate(path, len(lines(1, 6)))
    rig.flush()
    append(path, lines(11, 12))
    rig.flush()

    assert _generations(rig) == [lines(1, 6) + lines(11, 12)]
    assert rig.found() == [*range(1, 7), 11, 12]


def test_T20_cut_inside_the_part_that_was_not_read(rig: Rig, path: Path) -> None:
    path.write_bytes(lines(1, 5))
    rig.flush()
    path.write_bytes(lines(1, 10))
    os.truncate(path, len(lines(1, 7)))
    rig.flush()

    assert _generations(rig) == [lines(1, 7)]
    assert rig.found() == list(range(1, 8))


def test_T21_compacted_under_a_new_summary(rig: Rig, path: Path) -> None:
    path.write_bytes(lines(1, 20))
    rig.flush()
    part = rig.project / "part"
    part.write_bytes(line(99, "summary said") + lines(16, 20))
    part.replace(path)
    rig.flush()

    (first, second) = rig.streams()["a.jsonl"].generations
    assert first == Generation(lines(1, 20), "replaced")
    assert second == Generation(line(99, "summary said") + lines(16, 20), None)
    assert rig.found() == [*range(1, 21), 99]
    assert rig.dropped("a.jsonl") == {"duplicate": 5}


def test_a_tail_cut_off_and_grown_anew_past_the_old_size_is_kept_twice(
    rig: Rig, path: Path
) -> None:
    path.write_bytes(lines(1, 10))
    rig.flush()
    os.truncate(path, len(lines(1, 5)))
    append(path, lines(101, 110))
    rig.flush()

    assert _generations(rig) == [lines(1, 10), lines(1, 5) + lines(101, 110)]
    assert rig.found() == [*range(1, 11), *range(101, 111)]
    assert rig.streams()["a.jsonl"].said == (*range(1, 11), *range(101, 111))


@pytest.mark.parametrize("kept", [0, 3, 40], ids=["all of it", "its tail", "a far tail"])
def test_a_file_rewritten_between_comparing_and_reading_adds_nothing(
    tmp_path: Path, kept: int
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(1, 50))
    opened = Opened(os.fsencode(path))
    known = take(opened, NOTHING).evidence
    path.write_bytes(lines(1, kept) + lines(1001, 1100))

    with pytest.raises(ChangedWhileReadError):
        take(opened, known)
    opened.close()


class _Rewritten(Opened):
    """A file that another process rewrites while we are at its second block."""

    def read_at(self, length: int, offset: int) -> bytes:
        if offset == 1 << 20:
            with open(self.path, "r+b") as file:
                file.truncate(1000)
                file.seek(1000)
                file.write(b"n" * (4 << 20))
        return super().read_at(length, offset)


def test_a_file_rewritten_between_two_blocks_adds_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"o" * (3 << 20))
    opened = _Rewritten(os.fsencode(path))

    with pytest.raises(ChangedWhileReadError):
        take(opened, NOTHING)
    opened.close()
