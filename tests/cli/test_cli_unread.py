"""What is on disk and not kept is said by `verify`, `flush`, `status` and `doctor`, whoever runs them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.process import DEADLINE_S, Home, wait_until
from harness.rig import lines

_BOUND = """
import ctypes, os, sys
for capability in (1, 2, 3):  # DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER: root passes over permissions by them
    if os.geteuid() == 0:
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)
os.execv(sys.executable, [sys.executable, "-I", "-m", "retaind", *sys.argv[1:]])
"""


class Bound(Home):
    """A home whose daemon and commands are bound by permissions, even if the test runs as root."""

    def start(self, **_: object) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-c", _BOUND, "run"],
                env=self.environ,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_until(self.answers, "the daemon answers on its socket")

    def run(self, *arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-I", "-c", _BOUND, *arguments],
            env=self.environ,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=DEADLINE_S,
        )
        return done.returncode, (done.stdout + done.stderr).decode()


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Iterator[Bound]:
    home = Bound(tmp_path)
    yield home
    home.clean_up()
    for path in (*home.project.parent.iterdir(), *home.project.parent.rglob("*.jsonl")):
        path.chmod(0o700)


def test_verify_without_a_daemon_names_what_is_not_kept(home: Bound) -> None:
    (home.project / "a.jsonl").write_bytes(lines(1, 3))
    home.start()
    home.flush()
    assert home.run("verify")[0] == 0
    home.stop()
    (home.project / "b.jsonl").write_bytes(lines(4, 6))

    code, said = home.run("verify")

    assert code == 1
    assert "not kept" in said
    assert "b.jsonl" in said
    assert "1 session of 2 agrees" in said
    row = next(r for r in json.loads(home.run("verify", "--json")[1])["sessions"] if not r["ok"])
    assert (row["id"], row["session_id"]) == (None, "b")
    home.start()
    assert home.run("verify")[0] == 0, "it asks a running daemon to look first"


def test_what_cannot_be_read_is_said_everywhere_until_it_can(home: Bound) -> None:
    other = home.project.parent / "-home-dev-other"
    other.mkdir()
    (other / "c.jsonl").write_bytes(lines(7, 9))
    (home.project / "a.jsonl").write_bytes(lines(1, 3))
    (home.project / "b.jsonl").write_bytes(lines(4, 6))
    for path in (home.project / "b.jsonl", other):
        path.chmod(0)
    home.start()

    code, said = home.run("flush")
    assert code == 8
    assert "2 paths cannot be read" in said
    assert "b.jsonl" in said
    answer = json.loads(home.run("flush", "--json")[1])
    assert sorted(answer["unreadable"]) == sorted([str(home.project / "b.jsonl"), str(other)])
    line = "2 transcripts or folders cannot be read: "
    status = home.status()
    assert status["state"] == "degraded"
    assert line in status["last_error"]
    shown = home.run("status")[1]
    assert line in shown
    assert "no permission to watch a folder in there; scans go on" in shown
    told = home.run("doctor")[1]
    assert line in told
    assert f"chmod -R u+rX {home.project.parent}" in told
    code, said = home.run("verify")
    assert code == 4
    assert said.count("it cannot be read (permission)") == 2

    (home.project / "b.jsonl").chmod(0o600)
    other.chmod(0o700)
    assert home.run("flush")[0] == 0
    assert home.status()["state"] == "running"
    assert home.run("verify")[0] == 0


def test_an_excluded_folder_may_stay_closed(home: Bound) -> None:
    home.config.write_text("[exclude]\npaths = ['*/-home-dev-lab/*']\n")
    home.config.chmod(0o600)
    home.project.chmod(0)
    home.start()

    assert home.run("flush")[0] == 0
    assert home.run("verify")[0] == 0
    assert home.status()["state"] == "running"


def test_a_known_transcript_that_is_closed_later_is_said(home: Bound) -> None:
    path = home.project / "a.jsonl"
    path.write_bytes(lines(1, 3))
    home.start()
    home.flush()
    path.chmod(0)

    code, said = home.run("verify")

    assert code == 4
    assert "the source cannot be read (permission)" in said
