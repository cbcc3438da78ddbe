"""Things that happen at once: rules that change under a round, writers that never stop, foreign rows."""

import asyncio
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.kept import found_in, streams_in
from harness.process import Home, wait_until
from harness.rig import Rig, append, line, lines
from retaind.core.policy import Exclusion


@contextmanager
def _writing(path: Path) -> Iterator[list[int]]:
    """Append line after line from a thread; gives the numbers written so far."""
    stop = threading.Event()
    written: list[int] = []

    def write() -> None:
        with path.open("ab", buffering=0) as file:
            while not stop.wait(0.0005):
                file.write(line(len(written) + 1))
                written.append(len(written) + 1)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield written
    finally:
        stop.set()
        thread.join()


def test_a_flush_does_not_wait_for_a_writer_that_never_stops(home: Home) -> None:
    path = home.project / "a.jsonl"
    path.touch()
    home.start()
    with _writing(path) as written:
        wait_until(lambda: len(written) > 50, "it writes")
        for _ in range(5):
            before = len(written)
            home.flush()
            assert set(found_in(home.state / "retaind.db")) >= set(written[:before])
        assert home.stop() == 0
    home.start()
    home.flush()

    (kept,) = streams_in(home.state / "retaind.db")
    assert kept.data == lines(1, len(written))
    assert kept.said == tuple(written)


def test_rules_that_change_during_a_round_put_no_offset_back(tmp_path: Path) -> None:
    rig = Rig(tmp_path, retaining=True)
    paths = [rig.project / f"s{number}.jsonl" for number in range(8)]
    rules = [
        Exclusion(),
        Exclusion(projects=("/home/dev/other",)),
        Exclusion(modes=(("/home/dev/elsewhere", "off"),)),
    ]

    async def both(number: int) -> None:
        await asyncio.gather(
            rig.engine.settle(), rig.engine.apply_rules(rules[number % len(rules)], 60.0)
        )

    for number in range(60):
        for at, path in enumerate(paths):
            append(path, line(number * 10 + at))
        rig.run(both(number))
    rig.flush()
    kept = {name: stream.data for name, stream in rig.streams().items()}
    found = rig.found()
    rig.stop()

    assert kept == {path.name: path.read_bytes() for path in paths}
    assert found == sorted(number * 10 + at for number in range(60) for at in range(8))


def test_a_stream_excluded_during_a_round_stays_excluded(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    path = rig.project / "a.jsonl"
    path.write_bytes(lines(1, 3))
    rig.settle()
    append(path, lines(4, 20_000))

    async def exclude() -> None:
        while rig.engine.import_progress() is None:  # noqa: ASYNC110 - a listing's end is no event
            await asyncio.sleep(0)
        await rig.engine.apply_rules(Exclusion(projects=("/home/dev/lab",)), 60.0)

    async def both() -> None:
        await asyncio.gather(rig.engine.settle(), exclude())

    rig.run(both())
    kept = rig.streams()["a.jsonl"].data
    append(path, lines(20_001, 20_009))
    rig.settle()
    rig.restart()
    rig.settle()
    after = rig.streams()["a.jsonl"].data
    rig.stop()

    assert after == kept


def test_an_error_that_nobody_foresaw_ends_nothing_and_is_said(home: Home) -> None:
    path = home.project / "a.jsonl"
    path.write_bytes(lines(1, 3))
    home.start()
    home.flush()
    home.stop()
    with sqlite3.connect(home.state / "retaind.db") as other:
        other.execute(
            "INSERT INTO block (generation_id, start, length, data) SELECT id, captured, 1, x'00'"
            " FROM generation"
        )
    other.close()
    home.start()
    (home.project / "b.jsonl").write_bytes(lines(11, 13))
    append(path, line(4))
    wait_until(lambda: home.status()["last_error"], "it is said")
    assert home.status()["state"] == "degraded"

    with sqlite3.connect(home.state / "retaind.db") as other:
        other.execute("DELETE FROM block WHERE length = 1")
    other.close()
    wait_until(lambda: not home.status()["last_error"], "it goes on by itself")
    home.flush()
    assert {s.name: s.data for s in streams_in(home.state / "retaind.db")} == {
        "a.jsonl": lines(1, 4),
        "b.jsonl": lines(11, 13),
    }


def test_a_tree_that_is_moved_about_while_it_is_read_keeps_every_line_once(home: Home) -> None:
    home.start()
    folders = [home.project.parent / f"-p{number}" for number in range(3)]
    folders[0].mkdir()
    number = 0
    for turn in range(40):
        here, there = folders[turn % 3], folders[(turn + 1) % 3]
        for name in "abcd":
            number += 1
            append(here / f"{name}.jsonl", line(number))
        if turn % 3 == 2:
            home.flush()
        here.rename(there)
    home.flush()

    assert found_in(home.state / "retaind.db") == dict.fromkeys(range(1, number + 1), 1)
    alive = [s for s in streams_in(home.state / "retaind.db") if s.source_state == "present"]
    files = sorted(path.read_bytes() for path in home.project.parent.rglob("*.jsonl"))
    assert sorted(stream.data for stream in alive) == files


def test_what_is_copied_out_and_in_again_goes_on(home: Home) -> None:
    (home.project / "a.jsonl").write_bytes(lines(1, 20))
    home.start()
    home.flush()
    shutil.copytree(home.claude, home.folder / "backup")
    append(home.project / "a.jsonl", lines(21, 22))
    home.flush()
    shutil.rmtree(home.claude)
    os.rename(home.folder / "backup", home.claude)
    home.flush()
    home.flush()

    (kept,) = streams_in(home.state / "retaind.db")
    assert [g.data for g in kept.generations] == [lines(1, 22), lines(1, 20)]
    assert found_in(home.state / "retaind.db") == dict.fromkeys(range(1, 23), 1)
