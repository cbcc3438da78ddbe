# ruff: noqa: N802 - rows of the checklist of tailers are named in capitals
"""Group H: many restarts, and the books that are kept of files that vanish. Longer with RETAIND_SOAK."""

import os
import time
from pathlib import Path
from statistics import median

import pytest

from harness.kept import found_in, streams_in
from harness.process import Home
from harness.rig import Rig, append, line, lines

SOAK = bool(os.environ.get("RETAIND_SOAK"))
RESTARTS = 1000 if SOAK else 30
FILES = 500 if SOAK else 100
VANISHING = 10_000 if SOAK else 300


@pytest.mark.timeout(1800)
def test_T69_many_restarts_leave_the_state_small_and_the_start_quick(home: Home) -> None:
    paths = [home.project / f"s{number}.jsonl" for number in range(FILES)]
    for number, path in enumerate(paths):
        path.write_bytes(line(number))
    home.start()
    home.flush()
    took = []
    for number in range(RESTARTS):
        home.signal(15 if number % 2 else 9)
        append(paths[number % FILES], line(10_000 + number))
        begun = time.monotonic()
        home.start()
        took.append(time.monotonic() - begun)
    home.flush()
    home.stop()
    size = sum(path.stat().st_size for path in home.state.rglob("*") if path.is_file())

    assert sorted(found_in(home.state / "retaind.db").elements()) == [
        *range(FILES),
        *range(10_000, 10_000 + RESTARTS),
    ]
    assert size < 4_000_000 + 2_000 * (FILES + RESTARTS)
    assert len(list(home.state.iterdir())) < 10
    assert median(took[-10:]) < 3 * median(took[:10]) + 0.2


def test_T70_the_books_of_files_that_vanish(tmp_path: Path) -> None:
    rig = Rig(tmp_path, retaining=True)
    for number in range(VANISHING):
        (rig.project / f"s{number}.jsonl").write_bytes(lines(number * 10, number * 10 + 1))
    rig.flush()
    for path in list(rig.project.iterdir()):
        path.unlink()
    rig.flush()
    states = {stream.source_state for stream in rig.streams().values()}
    rig.flush()
    gone = {stream.source_state for stream in rig.streams().values()}
    rig.restart()
    for number in range(10):
        (rig.project / f"s{number}.jsonl").write_bytes(lines(900_000 + number, 900_001 + number))
    rig.flush()
    streams = rig.streams()
    found = rig.found()
    rig.stop()

    assert states == {"present"}
    assert gone == {"gone"}
    assert len(streams) == VANISHING
    assert [len(streams[f"s{n}.jsonl"].generations) for n in range(12)] == [2] * 10 + [1] * 2
    assert streams["s3.jsonl"].source_state == "present"
    assert streams["s11.jsonl"].data == lines(110, 111)
    assert len(found) == len(set(found))


def test_T02_T31_streams_of_one_name_in_many_folders_stay_apart(tmp_path: Path) -> None:
    rig = Rig(tmp_path, retaining=True)
    for number in range(30):
        folder = rig.project.parent / f"-p{number}"
        folder.mkdir()
        (folder / "s.jsonl").write_bytes(lines(number * 100, number * 100 + 5))
    rig.flush()
    for number in range(30):
        append(rig.project.parent / f"-p{number}" / "s.jsonl", line(number * 100 + 6))
    rig.flush()
    kept = [stream.data for stream in streams_in(rig.database.path)]
    rig.stop()

    assert sorted(kept) == sorted(lines(n * 100, n * 100 + 6) for n in range(30))
