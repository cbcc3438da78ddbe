# ruff: noqa: N802 - rows of the checklist of tailers are named in capitals
"""Group D: many files, few descriptors, no watcher, and reads that hang."""

import os
import resource
import time
from contextlib import ExitStack

import pytest

from harness.kept import kept_in, numbers_in, streams_in
from harness.obstacles import hanging
from harness.process import Home, wait_until
from harness.rig import append, line, lines
from harness.zygote import NO_NAMESPACE

SOAK = bool(os.environ.get("RETAIND_SOAK"))
FILES = 10_000 if SOAK else 1500
STOP_S = 5.0


def _descriptors(home: Home) -> int:
    return len(os.listdir(home.proc("fd")))


def _cpu_s(home: Home) -> float:
    fields = home.proc("stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.timeout(600)
def test_T37_many_files_at_start(home: Home) -> None:
    for number in range(FILES):
        folder = home.project.parent / f"-p{number % 40}"
        folder.mkdir(exist_ok=True)
        (folder / f"s{number}.jsonl").write_bytes(lines(number * 10, number * 10 + 9))
    home.start()
    most = 0
    while home.status()["sessions"] < FILES:
        most = max(most, _descriptors(home))
    answer = home.ask("POST", "/v1/flush", {"timeout_s": 500})
    first = _cpu_s(home)
    home.stop()
    home.start()
    home.flush()
    again = _cpu_s(home)

    assert answer["complete"]
    assert most < 64
    assert again < first / 2
    assert numbers_in(home.state) == list(range(FILES * 10))


@pytest.mark.parametrize(
    "limits", [{"instances": 0}, {"watches": 3}], ids=["T40 no instances", "T38 few watches"]
)
def test_T38_T40_without_inotify_scanning_takes_over(home: Home, limits: dict[str, int]) -> None:
    home.config.write_text("[watch]\nscan_interval_s = 1\n")
    folders = [home.project.parent / f"-p{number}" for number in range(8)]
    for number, folder in enumerate(folders):
        folder.mkdir()
        (folder / f"s{number}.jsonl").write_bytes(line(number))
    home.start(wait=False, inotify=limits)
    wait_until(lambda: home.socket.exists() or _has_ended(home), "it runs")
    if _has_ended(home) and home.wait_for_exit() == NO_NAMESPACE:
        pytest.skip("no user namespace can be made here")
    for number, folder in enumerate(folders):
        append(folder / f"s{number}.jsonl", line(100 + number))
    wait_until(lambda: len(numbers_in(home.state)) == 16, "all is retained without the watcher")
    watch = home.status()["watch"]

    assert watch["state"] == "scanning"
    assert watch["trouble"]
    assert numbers_in(home.state) == [*range(8), *range(100, 108)]
    home.stop()


def _has_ended(home: Home) -> bool:
    return home.process is not None and home.process.poll() is not None


@pytest.mark.parametrize("most", [64, 100])
def test_T39_few_descriptors(home: Home, most: int) -> None:
    home.config.write_text("[watch]\nscan_interval_s = 1\n")
    for number in range(200):
        (home.project / f"s{number}.jsonl").write_bytes(line(number))
    home.start(limits={resource.RLIMIT_NOFILE: most})
    home.flush()
    for number in range(200):
        append(home.project / f"s{number}.jsonl", line(1000 + number))
    scans = home.status()["watch"]["scans"]
    wait_until(lambda: home.status()["watch"]["scans"] > scans + 2, "it has scanned again")
    home.flush()

    assert numbers_in(home.state) == [*range(200), *range(1000, 1200)]
    assert {s.source_state for s in streams_in(home.state / "retaind.db")} == {"present"}
    assert home.status()["state"] == "running"


def test_T41_without_events_the_results_are_the_same_only_later(home: Home) -> None:
    home.config.write_text("[watch]\nmode = 'scan'\nscan_interval_s = 1\n")
    path = home.project / "a.jsonl"
    home.start()
    home.flush()
    path.write_bytes(lines(1, 5))
    wait_until(lambda: kept_in(home.state) == {"a.jsonl": lines(1, 5)}, "a new file is read")
    path.rename(home.project / "b.jsonl")
    append(home.project / "b.jsonl", lines(6, 7))
    wait_until(lambda: kept_in(home.state) == {"b.jsonl": lines(1, 7)}, "a renamed one goes on")
    (home.project / "b.jsonl").write_bytes(lines(11, 12))
    wait_until(
        lambda: kept_in(home.state) == {"b.jsonl": lines(11, 12)}, "a rewritten one begins anew"
    )
    home.flush()

    assert numbers_in(home.state) == [*range(1, 8), 11, 12]


@pytest.mark.parametrize("at_open", [False, True], ids=["read", "open"])
def test_T42_a_file_that_hangs_holds_up_nobody_else_and_no_stop(
    home: Home, *, at_open: bool
) -> None:
    hung, good = home.project / "hung.jsonl", home.project / "good.jsonl"
    hung.write_bytes(lines(1, 5))
    good.write_bytes(lines(11, 15))
    home.start()
    home.flush()
    with hung.open("ab", buffering=0) as file, hanging(hung, at_open=at_open):
        file.write(lines(6, 7))
        wait_until(lambda: home.status()["oddities"].get("hung"), "it hangs")
        for number in range(16, 20):
            append(good, line(number))
            begun = time.monotonic()
            wait_until(lambda n=number: _found_in_vault(home, n), "the other is read")  # type: ignore[misc]  # mypy cannot infer lambdas with defaults
            assert time.monotonic() - begun < STOP_S
        home.flush()
        begun = time.monotonic()
        assert home.stop() == 0
        assert time.monotonic() - begun < STOP_S
        assert numbers_in(home.state) == [*range(1, 6), *range(11, 20)]
    home.start()
    home.flush()

    assert kept_in(home.state) == {"hung.jsonl": lines(1, 7), "good.jsonl": lines(11, 19)}
    assert numbers_in(home.state) == [*range(1, 8), *range(11, 20)]


def test_T42_a_file_that_comes_back_is_read_on(home: Home) -> None:
    path = home.project / "a.jsonl"
    path.write_bytes(lines(1, 5))
    home.start()
    home.flush()
    with path.open("ab", buffering=0) as file, hanging(path):
        file.write(lines(6, 7))
        wait_until(lambda: home.status()["oddities"].get("hung"), "it hangs")
    home.flush()
    wait_until(lambda: kept_in(home.state) == {"a.jsonl": lines(1, 7)}, "it is read on")

    assert home.stop() == 0


def test_T42_many_files_that_hang_do_not_hold_up_one_that_does_not(home: Home) -> None:
    home.start()
    home.flush()
    good = home.project / "good.jsonl"
    with ExitStack() as hung:
        for number in range(16):
            path = home.folder / f"h{number}.jsonl"
            path.write_bytes(line(1000 + number))
            hung.enter_context(hanging(path))
            path.rename(home.project / path.name)
        wait_until(lambda: home.status()["oddities"].get("hung"), "they hang")
        good.write_bytes(line(1))
        wait_until(lambda: _found_in_vault(home, 1), "the other is read", 30.0)
        begun = time.monotonic()
        home.stop()
        assert time.monotonic() - begun < 2 * STOP_S
    home.start()
    home.flush()

    assert len(kept_in(home.state)) == 17


def _found_in_vault(home: Home, number: int) -> bool:
    return line(number) in kept_in(home.state).get("good.jsonl", b"")
