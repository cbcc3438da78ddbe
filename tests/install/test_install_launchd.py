"""install.sh on what it takes for a Mac: `uname` and `launchctl` are here programs of the test's own.

The launchctl really runs what the property list says. Not run on macOS.
"""

import plistlib
import sys
from collections.abc import Iterator

import pytest

from install.user_home import Home

LAUNCHCTL = """\
import json, os, plistlib, signal, subprocess, sys
verb, words = sys.argv[1], sys.argv[2:]
path = os.environ["HOME"] + "/launchd.json"
known = json.load(open(path)) if os.path.exists(path) else {"pid": 0, "going": False, "calls": []}

def alive(pid):
    # A process that has ended and is not waited for is still there; what it was executing is not.
    try:
        return bool(pid) and open("/proc/%d/cmdline" % pid).read() != ""
    except OSError:
        return False

def end(status, *lines):
    json.dump(known, open(path, "w"))
    print(*lines, sep="\\n")
    sys.exit(status)

known["calls"].append(verb)
if known["going"] and not alive(known["pid"]):
    known.update(pid=0, going=False)
if verb == "print" and "dev.retaind.agent" not in words[0]:
    end(0)
if verb == "bootstrap":
    if known["pid"]:
        end(5, "Bootstrap failed: 5: Input/output error")
    agent = plistlib.load(open(words[1], "rb"))
    child = subprocess.Popen(
        agent["ProgramArguments"], cwd=agent["WorkingDirectory"], start_new_session=True,
        env={"HOME": os.environ["HOME"], **agent["EnvironmentVariables"]},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(agent["StandardErrorPath"], "a"))
    known["pid"] = child.pid
    end(0)
if verb == "enable":
    end(0)
if not known["pid"]:
    end(113, "Could not find service")
if verb == "bootout":
    os.kill(known["pid"], signal.SIGTERM)
    known["going"] = True
    end(36, "Operation now in progress")
end(0, "\\tpid = %d" % known["pid"])
"""

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform == "darwin", reason="would meet the launchd of this machine"),
]


@pytest.fixture
def mac(installed: Home) -> Iterator[Home]:
    """The installed home, on a machine that says it is a Mac."""
    installed.program("uname", "#!/bin/sh\necho Darwin\n")
    installed.program("launchctl", f"#!{sys.executable} -IS\n{LAUNCHCTL}")
    installed.environ["RETAIND_STATE_DIR"] = str(installed.state)
    yield installed
    installed.install("--uninstall")
    assert installed.running() == []
    for name in ("uname", "launchctl"):
        (installed.programs / name).unlink()
    del installed.environ["RETAIND_STATE_DIR"]


def test_the_agent_is_loaded_upgraded_and_taken_away(mac: Home) -> None:
    plist = mac.path / "Library/LaunchAgents/dev.retaind.agent.plist"

    done = mac.install(CLAUDE_CONFIG_DIR=str(mac.path / ".claude"))

    assert done.returncode == 0, (done.stdout, done.stderr)
    agent = plistlib.loads(plist.read_bytes())
    assert agent["EnvironmentVariables"]["CLAUDE_CONFIG_DIR"] == str(mac.path / ".claude")
    assert agent["ProgramArguments"][0] == str(mac.share / "current/bin/python")
    first = mac.daemon()
    assert mac.running() == [first]

    again = mac.install()

    assert "already installed: nothing changed" in again.stdout
    assert mac.daemon() == first

    changed = mac.install(CLAUDE_CONFIG_DIR=str(mac.path / "other"))

    assert changed.returncode == 0, changed.stderr
    assert mac.daemon() not in {first, None}
    assert mac.running() == [mac.daemon()]

    gone = mac.install("--uninstall")

    assert (gone.returncode, gone.stderr.count("error")) == (0, 0)
    assert mac.running() == []
    assert not plist.exists()
