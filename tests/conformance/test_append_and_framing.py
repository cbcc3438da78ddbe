# ruff: noqa: N802 - rows of the checklist of tailers are named in capitals
"""Group A: what is appended is kept byte for byte, and framed at newlines and nowhere else."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.kept import found_in, kept_in, numbers_in, streams_in
from harness.process import Home, wait_until
from harness.rig import Rig, append, line, lines

MB = 1 << 20
SOAK = bool(os.environ.get("RETAIND_SOAK"))


@pytest.fixture(name="rig")
def _rig(tmp_path: Path) -> Iterator[Rig]:
    rig = Rig(tmp_path, retaining=True)
    yield rig
    rig.stop()


def _peak_bytes(home: Home) -> int:
    """Return the largest memory that the daemon has had."""
    status = home.proc("status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def _bytes_read(home: Home) -> int:
    """Return what the daemon has read with system calls, of transcripts and of its database."""
    counts = home.proc("io").read_text()
    return int(counts.split("rchar:")[1].split()[0])


def test_T01_lines_appended_while_running(home: Home) -> None:
    path = home.project / "a.jsonl"
    home.start()
    path.write_bytes(lines(1, 5))
    wait_until(lambda: numbers_in(home.state) == [1, 2, 3, 4, 5], "the first lines are retained")
    append(path, lines(6, 10))
    wait_until(lambda: len(numbers_in(home.state)) == 10, "the others are, too")

    (kept,) = streams_in(home.state / "retaind.db")
    assert kept.data == lines(1, 10)
    assert list(kept.said) == list(range(1, 11))


def test_T02_a_file_grows_during_its_first_read(home: Home) -> None:
    big, small = home.project / "big.jsonl", [home.project / f"s{n}.jsonl" for n in range(20)]
    padding = b',"toolUseResult":"' + b"x" * 4000 + b'"}\n'
    count = (100 if SOAK else 16) * MB // 4200
    written = {big: b"".join(line(n)[:-2] + padding for n in range(1, count + 1))}
    big.write_bytes(written[big])
    number = count
    for path in small:
        number += 1
        written[path] = line(number)
        path.write_bytes(written[path])
    home.start(wait=False)
    while not home.socket.exists() or home.status()["import"]:
        number += 1
        for path in (big, small[number % 20]):
            data = line(number) if path is big else line(number + 1_000_000)
            append(path, data)
            written[path] += data
    home.flush()

    assert kept_in(home.state) == {path.name: data for path, data in written.items()}
    for stream in streams_in(home.state / "retaind.db"):
        assert list(stream.said) == sorted(set(stream.said))
    assert set(found_in(home.state / "retaind.db").values()) == {1}


def test_T03_a_line_comes_first_without_its_newline(rig: Rig) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(line(1)[:40])
    rig.flush()
    assert rig.found() == []

    append(path, line(1)[40:-1])
    rig.settle()
    rig.retain_due()
    assert rig.found() == []

    append(path, b"\n" + line(2))
    rig.flush()
    assert rig.found() == [1, 2]


def test_T03_a_whole_record_without_its_newline_is_retained_early_and_once(rig: Rig) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(lines(1, 2)[:-1])
    rig.flush()
    assert rig.found() == [1, 2]

    append(path, b"\n" + line(3))
    rig.flush()
    assert rig.found() == [1, 2, 3]


def test_T04_an_unfinished_line_across_a_kill(home: Home) -> None:
    path = home.project / "a.jsonl"
    home.start()
    path.write_bytes(lines(1, 2) + line(3)[:40])
    home.flush()
    home.kill()
    append(path, line(3)[40:])
    home.start()
    home.flush()

    assert kept_in(home.state) == {"a.jsonl": lines(1, 3)}
    assert numbers_in(home.state) == [1, 2, 3]


def test_T05_a_last_line_that_is_never_finished_is_kept_counted_and_not_retained(
    home: Home,
) -> None:
    path = home.project / "a.jsonl"
    data = lines(1, 2) + line(3)[:-60]
    home.start()
    path.write_bytes(data)
    home.flush()
    home.stop()
    home.start()
    home.flush()
    row = home.sessions()["a.jsonl"]

    assert kept_in(home.state) == {"a.jsonl": data}
    assert numbers_in(home.state) == [1, 2]
    assert row["unfinished_bytes"] == len(line(3)) - 60
    assert row["memories"]["local"]["retained_bytes"] == len(lines(1, 2))
    assert home.cli("verify", "--deep").returncode == 0


@pytest.mark.parametrize("before_the_end", [1, 2, 3])
def test_T06_a_character_cut_by_a_block_and_by_two_writes(rig: Rig, before_the_end: int) -> None:
    path = rig.project / "a.jsonl"
    head = line(1, "x" * (MB - 400) + " said")
    prefix = b'{"type":"user","message":{"role":"user","content":"'
    filler = MB - before_the_end - len(head) - len(prefix)
    assert filler > 0
    data = head + prefix + b"y" * filler + "\U0001f600 said 2".encode() + b'"},"uuid":"u"}\n'
    cut = data.index("\U0001f600".encode()) + 2
    path.write_bytes(data[:cut])
    rig.flush()
    append(path, data[cut:])
    rig.flush()

    assert rig.streams()["a.jsonl"].data == data
    assert rig.found() == [1, 2]


def test_T07_unusual_bytes_are_kept_and_block_nothing(rig: Rig) -> None:
    odd = [
        line(1)[:-1] + b"\r\n",
        line(2, "nul \\u0000 said"),
        line(3, "raw \0 nul said"),
        b"\xef\xbb\xbf" + line(4),
        line(5, "invalid \xff said").replace(b"\xc3\xbf", b"\xff\xfe"),
        line(6, "a\\ttab said"),
        b"  \t " + line(7)[:-1] + b"   \n",
        line(8, "line\u2028separator\u0085 said"),
    ]
    data = b"".join(odd) + line(9)
    (rig.project / "a.jsonl").write_bytes(data)
    rig.flush()

    assert rig.streams()["a.jsonl"].data == data
    assert rig.found() == list(range(1, 10))


def test_T08_a_line_of_20_mb_between_short_ones(home: Home) -> None:
    path = home.project / "a.jsonl"
    data = line(1) + line(2)[:-2] + b',"toolUseResult":"' + b"z" * (20 * MB) + b'"}\n' + line(3)
    home.start()
    home.flush()
    before = _peak_bytes(home)
    path.write_bytes(data)
    home.flush()

    assert kept_in(home.state) == {"a.jsonl": data}
    assert numbers_in(home.state) == [1, 2, 3]
    assert _peak_bytes(home) - before < 5 * 20 * MB


def test_T09_a_line_over_32_mb_is_kept_counted_and_passed_over(home: Home) -> None:
    path = home.project / "a.jsonl"
    size = (100 if SOAK else 40) * MB
    home.start()
    home.flush()
    before = _peak_bytes(home)
    with path.open("wb") as file:
        file.write(line(1))
        file.write(b'{"type":"user","message":{"role":"user","content":"said 2')
        for _ in range(size // MB):
            file.write(b" " * MB)
        file.write(b'"}}\n' + line(3))
    home.flush()
    row = home.sessions()["a.jsonl"]

    assert row["captured_bytes"] == path.stat().st_size
    assert row["memories"]["local"]["dropped"] == {"too_large": 1}
    assert numbers_in(home.state) == [1, 3]
    assert _peak_bytes(home) - before < 160 * MB
    assert home.cli("verify", "--deep").returncode == 0


def test_T10_an_endless_line_is_read_once_and_never_searched_from_its_start(home: Home) -> None:
    path = home.project / "a.jsonl"
    size = (2048 if SOAK else 96) * MB
    home.start()
    home.flush()
    before, peak = _bytes_read(home), _peak_bytes(home)
    for at in range(0, size, 4 * MB):
        append(path, b"e" * (4 * MB))
        wait_until(
            lambda at=at: home.status()["captured_bytes"] == at + 4 * MB,  # type: ignore[misc]  # mypy cannot infer lambdas with defaults
            "it is captured",
        )
    unfinished = home.sessions()["a.jsonl"]["unfinished_bytes"]
    read = _bytes_read(home) - before
    append(path, b"\n" + line(1))
    home.flush()

    assert unfinished == size
    assert read < 3 * size
    assert _peak_bytes(home) - peak < 200 * MB
    assert numbers_in(home.state) == [1]


def test_T11_a_hole_of_nuls_is_kept_and_counted(rig: Rig) -> None:
    path = rig.project / "a.jsonl"
    path.write_bytes(lines(1, 3))
    rig.flush()
    os.truncate(path, len(lines(1, 3)) + MB)
    append(path, line(4))
    rig.flush()

    assert rig.streams()["a.jsonl"].data == lines(1, 3) + b"\0" * MB + line(4)
    assert rig.found() == [1, 2, 3, 4]
    assert rig.dropped("a.jsonl") == {"nul": 1}


@pytest.mark.skipif(not SOAK, reason="reads 4 GiB: with RETAIND_SOAK only")
@pytest.mark.timeout(900)
@pytest.mark.parametrize("boundary", [2 << 30, 4 << 30])
def test_T12_a_file_grows_past_2_and_4_gib(home: Home, boundary: int) -> None:
    path = home.project / "a.jsonl"
    path.write_bytes(line(1))
    os.truncate(path, boundary - 300)
    append(path, b"\n")
    home.start()
    home.ask("POST", "/v1/flush", {"timeout_s": 600})
    append(path, line(2))
    home.ask("POST", "/v1/flush", {"timeout_s": 600})
    home.kill()
    home.start()
    append(path, lines(3, 5))
    home.ask("POST", "/v1/flush", {"timeout_s": 600})

    assert home.sessions()["a.jsonl"]["captured_bytes"] == path.stat().st_size
    assert numbers_in(home.state) == [1, 2, 3, 4, 5]


def test_T13_a_record_broken_by_a_crash_of_its_writer(rig: Rig) -> None:
    (rig.project / "a.jsonl").write_bytes(b'{"a":1\n' + line(1))
    rig.flush()

    assert rig.streams()["a.jsonl"].data == b'{"a":1\n' + line(1)
    assert rig.found() == [1]
    assert rig.dropped("a.jsonl") == {"truncated": 1}
