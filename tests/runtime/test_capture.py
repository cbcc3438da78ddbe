"""What reaches the vault, by what happens to a file. Driven by scans alone, without a watcher."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.rig import Rig, line, lines


@pytest.fixture(name="rig")
def _rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path)
    yield rig
    rig.stop()


def test_every_byte_of_a_transcript_is_kept(rig: Rig) -> None:
    (rig.project / "a.jsonl").write_bytes(lines(1, 40))
    rig.settle()

    assert rig.kept() == {"a.jsonl": [lines(1, 40)]}


def test_appended_lines_follow_what_is_kept(rig: Rig) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(lines(1, 3))
    rig.settle()
    with path.open("ab") as file:
        file.write(lines(4, 9))
    rig.settle()

    assert rig.kept() == {"a.jsonl": [lines(1, 9)]}


def test_a_half_written_line_is_kept_and_goes_on_after_a_restart(rig: Rig) -> None:
    path = rig.project / "a.jsonl"
    whole = lines(1, 3)
    path.write_bytes(whole[:-40])
    rig.settle()
    rig.restart()
    with path.open("ab") as file:
        file.write(whole[-40:])
    rig.settle()

    assert rig.kept() == {"a.jsonl": [whole]}


def test_a_file_over_a_block_is_kept_whole(rig: Rig) -> None:
    data = lines(1, 90) * 120
    (rig.project / "a.jsonl").write_bytes(data)
    rig.settle()

    assert len(data) > 2 << 20
    assert rig.kept() == {"a.jsonl": [data]}


@pytest.mark.parametrize(
    ("after", "generations"),
    [
        pytest.param(lines(7, 8), [lines(1, 6), lines(7, 8)], id="shorter"),
        pytest.param(lines(11, 30), [lines(1, 6), lines(11, 30)], id="longer"),
        pytest.param(line(9) * 6, [lines(1, 6), line(9) * 6], id="of the same size"),
        pytest.param(b"", [lines(1, 6), b""], id="empty"),
    ],
)
@pytest.mark.parametrize("stopped", [False, True], ids=["while running", "while stopped"])
def test_a_rewritten_file_begins_a_generation_and_the_old_one_stays(
    rig: Rig, after: bytes, generations: list[bytes], *, stopped: bool
) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(lines(1, 6))
    rig.settle()
    if stopped:
        rig.stop()
    path.write_bytes(after)
    if stopped:
        rig.start()
    rig.settle()

    assert rig.kept() == {"a.jsonl": generations}


def test_a_file_cut_to_what_is_captured_goes_on(rig: Rig) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(lines(1, 6))
    rig.settle()
    path.write_bytes(lines(1, 6) + lines(7, 8))
    rig.settle()

    assert rig.kept() == {"a.jsonl": [lines(1, 8)]}


@pytest.mark.parametrize("stopped", [False, True], ids=["while running", "while stopped"])
def test_a_renamed_file_keeps_its_stream(rig: Rig, *, stopped: bool) -> None:
    (rig.project / "a.jsonl").write_bytes(lines(1, 5))
    rig.settle()
    before = [tracked.row.public_id for tracked in rig.capture.index]
    if stopped:
        rig.stop()
    (rig.project / "a.jsonl").rename(rig.project / "b.jsonl")
    with (rig.project / "b.jsonl").open("ab") as file:
        file.write(lines(6, 8))
    if stopped:
        rig.start()
    rig.settle()

    assert rig.kept() == {"b.jsonl": [lines(1, 8)]}
    assert [tracked.row.public_id for tracked in rig.capture.index] == before


def test_a_file_replaced_by_itself_and_more_goes_on(rig: Rig) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(lines(1, 5))
    rig.settle()
    copy = rig.project / "a.jsonl.tmp"
    copy.write_bytes(lines(1, 8))
    copy.replace(path)
    rig.settle()

    assert rig.kept() == {"a.jsonl": [lines(1, 8)]}


def test_a_file_replaced_by_something_else_begins_a_generation(rig: Rig) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(lines(1, 20))
    rig.settle()
    other = rig.project / "a.jsonl.tmp"
    other.write_bytes(line(99, "summary") + lines(16, 20))
    other.replace(path)
    rig.settle()

    assert rig.kept() == {"a.jsonl": [lines(1, 20), line(99, "summary") + lines(16, 20)]}


def test_a_copy_of_a_living_file_is_a_stream_with_a_parent(rig: Rig) -> None:
    (rig.project / "a.jsonl").write_bytes(lines(1, 9))
    rig.settle()
    (rig.project / "b.jsonl").write_bytes(lines(1, 12))
    rig.settle()

    assert rig.kept() == {"a.jsonl": [lines(1, 9)], "b.jsonl": [lines(1, 12)]}


def test_an_inode_used_again_by_another_path_is_another_stream(rig: Rig) -> None:
    (rig.project / "a.jsonl").write_bytes(lines(1, 5))
    rig.settle()
    (rig.project / "a.jsonl").unlink()
    (rig.project / "b.jsonl").write_bytes(lines(50, 54))
    rig.settle()
    rig.settle()

    assert rig.kept() == {"a.jsonl": [lines(1, 5)], "b.jsonl": [lines(50, 54)]}
    assert rig.state_of("a.jsonl") == "gone"


def test_a_file_made_again_at_its_path_begins_a_generation(rig: Rig) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(lines(1, 5))
    rig.settle()
    path.unlink()
    rig.settle()
    rig.settle()
    path.write_bytes(lines(20, 28))
    rig.settle()

    assert rig.kept() == {"a.jsonl": [lines(1, 5), lines(20, 28)]}
    assert rig.state_of("a.jsonl") == "present"


def test_files_that_look_alike_are_streams_of_their_own(rig: Rig) -> None:
    common = lines(1, 30)
    (rig.project / "a.jsonl").write_bytes(common)
    (rig.project / "b.jsonl").write_bytes(common)
    (rig.project / "c.jsonl").touch()
    (rig.project / "d.jsonl").touch()
    rig.settle()
    for name, number in (("a", 101), ("b", 102), ("c", 103), ("d", 104)):
        with (rig.project / f"{name}.jsonl").open("ab") as file:
            file.write(line(number))
    rig.settle()

    assert rig.kept() == {
        "a.jsonl": [common + line(101)],
        "b.jsonl": [common + line(102)],
        "c.jsonl": [line(103)],
        "d.jsonl": [line(104)],
    }


def test_a_second_name_of_a_file_is_the_same_stream(rig: Rig) -> None:
    (rig.project / "a.jsonl").write_bytes(lines(1, 3))
    os.link(rig.project / "a.jsonl", rig.project / "b.jsonl")
    rig.settle()
    with (rig.project / "b.jsonl").open("ab") as file:
        file.write(lines(4, 5))
    rig.settle()

    assert list(rig.kept().values()) == [[lines(1, 5)]]


def test_what_was_written_just_before_an_unlink_is_kept(rig: Rig) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(lines(1, 5))
    rig.settle()
    with path.open("ab") as file:
        file.write(lines(6, 25))
    path.unlink()
    rig.hint(path)

    assert rig.kept() == {"a.jsonl": [lines(1, 25)]}


def test_what_was_written_just_before_a_replacement_is_kept(rig: Rig) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(lines(1, 5))
    rig.settle()
    with path.open("ab") as file:
        file.write(lines(6, 7))
    stub = rig.project / "stub"
    stub.write_bytes(lines(80, 81))
    stub.replace(path)
    rig.settle()

    assert rig.kept() == {"a.jsonl": [lines(1, 7), lines(80, 81)]}


def test_a_session_reset_by_renaming_leaves_both_files(rig: Rig) -> None:
    path = rig.project / "s.jsonl"
    path.write_bytes(lines(1, 9))
    rig.settle()
    path.rename(rig.project / "s.jsonl.reset.1764400000")
    path.write_bytes(lines(30, 34))
    rig.settle()

    assert rig.kept() == {"s.jsonl.reset.1764400000": [lines(1, 9)], "s.jsonl": [lines(30, 34)]}


def test_two_files_that_trade_their_names_keep_their_streams(rig: Rig) -> None:
    a, b = rig.project / "a.jsonl", rig.project / "b.jsonl"
    a.write_bytes(lines(1, 9))
    b.write_bytes(lines(40, 49))
    rig.settle()
    a.rename(rig.project / "c")
    b.rename(a)
    (rig.project / "c").rename(b)
    rig.settle()

    assert rig.kept() == {"a.jsonl": [lines(40, 49)], "b.jsonl": [lines(1, 9)]}


def test_a_hint_alone_is_enough_for_a_new_file(rig: Rig) -> None:
    rig.settle()
    path = rig.project / "new.jsonl"
    path.write_bytes(lines(1, 4))
    rig.hint(path)

    assert rig.kept() == {"new.jsonl": [lines(1, 4)]}


def test_a_thousand_small_appends_end_in_few_blocks(rig: Rig) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(b"")
    rig.settle()
    with path.open("ab", buffering=0) as file:
        for number in range(1000):
            file.write(line(number))
            rig.hint(path)
    (stream_id,) = {tracked.row.stream_id for tracked in rig.capture.index}
    blocks = rig.database.write_now(lambda c: c.execute("SELECT count(*) FROM block").fetchone()[0])

    assert rig.bytes_of(stream_id) == [lines(0, 999)]
    assert blocks < 100


def test_a_hint_by_a_way_around_through_a_link_is_understood(rig: Rig) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(lines(1, 3))
    (rig.root / "projects" / "around").symlink_to(rig.folder)
    rig.settle()
    with path.open("ab") as file:
        file.write(lines(4, 5))
    rig.hint(rig.root / "projects" / "around" / path.relative_to(rig.folder))

    assert rig.kept() == {"a.jsonl": [lines(1, 5)]}
