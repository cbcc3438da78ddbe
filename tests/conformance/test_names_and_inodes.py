# ruff: noqa: N802 - rows of the checklist of tailers are named in capitals
"""Group C: names, links and inodes come and go; a stream is what its content proves it to be."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from harness.kept import Stream, found_in, kept_in, numbers_in, streams_in
from harness.process import Home, wait_until
from harness.rig import Rig, append, line, lines

MB = 1 << 20


@pytest.fixture(name="rig")
def _rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path, retaining=True)
    yield rig
    rig.stop()


def _data(streams: dict[str, Stream]) -> dict[str, list[bytes]]:
    return {name: [g.data for g in stream.generations] for name, stream in streams.items()}


@pytest.mark.parametrize("stopped", [False, True], ids=["T22 running", "T23 stopped"])
def test_T22_T23_renamed_inside_the_tree(rig: Rig, *, stopped: bool) -> None:
    a, b = rig.project / "a.jsonl", rig.project / "b.jsonl"
    a.write_bytes(lines(1, 5))
    rig.flush()
    before = rig.streams()["a.jsonl"]
    if stopped:
        rig.stop()
    a.rename(b)
    append(b, lines(6, 8))
    if stopped:
        rig.start()
    rig.flush()

    assert _data(rig.streams()) == {"b.jsonl": [lines(1, 8)]}
    assert rig.streams()["b.jsonl"].public_id == before.public_id
    assert rig.found() == list(range(1, 9))


def test_T24_moved_out_of_the_tree_with_unread_lines(rig: Rig) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(line(1))
    rig.flush()
    append(path, lines(2, 10))
    path.rename(rig.folder / "elsewhere.jsonl")
    rig.flush()
    rig.flush()

    assert _data(rig.streams()) == {"a.jsonl": [lines(1, 10)]}
    assert rig.found() == list(range(1, 11))
    assert rig.state_of("a.jsonl") == "gone"
    assert len(rig.capture.held) == 0


def test_T25_deleted_and_made_again_while_stopped(rig: Rig) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(lines(1, 5))
    rig.flush()
    rig.stop()
    path.unlink()
    path.write_bytes(lines(11, 18))
    rig.start()
    rig.flush()

    assert _data(rig.streams()) == {"a.jsonl": [lines(1, 5), lines(11, 18)]}
    assert rig.found() == [*range(1, 6), *range(11, 19)]


def test_T26_an_inode_number_used_again_by_another_path(rig: Rig) -> None:
    (rig.project / "a.jsonl").write_bytes(lines(1, 5))
    rig.flush()
    (rig.project / "a.jsonl").unlink()
    (rig.project / "b.jsonl").write_bytes(lines(11, 15))
    rig.flush()
    rig.flush()

    assert _data(rig.streams()) == {"a.jsonl": [lines(1, 5)], "b.jsonl": [lines(11, 15)]}
    assert rig.state_of("a.jsonl") == "gone"
    assert rig.found() == [*range(1, 6), *range(11, 16)]


def test_a_file_that_moves_while_it_is_scanned_is_judged_by_the_next_scan(rig: Rig) -> None:
    """Copied on, moved, and its name given to another file, after the folder was listed."""
    path, part = rig.project / "a.jsonl", rig.project / "part"
    path.write_bytes(lines(1, 5))
    rig.flush()
    part.write_bytes(lines(1, 8))
    part.rename(path)
    rig.begin_scan()
    path.rename(rig.project / "b.jsonl")
    path.write_bytes(lines(11, 12))
    rig.flush()

    assert _data(rig.streams()) == {"b.jsonl": [lines(1, 8)], "a.jsonl": [lines(11, 12)]}
    assert rig.found() == [*range(1, 9), 11, 12]


def test_a_file_that_moves_while_its_folder_is_listed_is_judged_by_the_next_scan(rig: Rig) -> None:
    """Met under its old name, and as a copy under another that was listed later."""
    a, b, part = rig.project / "a.jsonl", rig.project / "b.jsonl", rig.project / "part"
    a.write_bytes(lines(1, 5))
    b.write_bytes(lines(11, 15))
    rig.flush()
    part.write_bytes(lines(1, 8))
    part.rename(b)
    rig.begin_scan()
    a.unlink()
    rig.flush()

    kept = rig.streams()
    assert kept["b.jsonl"].data == lines(1, 8)
    assert sum(g.data.startswith(lines(1, 5)) for s in kept.values() for g in s.generations) == 1
    assert rig.found() == [*range(1, 9), *range(11, 16)]


@pytest.mark.parametrize("through", ["a rename", "unlinking", "another name"])
def test_T27_replaced_by_itself_plus_more_lines(rig: Rig, through: str) -> None:
    path, part = rig.project / "a.jsonl", rig.project / "part"
    path.write_bytes(lines(1, 5))
    rig.flush()
    part.write_bytes(lines(1, 8))
    if through != "a rename":
        path.unlink()
    name = "b.jsonl" if through == "another name" else "a.jsonl"
    part.rename(rig.project / name)
    rig.flush()

    assert _data(rig.streams()) == {name: [lines(1, 8)]}
    assert rig.found() == list(range(1, 9))


def test_T27_a_backup_put_back_under_a_number_used_again_goes_on(rig: Rig) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(lines(1, 5))
    rig.flush()
    path.unlink()
    path.write_bytes(lines(1, 8))
    rig.flush()

    assert _data(rig.streams()) == {"a.jsonl": [lines(1, 8)]}


def test_T28_a_symbolic_link_to_a_watched_file(rig: Rig) -> None:
    a = rig.project / "a.jsonl"
    a.write_bytes(lines(1, 5))
    rig.flush()
    (rig.project / "b.jsonl").symlink_to(a)
    rig.flush()
    append(a, lines(6, 7))
    rig.hint(rig.project / "b.jsonl")
    rig.flush()

    assert _data(rig.streams()) == {"a.jsonl": [lines(1, 7)]}
    assert rig.found() == list(range(1, 8))
    assert rig.engine.oddities()["link_inside"] == 1


def test_T29_a_symbolic_link_aimed_elsewhere_again_and_again(rig: Rig) -> None:
    link = rig.project / "x.jsonl"
    for number in range(1, 31):
        target = rig.project / f"t{number}.jsonl"
        target.write_bytes(line(number))
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        rig.hint(link, target)
    rig.flush()

    assert len(rig.streams()) == 30
    assert rig.found() == list(range(1, 31))


def test_T30_links_to_nothing_loops_and_links_out_of_the_root(rig: Rig) -> None:
    outside = rig.folder / "outside"
    outside.mkdir()
    (outside / "b.jsonl").write_bytes(lines(11, 15))
    (rig.project / "nothing.jsonl").symlink_to(rig.folder / "nowhere")
    (rig.project / "loop.jsonl").symlink_to("loop.jsonl")
    (rig.project / "up").symlink_to(rig.project.parent)
    (rig.project / "file.jsonl").symlink_to(outside / "b.jsonl")
    (rig.project.parent / "other-name").symlink_to(outside)
    (rig.project.parent / "root").symlink_to("/")
    (rig.project / "a.jsonl").write_bytes(lines(1, 5))
    rig.flush()
    rig.flush()
    counted = rig.engine.oddities()

    assert _data(rig.streams()) == {"a.jsonl": [lines(1, 5)]}
    assert counted["dangling_link"] == 2
    assert counted["link_inside"] == 1
    assert counted["link_outside"] == 3


@pytest.mark.parametrize("whole", [False, True], ids=["a project", "the root"])
def test_folders_laid_out_by_a_link_farm_are_read_once(home: Home, *, whole: bool) -> None:
    """Project folders, and the root itself, may be links into a folder of settings."""
    elsewhere = home.folder / "dotfiles"
    elsewhere.mkdir()
    linked = home.claude if whole else home.project
    shutil.move(linked, elsewhere / linked.name)
    linked.symlink_to(elsewhere / linked.name)
    path = home.project / "a.jsonl"
    path.write_bytes(lines(1, 4))
    home.start()
    home.flush()
    append(path, lines(5, 6))
    wait_until(
        lambda: kept_in(home.state) == {"a.jsonl": lines(1, 6)}, "the watcher sees through the link"
    )
    home.flush()

    assert len(home.ask("GET", "/v1/sessions")) == 1
    assert numbers_in(home.state) == [1, 2, 3, 4, 5, 6]


def test_one_folder_linked_from_two_roots_is_read_once(home: Home) -> None:
    elsewhere = home.folder / "dotfiles" / "shared"
    elsewhere.mkdir(parents=True)
    path = elsewhere / "a.jsonl"
    path.write_bytes(lines(1, 4))
    other = home.folder / ".claude-work" / "projects"
    other.mkdir(parents=True)
    for projects in (home.project.parent, other):
        (projects / "shared").symlink_to(elsewhere)
    home.start()
    home.flush()
    for number in range(5, 9):
        append(path, line(number))
        home.flush()

    assert kept_in(home.state) == {"a.jsonl": lines(1, 8)}
    assert len(home.ask("GET", "/v1/sessions")) == 1
    assert numbers_in(home.state) == list(range(1, 9))


def test_T31_files_that_look_alike(rig: Rig) -> None:
    common = lines(1, 30)
    start = {"a": common + line(101), "b": common + line(102), "c": b"", "d": b""}
    for name, data in start.items():
        (rig.project / f"{name}.jsonl").write_bytes(data)
    rig.flush()
    for number, name in enumerate(start, 201):
        append(rig.project / f"{name}.jsonl", line(number))
    rig.flush()

    assert _data(rig.streams()) == {
        f"{name}.jsonl": [data + line(number)]
        for number, (name, data) in enumerate(start.items(), 201)
    }
    assert rig.found() == [*range(1, 31), 101, 102, *range(201, 205)]


def test_T32_deleted_while_it_is_being_read(home: Home) -> None:
    path = home.project / "a.jsonl"
    path.write_bytes(line(1))
    home.start()
    home.flush()
    padding = b',"toolUseResult":"' + b"x" * 4000 + b'"}\n'
    data = line(1) + b"".join(line(n)[:-2] + padding for n in range(2, 12_000))
    append(path, data[len(line(1)) :])
    path.unlink()
    wait_until(lambda: home.sessions()["a.jsonl"]["captured_bytes"] == len(data), "all is read")
    wait_until(lambda: not _holds_deleted(home), "the descriptor is given back", 10.0)
    home.flush()

    assert len(data) > 48 * MB
    assert kept_in(home.state) == {"a.jsonl": data}
    assert len(numbers_in(home.state)) == 11_999
    assert home.sessions()["a.jsonl"]["state"] == "source_gone"


def _holds_deleted(home: Home) -> bool:
    for descriptor in home.proc("fd").iterdir():
        with suppress(FileNotFoundError):  # closed since the folder was listed
            if "(deleted)" in os.readlink(descriptor):
                return True
    return False


def test_T33_a_folder_removed_and_made_again(home: Home) -> None:
    path = home.project / "a.jsonl"
    path.write_bytes(lines(1, 3))
    home.start()
    home.flush()
    shutil.rmtree(home.project)
    wait_until(lambda: home.sessions()["a.jsonl"]["state"] == "source_gone", "it is gone")
    home.project.mkdir()
    path.write_bytes(lines(11, 14))
    wait_until(lambda: kept_in(home.state) == {"a.jsonl": lines(11, 14)}, "the new file is read")
    home.flush()

    assert numbers_in(home.state) == [1, 2, 3, 11, 12, 13, 14]


def test_T33_the_whole_root_removed_and_made_again(home: Home) -> None:
    home.config.write_text("[watch]\nscan_interval_s = 1\n")
    path = home.project / "a.jsonl"
    path.write_bytes(lines(1, 3))
    home.start()
    home.flush()
    shutil.rmtree(home.claude)
    home.flush()
    home.project.mkdir(parents=True)
    path.write_bytes(lines(11, 14))
    wait_until(lambda: kept_in(home.state) == {"a.jsonl": lines(11, 14)}, "the new file is read")
    append(path, line(15))
    wait_until(
        lambda: kept_in(home.state) == {"a.jsonl": lines(11, 15)}, "and what is appended to it"
    )


def test_T34_many_new_folders_at_once(home: Home) -> None:
    home.start()
    home.flush()
    for number in range(50):
        folder = home.project.parent / f"-p{number}"
        for deeper in ("", f"s{number}/subagents", f"s{number}/subagents/workflows/wf_1"):
            (folder / deeper).mkdir(parents=True, exist_ok=True)
            name = f"agent-{number}.jsonl" if deeper else f"s{number}.jsonl"
            first = number * 10 + 3 * len(deeper.split("/"))
            (folder / deeper / name).write_bytes(lines(first * 100, first * 100 + 1))
    wait_until(lambda: home.status()["sessions"] == 150, "all of them are met")
    home.flush()

    assert set(found_in(home.state / "retaind.db").values()) == {1}
    assert home.cli("verify", "--deep").returncode == 0


def test_T35_odd_names(home: Home) -> None:
    home.start()
    home.flush()
    folder = os.fsencode(home.project)
    names = [
        b"not-utf8-\xff\xfe.jsonl",
        b"new\nline.jsonl",
        b"n" * 249 + b".jsonl",
        b"Case.jsonl",
        b"case.jsonl",
        "caf\u00e9.jsonl".encode(),
        "cafe\u0301.jsonl".encode(),
        b"'quote\" $HOME %s.jsonl",
    ]
    for number, name in enumerate(names, 1):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(line(number * 10))
    wait_until(lambda: home.status()["sessions"] == len(names), "all of them are met")
    for number, name in enumerate(names, 1):
        with open(os.path.join(folder, name), "ab") as file:
            file.write(line(number * 10 + 1))
    home.flush()
    late = home.project / "late.jsonl"
    late.write_bytes(line(5))
    wait_until(lambda: home.status()["sessions"] == len(names) + 1, "it still looks")
    home.flush()

    assert {os.fsencode(s.name): s.data for s in streams_in(home.state / "retaind.db")} == {
        name: lines(number * 10, number * 10 + 1) for number, name in enumerate(names, 1)
    } | {b"late.jsonl": line(5)}
    assert home.cli("verify", "--deep").returncode == 0
    assert home.cli("sessions").returncode == 0
