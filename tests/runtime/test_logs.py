"""Logs: who reads decides the form, files rotate, and no long text gets through."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from retaind.errors import StateDamaged
from retaind.runtime import logs
from retaind.runtime.logs import Repeats, RotatingFile, Steady, configure, logger

SECRET = "what the user said to the agent, word for word. " * 10


@pytest.fixture(autouse=True)
def restore_structlog() -> Iterator[None]:
    yield
    structlog.reset_defaults()


@pytest.fixture
def logged(tmp_path: Path) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Configure a plain file as standard error, and read back its JSON lines."""
    path = tmp_path / "stderr"
    with path.open("w") as stderr:
        configure("info", {}, tmp_path / "log", stderr)
        yield lambda: [json.loads(line) for line in path.read_text().splitlines()]


def test_a_file_gets_json_with_a_time(logged: Callable[[], list[dict[str, Any]]]) -> None:
    logger().info("document_retained", session="s", bytes=7)

    (line,) = logged()
    assert line["event"] == "document_retained"
    assert (line["level"], line["session"], line["bytes"]) == ("info", "s", 7)
    assert line["timestamp"].endswith("Z")


def test_less_than_the_level_is_not_logged(logged: Callable[[], list[dict[str, Any]]]) -> None:
    logger().debug("detail")

    assert logged() == []


def test_the_journal_gets_a_priority_in_front_of_json(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with path.open("w") as stderr:
        found = os.fstat(stderr.fileno())
        environ = {"JOURNAL_STREAM": f"{found.st_dev}:{found.st_ino}"}
        configure("info", environ, tmp_path, stderr)
        logger().warning("disk_full")
        logger().info("ready")

    first, second = path.read_text().splitlines()
    assert first.startswith("<4>{")
    assert second.startswith("<6>{")
    assert json.loads(first[3:])["event"] == "disk_full"


def test_an_inherited_journal_variable_of_another_stream_is_ignored(tmp_path: Path) -> None:
    with (tmp_path / "stderr").open("w") as stderr:
        assert logs.form_of({"JOURNAL_STREAM": "1:2"}, stderr) == "json"


def test_a_terminal_gets_lines_for_people(tmp_path: Path) -> None:
    leader, follower = os.openpty()
    with os.fdopen(follower, "w") as terminal:
        configure("info", {"NO_COLOR": "1"}, tmp_path, terminal)
        logger().info("ready", roots=2)
        shown = os.read(leader, 4096).decode()
    os.close(leader)

    assert "ready" in shown
    assert "roots=2" in shown
    assert "\x1b" not in shown


@pytest.mark.parametrize("supervisor", ["launchd", "detached"])
def test_supervised_daemons_log_into_a_private_file(tmp_path: Path, supervisor: str) -> None:
    configure("info", {"RETAIND_SUPERVISOR": supervisor}, tmp_path / "log", sys.stderr)
    logger().info("ready")

    file = tmp_path / "log" / "retaind.log"
    assert json.loads(file.read_text())["event"] == "ready"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_long_texts_are_replaced_by_their_length(
    logged: Callable[[], list[dict[str, Any]]],
) -> None:
    logger().info("odd", text=SECRET, raw=SECRET.encode(), many=[SECRET])

    (line,) = logged()
    assert "word for word" not in json.dumps(line)
    assert line["text"] == f"({len(SECRET)} characters, not logged)"


def test_paths_are_kept_when_they_are_long(logged: Callable[[], list[dict[str, Any]]]) -> None:
    logger().info("found", path="/" + "p" * 300)

    assert logged()[0]["path"] == "/" + "p" * 300


def test_an_exception_is_named_with_its_frames_but_not_quoted(
    logged: Callable[[], list[dict[str, Any]]],
) -> None:
    try:
        int(SECRET[:40])
    except ValueError:
        logger().exception("request_failed")

    (line,) = logged()
    assert line["fault"] == "ValueError"
    assert "test_logs.py" in line["frames"]
    assert "user said" not in json.dumps(line)


def test_our_own_errors_keep_their_words(logged: Callable[[], list[dict[str, Any]]]) -> None:
    logger().error("state", exc_info=StateDamaged("the database is damaged", why="torn"))

    assert logged()[0]["error"] == "the database is damaged. WHY: torn."


def test_repeats_are_dropped_and_counted_a_minute_later() -> None:
    now = [0.0]
    repeats = Repeats(lambda: now[0])

    def say() -> dict[str, Any] | None:
        try:
            return dict(repeats(None, "warning", {"event": "again"}))
        except structlog.DropEvent:
            return None

    said = [say() for _ in range(15)]
    now[0] = 61.0

    assert sum(event is not None for event in said) == logs.REPEATS
    assert say() == {"event": "again", "not_logged": 5}
    assert say() == {"event": "again"}


def test_a_file_rotates_and_keeps_the_newest(tmp_path: Path) -> None:
    path = tmp_path / "retaind.log"
    file = RotatingFile(path, limit=100, files=3)
    for n in range(50):
        file.write(f"line {n:03} {'x' * 20}\n")
    file.close()

    kept = sorted(tmp_path.iterdir())
    assert [part.name for part in kept] == ["retaind.log", "retaind.log.1", "retaind.log.2"]
    assert all(part.stat().st_size <= 100 for part in kept)
    assert "line 049" in path.read_text()


@pytest.mark.parametrize("move", ["delete", "rename", "replace"])
def test_a_file_that_others_took_away_is_opened_anew(tmp_path: Path, move: str) -> None:
    path = tmp_path / "retaind.log"
    file = RotatingFile(path)
    file.write("one\n")
    if move == "delete":
        path.unlink()
    else:
        path.rename(tmp_path / "taken")
    if move == "replace":
        path.touch()

    file.write("two\n")
    file.close()

    assert path.read_text() == "two\n"


def test_a_log_that_cannot_be_written_harms_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    RotatingFile(tmp_path / "file" / "retaind.log").write("lost\n")
    closed = io.StringIO()
    closed.close()
    Steady(closed).write("lost\n")
    Steady(closed).flush()


def test_importing_the_logs_leaves_rich_alone() -> None:
    code = "import retaind.runtime.logs, sys; print('rich' in sys.modules); import rich.table"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
