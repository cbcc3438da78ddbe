"""`status` tells running, dead, stopped and unknown apart, quickly."""

import fcntl
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harness.process import Home
from retaind.paths import Holder, write_holder

FACTS = {
    "version": "0.1.0",
    "pid": 7,
    "state": "degraded",
    "started_at": "2026-01-01T00:00:00.000Z",
    "sessions": 1234,
    "captured_bytes": 5_000_000,
    "pending_bytes": 100,
    "memories": {
        "local": {
            "state": "pending", "pending_bytes": 100, "retained": 5, "pending": 0,
            "set_aside": 1, "dropped": {"meta": 2},
        }
    },
    "import": {"files_done": 50, "files_total": 200},
    "watch": {"roots": [{"path": "/x/.claude", "state": "permission"}], "trouble": None},
    "last_error": "/x/.claude cannot be read",
}  # fmt: skip


@contextmanager
def held_lock(place: Home) -> Iterator[None]:
    """A process (this one) holds the state directory, as a daemon does."""
    place.state.mkdir(mode=0o700, exist_ok=True)
    with (place.state / "lock").open("w+b") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        write_holder(lock.fileno(), Holder(os.getpid(), place.socket, 1.0, "0.1.0"))
        yield


@contextmanager
def answering(place: Home, facts: object) -> Iterator[None]:
    """Something answers every request on the socket with the same facts."""
    body = json.dumps(facts).encode()
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place.socket))
        server.listen()

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    client.recv(65536)
                    client.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_a_machine_where_it_never_ran_is_stopped(place: Home) -> None:
    done = place.cli("status", "--json")
    facts = json.loads(done.stdout)

    assert done.returncode == 3
    assert (facts["state"], facts["pid"], facts["sessions"]) == ("stopped", None, 0)
    assert not place.state.exists(), "looking changes nothing"


def test_a_stopped_daemon_still_tells_what_is_kept(kept: Home) -> None:
    done = kept.cli("status", "--json")
    facts = json.loads(done.stdout)

    assert done.returncode == 3
    assert facts["sessions"] == 2
    assert facts["captured_bytes"] > 0
    assert facts["memories"]["local"]["retained"] > 0
    assert b"is stopped" in kept.cli("status").stdout


def test_a_running_daemon_exits_with_0(place: Home) -> None:
    place.start()

    done = place.cli("status", "--json")
    facts = json.loads(done.stdout)

    assert done.returncode == 0
    assert facts["state"] == "running"
    assert place.process is not None
    assert facts["pid"] == place.process.pid
    assert place.cli("status", "--check").returncode == 0


def test_a_killed_daemon_is_dead(place: Home) -> None:
    place.start()
    place.kill()

    done = place.cli("status", "--json")

    assert done.returncode == 1
    assert json.loads(done.stdout)["state"] == "dead"
    assert b"died" in place.cli("status").stdout


def test_a_lock_without_an_answer_is_unknown(place: Home) -> None:
    with held_lock(place):
        done = place.cli("status", "--json")

    assert done.returncode == 4
    assert json.loads(done.stdout)["state"] == "unknown"


def test_a_socket_that_never_answers_is_unknown(place: Home) -> None:
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(place.socket))
        silent.listen()

        done = place.cli("status")

    assert done.returncode == 4
    assert b"does not answer" in done.stdout


def test_something_else_on_the_socket_is_unknown(place: Home) -> None:
    with answering(place, [1, 2]):
        done = place.cli("status", "--json")

    assert done.returncode == 4


def test_degraded_is_running_but_not_for_check(place: Home) -> None:
    with answering(place, FACTS):
        assert place.cli("status").returncode == 0
        assert place.cli("status", "--check").returncode == 8
        assert json.loads(place.cli("status", "--json").stdout) == FACTS


def test_people_get_plain_words_within_80_columns(place: Home) -> None:
    with answering(place, FACTS):
        shown = place.cli("status").stdout.decode()

    assert "retaind 0.1.0 is running, degraded, for" in shown
    assert "1,234 transcripts, 5.0 MB" in shown
    assert "5 retained, 2 dropped by policy, 100 B pending, 1 set aside" in shown
    assert "25 %" in shown
    assert "/x/.claude  permission" in shown
    assert "/x/.claude cannot be read" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "\x1b" not in shown


@pytest.mark.parametrize("arguments", [["status", "--json"], ["status", "--json", "--check"]])
def test_asking_a_running_daemon_imports_little(place: Home, arguments: list[str]) -> None:
    with answering(place, FACTS):
        done = subprocess.run(
            [sys.executable, "-I", "-X", "importtime", "-m", "retaind", *arguments],
            env=place.environ,
            capture_output=True,
            check=False,
        )
    imported = {row.rpartition("|")[2].strip() for row in done.stderr.decode().splitlines()}

    assert "retaind.cli.condition" in imported
    for heavy in (
        "anyio",
        "asyncio",
        "httpx",
        "structlog",
        "rich",
        "msgspec",
        "watchfiles",
        "sqlite3",
    ):
        assert heavy not in imported


def test_status_takes_no_longer_than_a_tenth_of_a_second_of_cpu(place: Home) -> None:
    script = (
        "import os, subprocess, sys\n"
        "subprocess.run([sys.executable, '-I', '-m', 'retaind', 'status', '--json'])\n"
        "times = os.times()\n"
        "print(times.children_user + times.children_system, file=sys.stderr)\n"
    )
    with answering(place, FACTS):
        runs = [
            subprocess.run(
                [sys.executable, "-c", script], env=place.environ, capture_output=True, check=True
            )
            for _ in range(5)
        ]

    assert min(float(run.stderr) for run in runs) <= 0.1


def test_a_configuration_that_was_broken_since_the_start_is_told(place: Home) -> None:
    place.start()
    place.config.write_text("[watch]\nmode = 'sacn'\n")

    shown = place.cli("status").stdout.decode()

    assert "is running" in shown
    assert f"{place.config}:2" in shown
    place.config.unlink()
    assert "settings" not in place.cli("status").stdout.decode()
