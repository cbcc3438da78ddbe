"""The real unit, obeyed by a real systemd user manager, running the real daemon."""

import json
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from install.machine import (
    HOME,
    PYTHON,
    REPOSITORY,
    UserManager,
    eventually,
    packages,
    user_manager,
)

CLAUDE = HOME / 'odd "%n" $HOME claude'
TRANSCRIPT = CLAUDE / "projects/-work/0f5c2f0e-5d0c-4b3c-9a43-3d1f4e2b7a10.jsonl"
LINE = json.dumps(
    {
        "type": "user",
        "uuid": "6e3b1f0a-0000-4000-8000-000000000001",
        "sessionId": TRANSCRIPT.stem,
        "cwd": "/work",
        "timestamp": "2026-01-02T03:04:05.000Z",
        "message": {"role": "user", "content": "the quick brown fox"},
    }
)

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(scope="module")
def machine() -> Iterator[UserManager]:
    """A manager with the unit, whose environment sees the checkout and this environment's packages.

    The transcripts' folder has a name that needs quoting.
    """
    with user_manager(REPOSITORY, *packages()) as machine:
        versions = HOME / ".local/share/retaind/versions"
        base = Path(sys.base_prefix) / "bin" / f"python{sysconfig.get_python_version()}"
        machine.run(base, "-I", "-m", "venv", "--without-pip", versions / "test")
        machine.run("ln", "-s", "versions/test", versions.parent / "current")
        site = versions / "test/lib" / base.name / "site-packages/checkout.pth"
        sources = [str(REPOSITORY / "daemon"), str(REPOSITORY / "service")]
        machine.write(site, "\n".join([*sources, *packages()]) + "\n")
        machine.write(TRANSCRIPT, LINE + "\n")
        install(machine)
        yield machine


def install(machine: UserManager) -> None:
    service(machine, "install", "--python", str(PYTHON), "--manifest", "/dev/null")


@pytest.fixture
def running(machine: UserManager) -> Iterator[UserManager]:
    """Start the service; afterwards take away what a test added to its unit."""
    service(machine, "start")
    yield machine
    machine.run("rm", "-rf", drop_in(machine).parent)
    machine.systemctl("daemon-reload")
    machine.systemctl("stop", "retaind.service", check=False)
    machine.systemctl("reset-failed", "retaind.service", check=False)


def service(machine: UserManager, verb: str, *words: str) -> str:
    command = ("-I", "-m", "retaind_service", verb, *words)
    return machine.run(PYTHON, *command, CLAUDE_CONFIG_DIR=str(CLAUDE)).stdout


def retaind(machine: UserManager, *words: str) -> Any:
    return json.loads(machine.run(PYTHON, "-I", "-m", "retaind", *words, "--json").stdout)


def drop_in(machine: UserManager) -> Path:
    return Path(machine.show("FragmentPath") + ".d/test.conf")


def change(machine: UserManager, *lines: str) -> None:
    machine.write(drop_in(machine), "\n".join(["[Service]", *lines, ""]))
    machine.systemctl("daemon-reload")


def facts(machine: UserManager, file: str) -> str:
    return machine.run("cat", f"/proc/{machine.pid()}/{file}").stdout


def test_start_returns_when_the_daemon_is_ready(running: UserManager) -> None:
    assert running.show("ActiveState") == "active"
    assert running.show("StatusText") != ""
    assert retaind(running, "status")["pid"] == running.pid()


def test_our_own_status_is_the_manager_s(running: UserManager) -> None:
    state = json.loads(service(running, "status", "--json"))

    assert state["manager"] == "systemd"
    assert (state["activity"], state["pid"]) == ("running", running.pid())
    assert (state["installed"], state["enabled"]) == (True, True)
    assert state["detail"] == running.show("StatusText")


def test_the_service_is_enabled_for_the_next_start_of_the_machine(machine: UserManager) -> None:
    assert machine.systemctl("is-enabled", "retaind.service").stdout.strip() == "enabled"
    wanted = HOME / ".config/systemd/user/default.target.wants/retaind.service"
    machine.run("test", "-e", wanted)


def test_a_variable_with_quotes_and_percent_signs_reaches_the_daemon(running: UserManager) -> None:
    variables = facts(running, "environ").split("\0")

    assert f"CLAUDE_CONFIG_DIR={CLAUDE}" in variables
    assert "RETAIND_SUPERVISOR=systemd" in variables


def test_the_daemon_steps_back_and_gains_no_privileges(running: UserManager) -> None:
    status = dict(line.split(":\t", 1) for line in facts(running, "status").splitlines())

    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert status["Umask"] == "0077"
    assert facts(running, "oom_score_adj").strip() == "500"
    nice = facts(running, "stat").rpartition(")")[2].split()[16]
    assert nice == "10"


def test_the_socket_lies_in_a_private_runtime_folder_that_goes_with_the_service(
    running: UserManager,
) -> None:
    folder = "/run/user/4242/retaind"
    assert running.run("stat", "-c", "%a", folder).stdout.strip() == "700"
    assert running.run("stat", "-c", "%a", f"{folder}/ctl.sock").stdout.strip() == "600"

    running.systemctl("stop", "retaind.service")

    assert running.run("test", "-e", folder, check=False).returncode == 1


def test_a_killed_daemon_is_started_again(running: UserManager) -> None:
    before = running.kill("KILL")

    eventually(lambda: running.show("NRestarts") == "1", "a restart")
    eventually(lambda: running.show("ActiveState") == "active", "the daemon is ready again")

    assert running.pid() != before
    assert retaind(running, "status")["pid"] == running.pid()


def test_a_hung_daemon_is_killed_by_the_watchdog_and_started_again(running: UserManager) -> None:
    change(running, "WatchdogSec=2s")
    service(running, "restart")

    before = running.kill("STOP")

    eventually(lambda: running.show("NRestarts") == "1", "the watchdog's restart")
    eventually(lambda: running.show("ActiveState") == "active", "the daemon is ready again")
    assert running.pid() != before


def test_a_working_daemon_feeds_its_watchdog(running: UserManager) -> None:
    change(running, "WatchdogSec=1s")
    service(running, "restart")
    fed = running.show("WatchdogTimestampMonotonic")

    eventually(lambda: running.show("WatchdogTimestampMonotonic") != fed, "a sign of life")
    later = running.show("WatchdogTimestampMonotonic")
    eventually(lambda: running.show("WatchdogTimestampMonotonic") != later, "another one")

    assert running.show("NRestarts") == "0"


def test_stopping_keeps_what_was_written_at_the_last_moment(running: UserManager) -> None:
    running.run("sh", "-c", 'printf "%s\\n" "$2" >>"$1"', "sh", TRANSCRIPT, LINE)
    service(running, "stop")

    size = int(running.run("stat", "-c", "%s", TRANSCRIPT).stdout)

    assert running.show("Result") == "success"
    assert running.show("ActiveState") == "inactive"
    (session,) = retaind(running, "sessions")
    assert session["captured_bytes"] == size
    assert session["memories"]["local"]["pending_bytes"] == 0


def test_a_broken_configuration_is_not_tried_again(running: UserManager) -> None:
    config = HOME / ".config/retaind/config.toml"
    running.write(config, "this is no TOML")
    try:
        running.systemctl("restart", "retaind.service", check=False)

        assert running.show("ActiveState") == "failed"
        assert running.show("ExecMainStatus") == "78"
        assert running.show("NRestarts") == "0"
    finally:
        running.run("rm", config)


def test_starting_forgives_a_crash_loop(running: UserManager) -> None:
    change(running, "RestartSec=10ms", "StartLimitBurst=1", "ExecStart=", "ExecStart=/bin/false")
    running.systemctl("restart", "retaind.service", check=False)
    eventually(lambda: running.show("ActiveState") == "failed", "systemd gives up")
    running.run("rm", drop_in(running))
    running.systemctl("daemon-reload")

    service(running, "start")

    assert running.show("ActiveState") == "active"


def test_uninstalling_leaves_no_trace_in_the_manager(running: UserManager) -> None:
    path = running.show("FragmentPath")
    try:
        service(running, "uninstall")

        assert running.show("LoadState") == "not-found"
        assert running.run("test", "-e", path, check=False).returncode == 1
        command = ("-I", "-m", "retaind_service", "status", "--json")
        state = json.loads(running.run(PYTHON, *command, check=False).stdout)
        assert state["activity"] == "absent"
    finally:
        install(running)
