"""The process that an agent runs at an event: quick, never failing, silent unless it has something to say."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.process import Home, wait_until
from hooks.events import ASKING, HERON, PROJECT, Hooked, said
from retaind.cli.event import DEADLINE_MS, EVENTS
from retaind.config import Settings

PROMPT = {"prompt": "Where does the heron nest?", "session_id": ASKING, "cwd": PROJECT}
DEADLINE_S = 1.0
SLACK_S = 0.5
"""What starting a process may take beyond its share, where the machine is busy."""
CPU_S, BARE_S = 0.060, 0.014
"""The budget, and what the interpreter alone takes on the machine that it was set on."""


@pytest.mark.parametrize("event", EVENTS)
def test_it_is_silent_when_the_daemon_is_down(place: Home, event: str) -> None:
    assert Hooked(place).run(event, PROMPT).is_silent


@pytest.mark.parametrize(
    "payload",
    [b"", b"not json", b"[]", b"{", b"\xff\xfe", b'{"prompt": 7}', b'{"prompt": "\\ud800 heron"}',
     b'{"transcript_path": "relative.jsonl"}', b'{"transcript_path": "/nul\\u0000/x.jsonl"}'],
)  # fmt: skip
@pytest.mark.parametrize("event", ["Stop", "UserPromptSubmit"])
def test_whatever_it_is_given_it_ends_well(shared: Hooked, event: str, payload: bytes) -> None:
    answer = shared.run(event, payload)

    assert (answer.code, answer.errors) == (0, b"")
    assert shared.home.status()["state"] == "running"


@pytest.mark.parametrize("name", ["RETAIND_DISABLE", "HINDSIGHT_DISABLE_HOOKS"])
def test_a_switch_in_the_environment_silences_it(shared: Hooked, name: str) -> None:
    prompt = {**PROMPT, "session_id": name}

    assert shared.run("UserPromptSubmit", prompt, **{name: "1"}).is_silent
    assert not shared.run("UserPromptSubmit", prompt, **{name: "0"}).is_silent


def test_a_person_who_asks_for_help_gets_it(place: Home) -> None:
    assert b"UserPromptSubmit" in place.cli("hook", "--help").stdout


def test_it_costs_less_than_sixty_milliseconds_of_processor_time(shared: Hooked) -> None:
    # What else the machine does adds to both, and least to the least.
    costs = [shared.run(event, PROMPT).cpu_s for event in (*EVENTS, *EVENTS)]
    bare = [shared.start("-c", "pass").cpu_s for _ in costs]

    assert min(costs) / min(bare) < CPU_S / BARE_S


def test_a_stopped_daemon_is_waited_for_no_longer_than_the_deadline(hooked: Hooked) -> None:
    assert hooked.home.process is not None
    hooked.home.process.send_signal(signal.SIGSTOP)

    answer = hooked.run("UserPromptSubmit", PROMPT, RETAIND_RECALL_DEADLINE_MS="1000")
    nudge = hooked.run("SessionStart", PROMPT)

    hooked.home.process.send_signal(signal.SIGCONT)
    assert answer.is_silent
    assert answer.took_s < DEADLINE_S + SLACK_S
    assert nudge.is_silent
    assert nudge.took_s < DEADLINE_S


def test_what_came_too_late_does_not_count_as_given(hooked: Hooked) -> None:
    assert hooked.home.process is not None
    hooked.home.process.send_signal(signal.SIGSTOP)
    assert (
        hooked.prompt("Where does the heron nest?", environ={"RETAIND_RECALL_DEADLINE_MS": "200"})
        == ""
    )
    hooked.home.process.send_signal(signal.SIGCONT)

    assert "old weir" in hooked.prompt("So where does the heron nest?")


def test_a_socket_that_takes_nobody_more_is_left_alone(place: Home) -> None:
    with socket.socket(socket.AF_UNIX) as full, _filled(full, place.socket):
        answer = Hooked(place).run("UserPromptSubmit", PROMPT, RETAIND_RECALL_DEADLINE_MS="1000")

    assert answer.is_silent
    assert answer.took_s < DEADLINE_S + SLACK_S


def test_an_answer_that_drips_is_not_waited_for(place: Home) -> None:
    stop = threading.Event()

    def drip(listener: socket.socket) -> None:
        client, _ = listener.accept()
        with client:
            client.sendall(b"HTTP/1.1 200 OK\r\n")
            while not stop.wait(0.05):
                try:
                    client.sendall(b"X: y\r\n")
                except OSError:
                    return

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(place.socket))
        listener.listen()
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        answer = Hooked(place).run("UserPromptSubmit", PROMPT, RETAIND_RECALL_DEADLINE_MS="1000")
        stop.set()
        thread.join()

    assert answer.is_silent
    assert answer.took_s < DEADLINE_S + SLACK_S


@pytest.mark.parametrize(
    "event", ["SessionStart", "Stop", "SubagentStop", "PreCompact", "SessionEnd"]
)
def test_a_nudge_has_the_file_looked_at_without_watcher_or_scan(tmp_path: Path, event: str) -> None:
    with _blind_daemon(tmp_path) as hooked:
        path = hooked.write(HERON, said(HERON, "Where does the heron nest?", "By the old weir."))

        assert hooked.run(event, {"transcript_path": str(path), "session_id": HERON}).is_silent

        wait_until(lambda: _captured(hooked, path) == path.stat().st_size, "it is captured")


def test_what_is_written_just_after_a_nudge_is_seen_by_the_second_look(tmp_path: Path) -> None:
    with _blind_daemon(tmp_path) as hooked:
        path = hooked.write(HERON, said(HERON, "Where does the heron nest?"))
        hooked.run("Stop", {"transcript_path": str(path)})
        wait_until(lambda: _captured(hooked, path) == path.stat().st_size, "it is looked at once")
        with path.open("ab") as file:
            file.write(said(HERON, "By the old weir.", first=2))

        wait_until(lambda: _captured(hooked, path) == path.stat().st_size, "it is captured")


def test_the_deadline_is_read_where_the_other_settings_are(hooked: Hooked) -> None:
    assert hooked.home.process is not None
    hooked.home.config.write_text("[recall]\ndeadline_ms = 3000\n")
    hooked.home.process.send_signal(signal.SIGSTOP)

    answer = hooked.run("UserPromptSubmit", PROMPT)

    hooked.home.process.send_signal(signal.SIGCONT)
    assert answer.is_silent
    assert DEADLINE_MS / 1000 + SLACK_S < answer.took_s < 3.0 + SLACK_S


def test_the_default_of_the_deadline_is_that_of_the_settings() -> None:
    assert Settings().recall.deadline_ms == DEADLINE_MS


def _captured(hooked: Hooked, path: Path) -> int:
    row = hooked.home.sessions().get(path.name)
    return row["captured_bytes"] if row else 0


@contextmanager
def _blind_daemon(folder: Path) -> Iterator[Hooked]:
    """A daemon that has scanned once, and sees nothing more by itself for a day."""
    place = Home(folder, {"RETAIND_WATCH_MODE": "scan", "RETAIND_WATCH_SCAN_INTERVAL_S": "86400"})
    place.start()
    try:
        wait_until(lambda: place.status()["watch"]["scans"], "the first scan is over")
        yield Hooked(place)
    finally:
        place.clean_up()


@contextmanager
def _filled(listener: socket.socket, path: Path) -> Iterator[None]:
    """Fill a socket's queue, so that nobody can connect any more."""
    listener.bind(os.fspath(path))
    listener.listen(0)
    clients = []
    try:
        while True:
            client = socket.socket(socket.AF_UNIX)
            clients.append(client)
            client.setblocking(False)
            try:
                client.connect(os.fspath(path))
            except BlockingIOError:
                break
        yield
    finally:
        for client in clients:
            client.close()
