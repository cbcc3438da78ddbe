"""The user service as seen through systemctl, which is here a program of the test's own."""

import json
import os
import sys
from pathlib import Path

import pytest

from retaind_service import Absent, Layout, Manager, ServiceError, detect, manager, systemd

FAKE = """\
import json, os, sys
words = [word for word in sys.argv[1:] if not word.startswith("--")]
path = os.environ["FAKE"]
fake = json.load(open(path))
fake["calls"].append(words)
verb, answer = words[0], 0
if verb == "is-system-running":
    told = fake["manager"] if os.environ.get("XDG_RUNTIME_DIR") == fake["runtime_dir"] else ""
    print(told or "offline")
    answer = 0 if told == "running" else 1
elif verb == "show" and "--property=UnitPath" in sys.argv:
    print(fake["unit_path"])
elif verb == "show":
    print(fake["show"], end="")
elif verb in fake["refuses"]:
    print("Failed to " + verb + " retaind.service: no", file=sys.stderr)
    answer = 1
json.dump(fake, open(path, "w"))
sys.exit(answer)
"""


class Fake:
    """A systemctl on PATH, the answers it gives and the calls it got."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "fake.json"
        self.home = folder / "home"
        self.layout = Layout(Path("/opt/retaind/python"), self.home, {"PATH": "/usr/bin"})
        program = folder / "bin" / "systemctl"
        program.parent.mkdir()
        program.write_text(f"#!{sys.executable} -IS\n{FAKE}", encoding="utf-8")
        program.chmod(0o755)
        self.environ = {"PATH": str(program.parent), "FAKE": str(self._file)}
        self.set(manager="running", runtime_dir=str(folder), calls=[], refuses=[], show="")
        self.set(
            unit_path=f"/run/user/1/systemd/transient {self.home}/.config/systemd/user /etc/systemd/user"
        )
        self.environ["XDG_RUNTIME_DIR"] = str(folder)

    def set(self, **answers: object) -> None:
        now = json.loads(self._file.read_text("utf-8")) if self._file.exists() else {}
        self._file.write_text(json.dumps(now | answers), encoding="utf-8")

    def calls(self) -> list[str]:
        """Return what it was told to do since, as verbs."""
        calls = json.loads(self._file.read_text("utf-8"))["calls"]
        self.set(calls=[])
        return [words[0] for words in calls if words[0] not in {"show", "is-system-running"}]

    def manager(self) -> Manager:
        return manager(system="linux", home=self.home, environ=self.environ)


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    return Fake(tmp_path)


@pytest.mark.parametrize("told", ["running", "degraded", "starting"])
def test_a_manager_that_runs_is_found(fake: Fake, told: str) -> None:
    fake.set(manager=told)

    assert detect(system="linux", environ=fake.environ) == "systemd"
    assert fake.manager().kind == "systemd"


def test_without_an_answer_there_is_no_manager_and_starting_says_what_to_do(fake: Fake) -> None:
    fake.set(manager="")

    found = fake.manager()

    assert isinstance(found, Absent)
    assert not found.installed()
    assert found.state().activity == "absent"
    with pytest.raises(ServiceError, match="FIX: retaind start"):
        found.start()


def test_without_a_systemctl_there_is_no_manager(tmp_path: Path) -> None:
    assert detect(system="linux", environ={"PATH": str(tmp_path)}) == "none"


def test_a_shell_without_a_runtime_folder_is_given_the_usual_one() -> None:
    usual = f"/run/user/{os.getuid()}"

    found = systemd.session_environ({"PATH": "/usr/bin"})
    kept = systemd.session_environ({"XDG_RUNTIME_DIR": "/mine"})

    assert found.get("XDG_RUNTIME_DIR") == (usual if Path(usual).is_dir() else None)
    assert kept["XDG_RUNTIME_DIR"] == "/mine"


def test_installing_writes_the_unit_where_the_manager_looks_and_enables_it(fake: Fake) -> None:
    service = fake.manager()
    fake.calls()

    placed = service.install(fake.layout)

    assert placed.path == fake.home / ".config/systemd/user/retaind.service"
    assert placed.path.read_text("utf-8") == systemd.unit_text(fake.layout)
    assert fake.calls() == ["daemon-reload", "enable"]
    assert service.installed()


def test_the_unit_goes_to_the_manager_s_folder_and_not_to_the_shell_s(fake: Fake) -> None:
    fake.environ["XDG_CONFIG_HOME"] = str(fake.home / "elsewhere")

    assert fake.manager().path == fake.home / ".config/systemd/user/retaind.service"


def test_starting_forgives_an_earlier_crash_loop(fake: Fake) -> None:
    fake.manager().start()

    assert fake.calls() == ["reset-failed", "start"]


def test_restarting_reads_the_unit_again(fake: Fake) -> None:
    fake.manager().restart()

    assert fake.calls() == ["daemon-reload", "reset-failed", "restart"]


def test_a_refusal_is_told_with_the_command_that_shows_the_log(fake: Fake) -> None:
    fake.set(refuses=["start"])

    with pytest.raises(ServiceError) as caught:
        fake.manager().start()

    assert caught.value.why == "Failed to start retaind.service: no"
    assert "journalctl" in caught.value.fix


def test_uninstalling_half_an_installation_takes_what_is_there(fake: Fake) -> None:
    fake.set(refuses=["stop", "disable", "reset-failed"])
    service = fake.manager()
    assert service.uninstall() == ()
    service.install(fake.layout)

    assert service.uninstall() == (service.path,)

    assert not service.installed()


SHOWN = "LoadState=loaded\nUnitFileState=enabled\n"


@pytest.mark.parametrize(
    ("shown", "activity", "pid"),
    [
        ("ActiveState=active\nMainPID=42\n", "running", 42),
        ("ActiveState=activating\nMainPID=42\n", "starting", 42),
        ("ActiveState=deactivating\nMainPID=42\n", "stopping", 42),
        ("ActiveState=inactive\nMainPID=0\n", "stopped", None),
        ("ActiveState=failed\nMainPID=0\n", "failed", None),
    ],
)
def test_the_state_is_what_the_manager_says(
    fake: Fake, shown: str, activity: str, pid: int | None
) -> None:
    fake.set(show=f"{SHOWN}{shown}NRestarts=3\nResult=success\nStatusText=tailing a=b\n")

    state = fake.manager().state()

    assert (state.activity, state.pid, state.enabled) == (activity, pid, True)
    assert (state.restarts, state.result, state.detail) == (3, "success", "tailing a=b")


def test_a_unit_that_the_manager_does_not_know_is_absent(fake: Fake) -> None:
    fake.set(show="LoadState=not-found\nActiveState=inactive\nMainPID=0\n")

    assert fake.manager().state().activity == "absent"


def test_stopping_what_does_not_exist_is_no_error(fake: Fake) -> None:
    fake.set(show="LoadState=not-found\nActiveState=inactive\nMainPID=0\n")

    fake.manager().stop()

    assert fake.calls() == []


def test_the_log_is_the_journal_s(fake: Fake) -> None:
    command = fake.manager().logs_command(7, follow=True)

    assert command[0] == "journalctl"
    assert {"--lines=7", "--user-unit=retaind.service", "--follow"} <= set(command)
    assert "--follow" not in fake.manager().logs_command(7)
