"""Starting and stopping a daemon where there is no service manager."""

import json
import os
import signal

from harness.process import DEADLINE_S, Home, wait_until


def start(place: Home) -> int:
    done = place.cli("start")
    assert done.returncode == 0, done.stderr.decode()
    return int(json.loads(place.cli("status", "--json").stdout)["pid"])


def test_start_waits_until_the_daemon_answers_and_stop_until_it_is_gone(place: Home) -> None:
    pid = start(place)
    assert os.getsid(pid) == pid, "it outlives the terminal"

    done = place.cli("stop")

    assert (done.returncode, done.stdout) == (0, b"retaind is stopped\n")
    assert place.cli("status").returncode == 3
    assert not place.socket.exists()


def test_starting_twice_is_fine(place: Home) -> None:
    pid = start(place)

    done = place.cli("start")

    assert done.stdout == f"retaind runs already (process {pid})\n".encode()


def test_stopping_what_does_not_run_is_fine(place: Home) -> None:
    done = place.cli("stop")

    assert (done.returncode, done.stdout) == (0, b"retaind is not running\n")


def test_restart_gives_a_new_process(place: Home) -> None:
    pid = start(place)

    assert place.cli("restart").returncode == 0

    assert place.json("status")["pid"] != pid


def test_a_killed_daemon_starts_again(place: Home) -> None:
    pid = start(place)
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: place.cli("status").returncode == 1, "it is dead")

    assert start(place) != pid


def test_a_second_daemon_in_the_foreground_is_refused(place: Home) -> None:
    pid = start(place)

    done = place.cli("run")

    assert done.returncode == 75
    assert f"process {pid}" in done.stderr.decode()


def test_a_daemon_that_cannot_start_says_why_at_once(place: Home) -> None:
    place.state.mkdir(mode=0o700)
    place.socket.mkdir()

    done = place.cli("start")

    assert done.returncode == 74
    assert "in the way of the control socket" in done.stderr.decode()


def test_stop_never_signals_a_process_that_only_has_the_pid(place: Home) -> None:
    place.state.mkdir(mode=0o700)
    holder = {"pid": os.getpid(), "socket": str(place.socket), "started": 1.0, "version": "0"}
    (place.state / "lock").write_text(json.dumps(holder))

    done = place.cli("stop")

    assert done.stdout == b"retaind is not running\n"


def test_stop_is_not_misled_by_another_daemon_that_waits_for_the_lock(place: Home) -> None:
    place.start()
    first = place.process
    place.start(wait=False)
    waiting = place.process
    done = place.cli("stop")

    assert done.returncode == 0, done.stderr.decode()
    assert first is not None
    assert waiting is not None
    assert first.wait(DEADLINE_S) == 0
    if waiting.poll() is None:  # it took the lock after all was over, as one that is started then
        waiting.send_signal(signal.SIGTERM)
    assert waiting.wait(DEADLINE_S) in {0, 75, -signal.SIGTERM}


def test_a_hangup_while_it_starts_is_no_reason_to_end(place: Home) -> None:
    place.start(wait=False)
    assert place.process is not None
    wait_until((place.state / "lock").exists, "it has begun")
    while not place.answers():
        place.process.send_signal(signal.SIGHUP)

    assert place.stop() == 0


def test_reload_says_what_changed(place: Home) -> None:
    start(place)
    place.config.write_text("[memory.local]\nidle_s = 1\n")

    done = place.cli("reload")

    assert done.stdout.startswith(b"reloaded; changed: memory.local.idle_s")


def test_the_log_of_a_detached_daemon_is_printed(place: Home) -> None:
    assert place.cli("logs").returncode == 1
    start(place)

    shown = place.cli("logs", "-n", "5").stdout

    assert b'"event": "ready"' in shown
    log = place.state / "log" / "retaind.log"
    assert log.stat().st_mode & 0o777 == 0o600


def test_flush_waits_until_all_is_retained(place: Home) -> None:
    start(place)

    done = place.cli("flush", "--json")

    assert done.returncode == 0
    assert json.loads(done.stdout)["complete"] is True


def test_flush_of_an_unknown_memory_is_refused(place: Home) -> None:
    start(place)

    done = place.cli("flush", "--memory", "nowhere")

    assert done.returncode == 2
    assert b"nowhere" in done.stderr


def test_flush_of_an_unknown_session_is_refused(place: Home) -> None:
    start(place)

    done = place.cli("flush", "no-such-session")

    assert done.returncode == 1
    assert b"there is no session" in done.stderr


def test_doctor_knows_a_running_daemon(place: Home) -> None:
    start(place)

    done = place.cli("doctor", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}

    assert done.returncode == 0
    assert "answers" in checks["daemon"]["detail"]
    assert checks["socket"]["state"] == "ok"
    assert checks["database"]["state"] == "ok"
