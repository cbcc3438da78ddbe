"""What the installer hears from the daemon that it started."""

import json
import sys
from pathlib import Path

import pytest

from retaind_service import ServiceError, answers

FOUND = {
    "version": "2.0",
    "sessions": 41,
    "captured_bytes": 12_345_678,
    "import": None,
    "watch": {"scans": 1, "roots": [{"path": "/a", "state": "ok"}, {"path": "/b", "state": "ok"}]},
}


def saying(folder: Path, *statuses: dict[str, object]) -> tuple[str, ...]:
    """Return a command that prints one status after the other, and then the last one again."""
    for number, status in enumerate(statuses):
        (folder / f"{number}.json").write_text(json.dumps(status), encoding="utf-8")
    script = """
import pathlib, sys
files = sorted(pathlib.Path(sys.argv[1]).glob("*.json"))
print(files[0].read_text())
if len(files) > 1:
    files[0].unlink()
"""
    return (sys.executable, "-I", "-c", script, str(folder))


def test_the_answer_of_the_old_version_does_not_count(tmp_path: Path) -> None:
    command = saying(tmp_path, FOUND | {"version": "1.0"}, FOUND)

    assert answers.wait(command, "2.0") == FOUND


def test_a_daemon_is_heard_once_it_has_looked_everywhere(tmp_path: Path) -> None:
    importing = FOUND | {"sessions": 3, "import": {"files_done": 3, "files_total": 41}}
    starting = FOUND | {"sessions": 0, "watch": {"scans": 0, "roots": []}}

    assert answers.wait(saying(tmp_path, starting, importing, FOUND), "2.0") == FOUND


def test_no_answer_in_time_is_an_error_that_quotes_the_last_one() -> None:
    command = (sys.executable, "-I", "-c", "import sys; sys.exit('nobody is there')")

    with pytest.raises(ServiceError, match=r"retaind 2\.0 does not answer.*nobody is there"):
        answers.wait(command, "2.0", timeout_s=0.1)


def test_a_daemon_that_does_not_run_is_quoted_by_its_state() -> None:
    script = 'import sys; print(\'{"version": "2.0", "state": "stopped"}\'); sys.exit(3)'

    with pytest.raises(ServiceError, match=r"after 0\.1 s: state stopped, version 2\.0"):
        answers.wait((sys.executable, "-I", "-c", script), "2.0", timeout_s=0.1)


def test_the_summary_is_in_plain_words() -> None:
    assert answers.summary(FOUND) == "watching 2 roots, 41 sessions, 12.3 MB kept so far"


def test_a_machine_without_agents_is_told_that_nothing_is_amiss() -> None:
    status = FOUND | {"sessions": 0, "watch": {"scans": 1, "roots": []}}

    assert answers.summary(status).startswith("no transcripts found yet")


def test_a_root_that_cannot_be_read_is_named() -> None:
    roots = [{"path": "/a", "state": "ok"}, {"path": "/b", "state": "permission"}]
    status = FOUND | {"sessions": 1, "watch": {"scans": 1, "roots": roots}}

    assert answers.summary(status).startswith("watching 1 root, /b cannot be read, 1 session,")
