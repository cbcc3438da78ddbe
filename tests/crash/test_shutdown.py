# ruff: noqa: N802 - rows of the checklist of tailers are named in capitals
"""How the daemon ends: soon, with what is on disk taken as far as it fits, and the rest at the next start."""

import json
import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from harness.kept import found_in, streams_in
from harness.process import Home, wait_until
from harness.rig import line, lines

MB = 1 << 20
PADDING = b',"toolUseResult":"' + b"result of a tool, " * 220 + b'"}\n'
STOP_S = 2.0
SLACK_S = 3.0
"""The machine that runs the tests does other things, too."""


def _records(size: int) -> bytes:
    """Return about `size` bytes of records of 4 kB that say little, as those with tools' results do."""
    count = size // (len(line(1)) + len(PADDING))
    return b"".join(line(number)[:-2] + PADDING for number in range(1, count + 1))


def _stopped(home: Home) -> dict[str, Any]:
    """Return what the daemon logged when it ended."""
    events = [json.loads(text) for text in home.log.read_text().splitlines() if text[:1] == "{"]
    return next(event for event in reversed(events) if event["event"] == "stopped")


def _check(home: Home, name: str, data: bytes) -> None:
    """Everything is there once, after a start and a flush."""
    home.start()
    home.flush()
    (kept,) = [s for s in streams_in(home.state / "retaind.db") if s.name == name]
    assert [g.data for g in kept.generations] == [data]
    assert set(found_in(home.state / "retaind.db").values()) == {1}
    assert len(found_in(home.state / "retaind.db")) == data.count(b"\n")


def test_a_stop_right_after_fifty_megabytes_came_ends_soon_and_loses_nothing(home: Home) -> None:
    data = _records(50 * MB)
    outside = home.folder / "outside"
    outside.write_bytes(data)
    home.start()
    outside.rename(home.project / "a.jsonl")
    begun = time.monotonic()
    assert home.stop() == 0
    took = time.monotonic() - begun

    assert took <= STOP_S + SLACK_S, _stopped(home)
    _check(home, "a.jsonl", data)


def test_a_stop_with_a_flush_of_fifty_megabytes_under_way_does_not_wait_for_it(home: Home) -> None:
    data = _records(50 * MB)
    home.start()
    (home.project / "a.jsonl").write_bytes(data)
    with home.connected() as connection:
        connection.request("POST", "/v1/flush", b'{"timeout_s": 60}')
        wait_until(lambda: home.status()["captured_bytes"], "the flush is under way")
        begun = time.monotonic()
        assert home.stop() == 0
        took = time.monotonic() - begun

    assert took <= STOP_S + SLACK_S, _stopped(home)
    _check(home, "a.jsonl", data)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
def test_T52_T53_a_signal_in_the_middle_of_the_first_import(home: Home, number: int) -> None:
    files = {f"s{n}.jsonl": lines(n * 1000 + 1, n * 1000 + 400) for n in range(20)}
    for name, data in files.items():
        (home.project / name).write_bytes(data)
    home.start(wait=False)
    wait_until(lambda: _captured(home) > 1000, "a part of it is captured")
    assert home.signal(number) == (0 if number == signal.SIGTERM else -signal.SIGKILL)
    home.start()
    home.flush()

    kept = streams_in(home.state / "retaind.db")
    assert {s.name: [g.data for g in s.generations] for s in kept} == {
        name: [data] for name, data in files.items()
    }
    assert found_in(home.state / "retaind.db") == Counter(
        n * 1000 + i for n in range(20) for i in range(1, 401)
    )


def _captured(home: Home) -> int:
    """Return what is in the vault, also before the daemon answers."""
    database = home.state / "retaind.db"
    try:
        return sum(len(s.data) for s in streams_in(database))
    except Exception:  # noqa: BLE001 - there is no database yet, or no table in it
        return 0


def test_T57_the_second_signal_ends_it_at_once_and_is_as_safe_as_a_crash(home: Home) -> None:
    data = _records(30 * MB)
    home.start()
    (home.project / "a.jsonl").write_bytes(data)
    assert home.process is not None
    home.process.send_signal(signal.SIGTERM)
    begun = time.monotonic()
    while home.process.poll() is None:
        home.process.send_signal(signal.SIGINT)
    took = time.monotonic() - begun
    code = home.wait_for_exit()

    assert code in {0, 130}
    assert took < STOP_S
    _check(home, "a.jsonl", data)


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_T57_a_second_signal_during_the_last_flush_ends_it_at_once(
    home: Home, second: signal.Signals
) -> None:
    data = _records(30 * MB)
    home.start()
    (home.project / "a.jsonl").write_bytes(data)
    assert home.process is not None
    home.process.send_signal(signal.SIGTERM)
    while home.socket.exists():
        pass  # it goes first, and the last flush takes long
    home.process.send_signal(second)

    assert home.wait_for_exit() == 130
    _check(home, "a.jsonl", data)


def test_T57_a_hangup_reads_the_configuration_again_and_ends_nothing(home: Home) -> None:
    home.start()
    assert home.process is not None
    home.config.write_text("[watch]\nscan_interval_s = 7\n")
    home.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "reloaded" in home.log.read_text(), "it has been read")
    home.config.write_text("[watch]\nscan_intervall_s = 7\n")
    home.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "reload_failed" in home.log.read_text(), "it has been refused")

    assert home.status()["state"] == "running"


def test_T59_a_daemon_started_while_the_old_one_ends_says_why_it_leaves(home: Home) -> None:
    home.start()
    (home.project / "a.jsonl").write_bytes(_records(20 * MB))
    old = home.process
    assert old is not None
    old.send_signal(signal.SIGTERM)
    home.start(wait=False)
    code = home.process.wait(30) if home.process else None
    old.wait(30)

    if code is not None and code != 0:
        assert code == 75
        assert "already runs" in home.log.read_text()
    home.start()
    home.flush()
    assert home.restored("a") == (home.project / "a.jsonl").read_bytes()
    assert os.path.exists(Path(home.socket))
