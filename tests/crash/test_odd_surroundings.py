# ruff: noqa: N802 - rows of the checklist of tailers are named in capitals
"""Roots that are missing or closed, things that are no transcripts, and others in the way of the daemon."""

import os
import shutil
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from harness.kept import found_in, kept_in
from harness.process import Home, wait_until
from harness.rig import lines


def _roots(status: Any) -> dict[str, str]:
    return {root["path"]: root["state"] for root in status["watch"]["roots"]}


@contextmanager
def _closed(path: Path) -> Iterator[None]:
    """Take every permission from a path for a while."""
    mode = stat.S_IMODE(path.stat().st_mode)
    path.chmod(0)
    try:
        yield
    finally:
        path.chmod(mode)


def _look(home: Home) -> list[str]:
    """Have everything looked at; returns what could not be read."""
    answer = home.ask("POST", "/v1/flush", {"timeout_s": 30})
    assert answer["complete"] is not bool(answer["unreadable"]), answer
    return list(answer["unreadable"])


def test_a_missing_root_is_said_and_taken_up_when_it_appears(home: Home) -> None:
    shutil.rmtree(home.claude)
    home.start()
    wait_until(lambda: home.status()["watch"]["scans"], "it has looked once")

    assert _roots(home.status()) == {str(home.claude): "missing"}
    assert home.status()["state"] == "running"

    home.project.mkdir(parents=True)
    (home.project / "a.jsonl").write_bytes(lines(1, 4))
    wait_until(lambda: kept_in(home.state) == {"a.jsonl": lines(1, 4)}, "the new root is read")
    assert _roots(home.status()) == {str(home.claude): "ok"}


def test_a_root_without_permission_is_not_taken_for_a_missing_one(home: Home) -> None:
    (home.project / "a.jsonl").write_bytes(lines(1, 4))
    home.start(bound=True)
    home.flush()
    with _closed(home.claude):
        _look(home)
        assert _look(home) == [str(home.claude)]
        status = home.status()
        row = home.sessions()["a.jsonl"]

        assert _roots(status) == {str(home.claude): "permission"}
        assert status["state"] == "degraded"
        assert str(home.claude) in status["last_error"]
        assert row["state"] != "source_gone"

    with (home.project / "a.jsonl").open("ab") as file:
        file.write(lines(5, 6))
    home.flush()
    assert kept_in(home.state) == {"a.jsonl": lines(1, 6)}
    assert home.status()["state"] == "running"


def test_a_daemon_may_start_before_it_may_look(home: Home) -> None:
    (home.project / "a.jsonl").write_bytes(lines(1, 4))
    with _closed(home.claude):
        home.start(bound=True)
        assert _look(home) == [str(home.claude)]
        assert _roots(home.status()) == {str(home.claude): "permission"}
    home.flush()

    assert kept_in(home.state) == {"a.jsonl": lines(1, 4)}


def test_T44_what_is_in_a_closed_folder_is_neither_gone_nor_read_again(home: Home) -> None:
    other = home.project.parent / "-home-dev-other"
    other.mkdir()
    (home.project / "a.jsonl").write_bytes(lines(1, 4))
    (other / "b.jsonl").write_bytes(lines(11, 14))
    home.start(bound=True)
    home.flush()
    with _closed(home.project):
        _look(home)
        assert _look(home) == [str(home.project)]
        with (other / "b.jsonl").open("ab") as file:
            file.write(lines(15, 16))
        _look(home)

        assert home.status()["oddities"]["permission"] > 0
        assert home.sessions()["a.jsonl"]["state"] != "source_gone"
        assert kept_in(home.state)["b.jsonl"] == lines(11, 16)
    with (home.project / "a.jsonl").open("ab") as file:
        file.write(lines(5, 6))
    home.flush()

    assert kept_in(home.state)["a.jsonl"] == lines(1, 6)
    assert home.sessions()["a.jsonl"]["generation"] == 1


def test_T43_a_file_closed_and_opened_again_goes_on(home: Home) -> None:
    path = home.project / "a.jsonl"
    path.write_bytes(lines(1, 5))
    home.start(bound=True)
    home.flush()
    with path.open("ab") as file, _closed(path):
        file.write(lines(6, 8))
        file.flush()
        _look(home)
        assert _look(home) == [str(path)]
        assert home.status()["oddities"]["unreadable"] == 1
    home.flush()

    assert kept_in(home.state) == {"a.jsonl": lines(1, 8)}
    assert home.sessions()["a.jsonl"]["generation"] == 1
    assert sorted(found_in(home.state / "retaind.db").elements()) == list(range(1, 9))


NO_TRANSCRIPTS = {
    "binary": os.urandom(200_000),
    "empty": b"",
    "newlines": b"\n" * 5000,
    "nul": b"\0" * 70_000,
    "utf16": "said 1\n".encode("utf-16") * 500,
    "html": b"<html><body>said nothing</body></html>\n",
    "numbers": b"1\n2\n[3]\nnull\ntrue\n",
    "deep": b"[" * 100_000 + b"\n",
    "keys": b'{"type": {"type": "user"}, "message": 7}\n{"type":"user","message":{"content":[[[]]]}}\n',
    "surrogate": b'{"type":"user","message":{"role":"user","content":"\\ud800"},"uuid":"u"}\n',
}


def test_files_that_are_no_transcripts_are_kept_and_stop_nothing(home: Home) -> None:
    for name, data in NO_TRANSCRIPTS.items():
        (home.project / f"{name}.jsonl").write_bytes(data)
    (home.project / "a.jsonl").write_bytes(lines(1, 4))
    home.start()
    home.flush()

    kept = kept_in(home.state)
    assert kept == {f"{name}.jsonl": data for name, data in NO_TRANSCRIPTS.items()} | {
        "a.jsonl": lines(1, 4)
    }
    assert home.status()["failing"] == 0
    assert home.cli("verify", "--deep").returncode == 0
    assert {1, 2, 3, 4} <= set(found_in(home.state / "retaind.db"))


def test_T36_things_that_are_no_files_are_counted_and_opened_by_nobody(home: Home) -> None:
    os.mkfifo(home.project / "fifo.jsonl")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(home.folder / "s"))
    os.rename(home.folder / "s", home.project / "socket.jsonl")
    (home.project / "folder.jsonl").mkdir()
    odd = 2
    if os.geteuid() == 0:
        os.mknod(home.project / "device.jsonl", stat.S_IFCHR | 0o666, os.makedev(1, 5))
        odd += 1
    (home.project / "a.jsonl").write_bytes(lines(1, 4))
    home.start()
    home.flush()
    listener.close()

    assert kept_in(home.state) == {"a.jsonl": lines(1, 4)}
    assert home.status()["oddities"]["not_a_file"] == odd


def test_T58_a_second_daemon_leaves_and_a_killed_one_leaves_nothing_in_the_way(home: Home) -> None:
    home.start()
    first = home.process
    assert first is not None
    code, said = home.run_to_its_end()
    home.process = first

    assert code == 75
    assert str(first.pid) in said
    assert home.status()["pid"] == first.pid

    home.kill()
    home.start()
    assert home.status()["state"] == "running"


def test_ten_daemons_started_at_once_leave_one(home: Home) -> None:
    started = []
    for _ in range(10):
        home.start(wait=False)
        assert home.process is not None
        started.append(home.process)
    wait_until(lambda: sum(process.poll() is None for process in started) == 1, "one is left", 60.0)
    (home.process,) = [process for process in started if process.poll() is None]
    wait_until(home.answers, "the one that is left answers")

    assert {process.poll() for process in started} == {None, 75}
    assert home.status()["pid"] == home.process.pid


@pytest.mark.parametrize("content", [b"", b"junk\n", b'{"pid": 1, "socket": 7}', b"\xff" * 300])
def test_a_stale_lock_and_socket_are_no_hindrance(home: Home, content: bytes) -> None:
    home.state.mkdir(mode=0o700)
    (home.state / "lock").write_bytes(content)
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(home.socket))
    home.start()

    assert home.status()["state"] == "running"


def test_a_socket_that_can_be_seen_takes_connections(home: Home) -> None:
    for _ in range(5):
        home.start(wait=False)
        for _ in _until_there(home.socket):
            with socket.socket(socket.AF_UNIX) as probe, suppress(FileNotFoundError):
                probe.connect(os.fspath(home.socket))  # a refusal fails the test
        wait_until(home.answers, "it answers")
        home.stop()

    assert [path.name for path in home.socket.parent.glob("*.soc*")] == []


def _until_there(path: Path) -> Iterator[None]:
    while not path.exists():
        yield
    yield


def test_a_file_in_the_place_of_the_socket_is_left_alone(home: Home) -> None:
    home.socket.write_text("mine")
    code, said = home.run_to_its_end()

    assert code == 74
    assert str(home.socket) in said
    assert "FIX" in said
    assert home.socket.read_text() == "mine"


def test_a_socket_that_somebody_listens_on_is_left_alone(home: Home) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(home.socket))
        other.listen()
        code, said = home.run_to_its_end()

    assert code == 75
    assert str(home.socket) in said


def test_a_socket_path_that_is_too_long_is_refused_with_the_key(home: Home) -> None:
    code, said = home.run_to_its_end(RETAIND_SOCKET="/tmp/" + "s" * 150)

    assert code == 78
    assert "RETAIND_SOCKET" in said
    assert "107" in said or "103" in said


def test_a_deep_state_folder_still_has_a_socket_that_the_commands_find(home: Home) -> None:
    del home.environ["RETAIND_SOCKET"]
    deep = home.folder / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    home.environ["RETAIND_STATE_DIR"] = str(deep / "state")
    (home.project / "a.jsonl").write_bytes(lines(1, 4))
    home.start(wait=False)
    wait_until(lambda: home.cli("status").returncode == 0, "status finds the daemon")

    assert home.json("flush")["complete"]
    home.stop()


def test_a_broken_configuration_is_refused_with_file_line_key_and_fix(home: Home) -> None:
    home.config.write_text("[watch]\nmode = 'auto'\nscan_intervall_s = 5\n")
    code, said = home.run_to_its_end()

    assert code == 78
    assert f"{home.config}:3" in said or ("line 3" in said and str(home.config) in said)
    assert "scan_intervall_s" in said
    assert "scan_interval_s" in said
    assert not home.state.exists()
