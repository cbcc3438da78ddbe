"""What happens to a generation that ends while something of it still waits."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.rig import Rig, line, lines


@pytest.fixture(name="rig")
def _rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path, retaining=True)
    yield rig
    rig.stop()


@pytest.mark.parametrize("rest", [b"   ", b"\t", b"\0\0\0", b'{"half', b"\r"])
def test_a_closed_generation_is_retained_to_its_end_whatever_its_tail_is(
    rig: Rig, rest: bytes
) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(lines(1, 3) + rest)
    rig.flush()
    path.write_bytes(lines(11, 12))
    rig.flush()

    assert rig.retainer.queue.bytes() == 0
    assert rig.found() == [1, 2, 3, 11, 12]


def test_short_lines_before_an_overlong_one_are_retained(rig: Rig) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(line(1))
    rig.settle()
    with path.open("ab") as file:
        file.write(line(2, "x" * (33 << 20)) + line(3))
    rig.flush()

    assert rig.found() == [1, 3]


def test_all_of_an_unlinked_file_is_read_however_much_is_left(rig: Rig) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(lines(1, 5))
    rig.settle()
    with path.open("ab") as file:
        file.write(lines(6, 1005) * 120)
    size = path.stat().st_size
    path.unlink()
    rig.settle()
    rig.settle()
    rig.settle()

    assert size > 24 << 20
    assert len(rig.streams()["a.jsonl"].data) == size
    assert rig.state_of("a.jsonl") == "gone"


def test_a_file_that_was_quiet_since_the_start_survives_its_unlinking(rig: Rig) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(lines(1, 5))
    rig.settle()
    rig.restart()
    rig.settle()
    with path.open("ab") as file:
        file.write(lines(6, 25))
    path.unlink()
    rig.hint(path)

    assert rig.streams()["a.jsonl"].data == lines(1, 25)


def test_a_damaged_block_holds_back_its_own_session_only(rig: Rig) -> None:
    (rig.project / "a.jsonl").write_bytes(lines(1, 3))
    (rig.project / "b.jsonl").write_bytes(lines(4, 6))
    rig.settle()
    rig.stop()
    with sqlite3.connect(rig.database.path) as connection:
        connection.execute(
            "UPDATE block SET data = x'00112233' WHERE generation_id = (SELECT g.id FROM generation g"
            " JOIN stream s ON s.id = g.stream_id WHERE s.session_id = 'a')"
        )
    connection.close()
    rig.start()
    rig.flush()
    (rig.project / "a.jsonl").write_bytes(lines(1, 3) + lines(7, 9))
    rig.flush()
    (rig.project / "a.jsonl").write_bytes(lines(27, 29))
    rig.flush()

    assert rig.found() == [4, 5, 6]
    assert len(rig.retainer.failing) == 1


def test_a_line_written_through_a_linked_folder_is_read_at_its_hint(rig: Rig) -> None:
    elsewhere = rig.folder / "elsewhere" / "linked"
    elsewhere.mkdir(parents=True)
    link = rig.root / "projects" / "linked"
    link.symlink_to(elsewhere)
    (elsewhere / "a.jsonl").write_bytes(lines(1, 2))
    rig.settle()
    with (elsewhere / "a.jsonl").open("ab") as file:
        file.write(lines(3, 4))
    rig.hint(link / "a.jsonl")

    assert rig.streams()["a.jsonl"].data == lines(1, 4)
