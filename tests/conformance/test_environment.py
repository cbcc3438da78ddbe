# ruff: noqa: N802 - rows of the checklist of tailers are named in capitals
"""Group E, and power cuts of group F: sleep, failing writes, restored and half-written state."""

import os
import resource
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.kept import found_in, kept_in, numbers_in
from harness.process import Home, wait_until
from harness.rig import Rig, append, line, lines


def test_T45_a_daemon_that_slept_goes_on_where_it_was(home: Home) -> None:
    paths = [home.project / f"s{number}.jsonl" for number in range(5)]
    for number, path in enumerate(paths):
        path.write_bytes(line(number))
    home.start()
    home.flush()
    assert home.process is not None
    home.process.send_signal(signal.SIGSTOP)
    wait_until(lambda: _state(home) == "T", "it has stopped")
    for number, path in enumerate(paths):
        append(path, lines(100 * (number + 1), 100 * (number + 1) + 50))
    paths[0].rename(home.project / "moved.jsonl")
    paths[1].unlink()
    paths[2].write_bytes(lines(1001, 1003))
    home.process.send_signal(signal.SIGCONT)
    home.flush()

    kept = kept_in(home.state)
    assert kept["moved.jsonl"] == line(0) + lines(100, 150)
    assert kept["s1.jsonl"] == line(1) + lines(200, 250)
    assert kept["s2.jsonl"] == lines(1001, 1003)
    assert set(found_in(home.state / "retaind.db").values()) == {1}
    assert home.status()["state"] == "running"


def _state(home: Home) -> str:
    stat = home.proc("stat").read_text()
    return stat.rpartition(")")[2].split()[0]


@pytest.mark.parametrize("jump_s", [-86_400, 86_400, -2_000_000_000])
def test_a_clock_that_jumps_moves_no_offset(home: Home, jump_s: int) -> None:
    """Clocks are set back, and files restored with old times."""
    path = home.project / "a.jsonl"
    path.write_bytes(lines(1, 3))
    home.start()
    home.flush()
    now = path.stat().st_mtime
    append(path, lines(4, 5))
    os.utime(path, (now + jump_s, now + jump_s))
    home.flush()
    path.rename(home.project / "b.jsonl")
    os.utime(home.project / "b.jsonl", (0, 0))
    append(home.project / "b.jsonl", line(6))
    os.utime(home.project / "b.jsonl", (now + jump_s, now + jump_s))
    home.flush()

    assert kept_in(home.state) == {"b.jsonl": lines(1, 6)}
    assert numbers_in(home.state) == [1, 2, 3, 4, 5, 6]
    assert home.cli("sessions").returncode == 0
    assert home.cli("verify", "--deep").returncode == 0


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits of others: on Linux only")
def test_T47_writes_that_fail_for_a_while_leave_no_trace(home: Home) -> None:
    (home.project / "a.jsonl").write_bytes(lines(1, 3))
    home.start()
    home.flush()
    assert home.process is not None
    limit = (home.state / "retaind.db-wal").stat().st_size
    before = resource.prlimit(home.process.pid, resource.RLIMIT_FSIZE, (limit, -1))
    big = b"".join(os.urandom(500).hex().encode() + b"\n" for _ in range(500))
    (home.project / "b.jsonl").write_bytes(big)
    append(home.project / "a.jsonl", lines(4, 5))
    wait_until(lambda: home.status()["last_error"], "it is said")
    resource.prlimit(home.process.pid, resource.RLIMIT_FSIZE, before)
    wait_until(lambda: len(kept_in(home.state)) == 2, "it goes on by itself")
    home.flush()

    assert kept_in(home.state) == {"a.jsonl": lines(1, 5), "b.jsonl": big}
    assert numbers_in(home.state) == [1, 2, 3, 4, 5]
    home.kill()
    home.start()
    home.flush()
    assert home.cli("verify", "--deep").returncode == 0


def test_T51_an_older_copy_of_the_state_is_caught_up_with(home: Home) -> None:
    path = home.project / "a.jsonl"
    path.write_bytes(lines(1, 5))
    home.start()
    home.flush()
    home.stop()
    shutil.copytree(home.state, home.folder / "copy")
    home.start()
    append(path, lines(6, 100))
    (home.project / "b.jsonl").write_bytes(lines(201, 210))
    home.flush()
    home.stop()
    shutil.rmtree(home.state)
    (home.folder / "copy").rename(home.state)
    home.start()
    home.flush()

    assert kept_in(home.state) == {"a.jsonl": lines(1, 100), "b.jsonl": lines(201, 210)}
    assert numbers_in(home.state) == [*range(1, 101), *range(201, 211)]


@pytest.fixture(name="cut")
def _cut(tmp_path: Path) -> Iterator[Rig]:
    """A rig that was killed with a write-ahead log of many commits."""
    rig = Rig(tmp_path / "before", retaining=True)
    for number in range(12):
        append(rig.project / f"s{number % 3}.jsonl", lines(number * 10, number * 10 + 9))
        rig.flush()
    (rig.project / "s0.jsonl").write_bytes(lines(900, 905))
    rig.flush()
    yield rig
    rig.stop()


def test_T55_every_prefix_of_the_log_that_a_power_cut_may_leave_is_good(
    cut: Rig, tmp_path: Path
) -> None:
    log = cut.database.path.with_name("retaind.db-wal")
    size = log.stat().st_size
    for number, length in enumerate(range(0, size, max(1, size // 25))):
        folder = tmp_path / f"after{number}"
        shutil.copytree(cut.folder, folder)
        (folder / "retaind.db-shm").unlink()
        os.truncate(folder / "retaind.db-wal", length)
        rig = Rig(folder, retaining=True)
        rig.flush()
        kept = {name: stream.data for name, stream in rig.streams().items()}
        found = rig.found()
        rig.stop()

        assert kept == {p.name: p.read_bytes() for p in rig.project.iterdir()}
        assert found == sorted(set(found))
        assert set(found) >= {*range(900, 906), *range(10, 30), *range(40, 60)}
