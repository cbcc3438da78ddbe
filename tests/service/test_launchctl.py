"""The agent as seen through launchctl, which is here a program of the test's own.

It behaves as the real one is reported to: bootout returns before the label is gone, bootstrap then
fails with 5, and an unknown label is 113.
"""

import json
import os
import plistlib
import sys
from pathlib import Path

import pytest

from retaind_service import Layout, ServiceError, detect, manager
from retaind_service.launchd import LABEL, Launchd

FAKE = """\
import json, os, sys
verb, words = sys.argv[1], sys.argv[2:]
path = os.environ["FAKE"]
fake = json.load(open(path))
fake["calls"].append(verb)

def end(status, *lines):
    json.dump(fake, open(path, "w"))
    print(*lines, sep="\\n", file=sys.stderr if status else sys.stdout)
    sys.exit(status)

if fake["going"] and verb == "print":
    fake["going"] -= 1
    if not fake["going"]:
        fake["loaded"] = False
if verb == "print" and words[0] in fake["domains"]:
    end(0, words[0])
if verb == "bootstrap":
    if fake["loaded"] or fake["errors"]:
        fake["errors"] = max(fake["errors"] - 1, 0)
        end(5, "Bootstrap failed: 5: Input/output error")
    if fake["disabled"]:
        end(119, "Service is disabled")
    fake.update(loaded=True, pid=4242, domain=words[0], plist=words[1])
    end(0)
if verb in {"enable", "disable"}:
    fake["disabled"] = verb == "disable"
    end(0)
if not fake["loaded"]:
    end(113, "Could not find service")
if verb == "bootout":
    fake.update(going=fake["polls"], pid=None)
    end(36, "Operation now in progress")
if verb == "kickstart":
    fake["pid"] = 4243
    end(0)
lines = ["state = running", "runs = 2", "pid = %s" % fake["pid"]] if fake["pid"] else [
    "state = not running", "runs = 2", "last exit code = %s" % fake["last_exit"]]
end(0, words[0] + " = {", *["\\t" + line for line in lines], "}")
"""


class Fake:
    """A launchctl on PATH, the agent it knows and the calls it got."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "fake.json"
        self.home = folder / "home"
        self.layout = Layout(Path("/opt/retaind/python"), self.home, {})
        self.gui = f"gui/{os.getuid()}"
        program = folder / "bin" / "launchctl"
        program.parent.mkdir()
        program.write_text(f"#!{sys.executable} -IS\n{FAKE}", encoding="utf-8")
        program.chmod(0o755)
        self.environ = {"PATH": str(program.parent), "FAKE": str(self._file)}
        self.set(loaded=False, going=0, polls=3, errors=0, disabled=True, pid=None, last_exit=0)
        self.set(calls=[], domains=[self.gui])

    def set(self, **facts: object) -> None:
        now = json.loads(self._file.read_text("utf-8")) if self._file.exists() else {}
        self._file.write_text(json.dumps(now | facts), encoding="utf-8")

    def __getitem__(self, name: str) -> object:
        return json.loads(self._file.read_text("utf-8"))[name]

    def agent(self) -> Launchd:
        found = manager(system="darwin", home=self.home, environ=self.environ)
        assert isinstance(found, Launchd)
        return found


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    return Fake(tmp_path)


def test_launchd_is_found_by_its_domain(fake: Fake, tmp_path: Path) -> None:
    assert detect(system="darwin", environ=fake.environ) == "launchd"
    assert detect(system="darwin", environ={"PATH": str(tmp_path)}) == "none"


def test_over_ssh_the_agent_goes_to_the_domain_of_the_user(fake: Fake) -> None:
    user = f"user/{os.getuid()}"
    fake.set(domains=[user])
    agent = fake.agent()
    agent.install(fake.layout)

    agent.start()

    assert fake["domain"] == user


def test_installing_writes_the_property_list_and_its_log_folder(fake: Fake) -> None:
    placed = fake.agent().install(fake.layout)

    assert placed.path == fake.home / "Library/LaunchAgents/dev.retaind.agent.plist"
    assert plistlib.loads(placed.path.read_bytes())["Label"] == LABEL
    assert placed.path.stat().st_mode & 0o777 == 0o644
    assert (fake.home / "Library/Logs/retaind").stat().st_mode & 0o777 == 0o700
    assert fake.agent().installed()


def test_starting_loads_the_agent_once(fake: Fake) -> None:
    agent = fake.agent()
    agent.install(fake.layout)

    agent.start()
    agent.start()

    assert fake["plist"] == str(agent.path)
    calls = fake["calls"]
    assert isinstance(calls, list)
    assert calls.count("bootstrap") == 1
    assert agent.state().activity == "running"
    assert agent.state().pid == 4242


def test_a_loaded_agent_that_has_ended_is_kicked(fake: Fake) -> None:
    fake.set(loaded=True, pid=None, last_exit=1)
    agent = fake.agent()
    assert agent.state().activity == "failed"

    agent.start()

    assert agent.state().pid == 4243


def test_stopping_waits_until_the_label_is_gone(fake: Fake) -> None:
    agent = fake.agent()
    agent.start()

    agent.stop()

    assert fake["loaded"] is False
    assert fake["going"] == 0


def test_restarting_does_not_run_into_the_label_that_is_still_going(fake: Fake) -> None:
    agent = fake.agent()
    agent.start()

    agent.restart()

    assert fake["loaded"] is True
    calls = fake["calls"]
    assert isinstance(calls, list)
    assert calls.count("bootstrap") == 2, "one for the start, one for the restart, none refused"


def test_an_input_output_error_is_tried_again_three_times(fake: Fake) -> None:
    fake.set(errors=3)

    fake.agent().start()

    assert fake["loaded"] is True


def test_a_fourth_input_output_error_is_told(fake: Fake) -> None:
    fake.set(errors=4)

    with pytest.raises(ServiceError, match="5: Input/output error"):
        fake.agent().start()


def test_stopping_and_uninstalling_what_is_not_loaded_is_no_error(fake: Fake) -> None:
    agent = fake.agent()
    agent.stop()
    assert agent.uninstall() == ()
    agent.install(fake.layout)
    agent.start()

    assert agent.uninstall() == (agent.path,)

    assert fake["loaded"] is False
    assert agent.state().activity == "absent"


def test_the_log_is_the_daemon_s_own_file(fake: Fake) -> None:
    log = str(fake.home / "Library/Logs/retaind/retaind.log")

    assert fake.agent().logs_command(7) == ("tail", "-n", "7", log)
    assert fake.agent().logs_command(7, follow=True) == ("tail", "-n", "7", "-F", log)
