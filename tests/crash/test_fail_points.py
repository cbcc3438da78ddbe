"""The daemon is killed at each named point of its code: nothing may be lost, doubled or out of order."""

import re
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from random import Random

import pytest

import retaind
from harness.kept import found_in, streams_in
from harness.process import Home, wait_until
from harness.rig import lines
from harness.writer import Writer
from retaind.schema import migrations

CAPTURE = [
    *[("capture.read", nth) for nth in (1, 2, 5)],
    *[("capture.stored", nth) for nth in (1, 3, 9)],
    *[("capture.generation", nth) for nth in (1, 3)],
    *[("capture.committed", nth) for nth in (1, 4)],
    *[("retain.planned", nth) for nth in (1, 2, 7)],
    *[("retain.committed", nth) for nth in (1, 3)],
    *[("db.commit", nth) for nth in (1, 2, 3, 5, 8, 13, 20)],
    *[("db.committed", nth) for nth in (1, 2, 3, 5, 8, 13, 20)],
]
ELSEWHERE = {
    "merge.stored",
    "db.tidy",
    "db.copied",
    "db.migrate",
    "db.migrated",
    "quarantine.moved",
}
OURS = ("capture.", "retain.", "db.", "merge.", "quarantine.")
"""Points of remote delivery, of extraction and of upkeep are tested with what they belong to."""
TIDY = """
import asyncio, pathlib, sys
from retaind.db import Database
asyncio.run(Database.open(pathlib.Path(sys.argv[1])).tidy())
"""


def test_every_named_point_of_capture_and_state_is_tested() -> None:
    package = Path(retaind.__file__).parent
    source = "".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    points = {
        point for point in re.findall(r'\breach\("([\w.]+)"\)', source) if point.startswith(OURS)
    }
    assert points == {point for point, _ in CAPTURE} | ELSEWHERE


@pytest.mark.parametrize(("point", "nth"), CAPTURE)
def test_a_kill_loses_and_doubles_nothing(home: Home, point: str, nth: int) -> None:
    writer = Writer(home.project, Random(f"{point}:{nth}"))
    for _ in range(20):
        writer.act()
    home.start(wait=False, RETAIND_FAILPOINT=f"{point}:{nth}")

    _write_until_it_dies(home, writer)
    for _ in range(3):
        writer.act()
    _start_and_check(home, writer)


def test_a_kill_while_blocks_are_merged_loses_and_doubles_nothing(home: Home) -> None:
    writer = Writer(home.project, Random("merge"))
    home.start(RETAIND_FAILPOINT="merge.stored")

    for _ in range(200):
        if not _is_alive(home):
            break
        writer.append_to("a")
        _flush_if_alive(home)
    _wait_for_the_kill(home)
    _start_and_check(home, writer)


@pytest.mark.parametrize("point", ["db.copied", "db.migrate:1", "db.migrate:2", "db.migrated:1"])
def test_a_kill_while_the_database_is_migrated_leaves_one_that_can_be_migrated(
    home: Home, point: str
) -> None:
    database = home.state / "retaind.db"
    _lay_down_the_first_schema(database)
    (home.project / "a.jsonl").write_bytes(lines(1, 9))
    home.start(wait=False, RETAIND_FAILPOINT=point)
    _wait_for_the_kill(home)
    home.start()
    home.flush()

    assert sorted(found_in(database).elements()) == list(range(1, 10))
    assert (home.state / "retaind.before-v2.db").exists()
    assert _versions(database) == [step.version for step in migrations()]


def test_a_kill_while_a_damaged_database_is_set_aside_leaves_nothing_in_the_way(
    home: Home,
) -> None:
    (home.project / "a.jsonl").write_bytes(lines(1, 9))
    home.start()
    home.flush()
    home.stop()
    (home.state / "retaind.db").write_bytes(b"\0" * 8192)
    home.start(wait=False, RETAIND_FAILPOINT="quarantine.moved:1")
    _wait_for_the_kill(home)
    home.start()
    home.flush()

    assert sorted(found_in(home.state / "retaind.db").elements()) == list(range(1, 10))
    assert list((home.state / "quarantine").rglob("retaind.db"))


def test_a_kill_while_tidying_leaves_the_database_whole(home: Home) -> None:
    (home.project / "a.jsonl").write_bytes(lines(1, 200))
    home.start()
    home.flush()
    home.kill()
    killed = subprocess.run(
        [
            sys.executable,
            "-c",
            TIDY,
            home.state / "retaind.db",
        ],
        env={**home.environ, "RETAIND_FAILPOINT": "db.tidy"},
        check=False,
    )
    home.start()
    home.flush()

    assert killed.returncode == -signal.SIGKILL
    assert home.restored("a") == lines(1, 200)
    assert sorted(found_in(home.state / "retaind.db").elements()) == list(range(1, 201))


def _write_until_it_dies(home: Home, writer: Writer) -> None:
    """Act, and have what was written taken at once, until the daemon is killed."""
    for _ in range(400):
        if not _is_alive(home):
            break
        writer.act()
        _flush_if_alive(home)
    _wait_for_the_kill(home)


def _is_alive(home: Home) -> bool:
    return home.process is not None and home.process.poll() is None


def _flush_if_alive(home: Home) -> None:
    """Have the daemon take what is there, once it has started; it may be killed while it does so."""
    wait_until(lambda: home.socket.exists() or not _is_alive(home), "the daemon starts")
    with suppress(OSError, ValueError, HTTPException):
        home.ask("POST", "/v1/flush", {"timeout_s": 5})


def _wait_for_the_kill(home: Home) -> None:
    assert home.wait_for_exit() == -signal.SIGKILL, home.log.read_text()


def _start_and_check(home: Home, writer: Writer) -> None:
    home.start()
    home.flush()
    writer.promise()
    database = home.state / "retaind.db"
    writer.check(streams_in(database), found_in(database))
    verified = home.cli("verify", "--deep")
    assert verified.returncode == 0, verified.stdout.decode()
    row = next(r for r in home.ask("GET", "/v1/sessions") if r["state"] != "source_gone")
    assert home.restored(row["id"]) == Path(row["path"]).read_bytes()


def _lay_down_the_first_schema(database: Path) -> None:
    database.parent.mkdir(mode=0o700)
    first = migrations()[0]
    with sqlite3.connect(database) as connection:
        connection.executescript(first.sql)
        connection.execute(
            "CREATE TABLE migration (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied REAL NOT NULL)"
        )
        connection.execute("INSERT INTO migration VALUES (?, ?, 0)", (first.version, first.name))
    connection.close()


def _versions(database: Path) -> list[int]:
    with sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True) as connection:
        rows = connection.execute("SELECT version FROM migration ORDER BY version").fetchall()
    connection.close()
    return [version for (version,) in rows]
