# ruff: noqa: N802 - rows of the checklist of tailers are named in capitals
"""State that is damaged, too new or not writable: set aside, refused, waited for; never a crash loop."""

import hashlib
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path

import pytest

from harness.kept import found_in, kept_in
from harness.process import Home, wait_until
from harness.rig import lines

STARTS = 3
"""A service manager starts a daemon again that has ended; it must not take more than this."""


def _zeroed_header(state: Path) -> None:
    with (state / "retaind.db").open("r+b") as file:
        file.write(b"\0" * 100)


def _no_database(state: Path) -> None:
    (state / "retaind.db").write_bytes(b"this is no database at all\n" * 1000)


def _cut_to_a_page(state: Path) -> None:
    os.truncate(state / "retaind.db", 8192)


def _cut_in_the_middle(state: Path) -> None:
    database = state / "retaind.db"
    os.truncate(database, database.stat().st_size // 2 // 8192 * 8192)


def _rubbish_in_the_middle(state: Path) -> None:
    """Overwrite every page but the first, where the tables are named."""
    database = state / "retaind.db"
    pages = database.stat().st_size // 8192
    with database.open("r+b") as file:
        file.seek(8192)
        file.write(b"\xa5" * 8192 * (pages - 1))


def _rubbish_beside(state: Path) -> None:
    (state / "retaind.db-wal").write_bytes(os.urandom(100_000))
    (state / "retaind.db-shm").write_bytes(os.urandom(32768))


@pytest.mark.parametrize(
    ("damage", "set_aside"),
    [
        (_zeroed_header, True),
        (_no_database, True),
        (_cut_to_a_page, True),
        (_cut_in_the_middle, True),
        (_rubbish_in_the_middle, True),
        (_rubbish_beside, False),
    ],
)
def test_a_damaged_database_is_set_aside_and_made_again_from_the_sources(
    home: Home, damage: Callable[[Path], None], *, set_aside: bool
) -> None:
    files = {f"{name}.jsonl": lines(n * 1000, n * 1000 + 400) for n, name in enumerate("abc", 1)}
    for name, data in files.items():
        (home.project / name).write_bytes(data)
    home.start()
    home.flush()
    home.stop()
    damage(home.state)
    _start_until_it_works(home)
    with (home.project / "a.jsonl").open("ab") as file:
        file.write(lines(9001, 9002))
    home.flush()

    assert kept_in(home.state) == {**files, "a.jsonl": files["a.jsonl"] + lines(9001, 9002)}
    assert set(found_in(home.state / "retaind.db").values()) == {1}
    assert len(found_in(home.state / "retaind.db")) == 3 * 401 + 2
    kept = list((home.state / "quarantine").glob("*/retaind.db"))
    assert bool(kept) == set_aside
    if set_aside:
        assert str(kept[0].parent) in (home.status()["last_error"] or "") + home.log.read_text()


def test_damage_met_while_running_is_set_aside_at_the_next_start(home: Home) -> None:
    (home.project / "a.jsonl").write_bytes(lines(1, 2000))
    home.start()
    home.flush()
    home.stop()
    home.start()
    home.flush()
    _rubbish_in_the_middle(home.state)
    with (home.project / "a.jsonl").open("ab") as file:
        file.write(lines(2001, 2002))
    _start_until_it_works(home)

    assert kept_in(home.state) == {"a.jsonl": lines(1, 2002)}
    assert home.cli("verify", "--deep").returncode == 0


@pytest.mark.parametrize("table", ["block", "cursor", "local_index_data", "record_owner"])
def test_damage_that_only_work_meets_is_set_aside_at_the_next_start(home: Home, table: str) -> None:
    (home.project / "a.jsonl").write_bytes(lines(1, 20))
    home.start()
    home.flush()
    home.stop()
    with sqlite3.connect(home.state / "retaind.db") as connection:
        query = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
        (root,) = connection.execute(query, (table,)).fetchone()
    connection.close()
    with (home.state / "retaind.db").open("r+b") as file:
        file.seek((root - 1) * 8192)
        file.write(b"\xa5" * 8192)
    with (home.project / "a.jsonl").open("ab") as file:
        file.write(lines(21, 22))
    _start_until_it_works(home)

    assert kept_in(home.state) == {"a.jsonl": lines(1, 22)}
    assert sorted(found_in(home.state / "retaind.db").elements()) == list(range(1, 23))
    assert list((home.state / "quarantine").glob("*/retaind.db"))


def _start_until_it_works(home: Home) -> None:
    """Start the daemon as a service manager does, each time that it has ended, until it has flushed."""
    for _ in range(STARTS):
        if home.process is None:
            home.start(wait=False)
        wait_until(lambda: _ended(home) or _has_flushed(home), "it has flushed, or ended")
        if not _ended(home):
            return
        home.wait_for_exit()
    raise AssertionError(f"it does not work after {STARTS} starts: {home.log.read_text()}")


def _has_flushed(home: Home) -> bool:
    try:
        return bool(home.ask("POST", "/v1/flush", {"timeout_s": 30})["complete"])
    except (OSError, HTTPException, AssertionError):
        return False


def test_a_database_whose_making_was_cut_short_is_made(home: Home, tmp_path: Path) -> None:
    made = tmp_path / "retaind.db"
    connection = sqlite3.connect(made, isolation_level=None)
    connection.execute("PRAGMA journal_mode=DELETE")
    connection.execute("CREATE TABLE t (data BLOB)")
    connection.execute("PRAGMA cache_size=1")
    connection.execute("BEGIN")
    connection.execute("INSERT INTO t VALUES (randomblob(200000))")
    home.state.mkdir(mode=0o700)
    for name in ("retaind.db", "retaind.db-journal"):
        shutil.copy(tmp_path / name, home.state / name)
    connection.execute("ROLLBACK")
    connection.close()
    (home.project / "a.jsonl").write_bytes(lines(1, 4))
    home.start()
    home.flush()

    assert kept_in(home.state) == {"a.jsonl": lines(1, 4)}
    assert not (home.state / "quarantine").exists()


def test_T50_a_newer_schema_is_refused_untouched(home: Home) -> None:
    home.start()
    home.stop()
    database = home.state / "retaind.db"
    with sqlite3.connect(database) as connection:
        connection.execute("INSERT INTO migration VALUES (9999, 'of the future', 0)")
    connection.close()
    before = hashlib.sha256(database.read_bytes()).digest()
    code, said = home.run_to_its_end()

    assert code == 74
    assert "9999" in said
    assert "FIX" in said
    assert hashlib.sha256(database.read_bytes()).digest() == before
    assert not (home.state / "quarantine").exists()


@pytest.mark.parametrize("content", [None, b""], ids=["empty folder", "with a lock"])
def test_T49_a_state_folder_that_cannot_be_written_is_named(
    home: Home, content: bytes | None
) -> None:
    home.state.mkdir(mode=0o700)
    if content is not None:
        (home.state / "lock").write_bytes(content)
    home.state.chmod(0o500)
    code, said = home.run_to_its_end(bound=True)
    home.state.chmod(0o700)

    assert code == 74
    assert str(home.state) in said
    assert "FIX" in said


def test_T49_a_database_that_cannot_be_written_is_named(home: Home) -> None:
    (home.project / "a.jsonl").write_bytes(lines(1, 4))
    home.start()
    home.flush()
    home.stop()
    (home.state / "retaind.db").chmod(0o400)
    home.state.chmod(0o500)
    code, said = home.run_to_its_end(bound=True)
    home.state.chmod(0o700)

    assert code == 74
    assert str(home.state) in said
    assert not (home.state / "quarantine").exists()


def test_T48_a_database_that_somebody_holds_is_waited_for(home: Home) -> None:
    home.start()
    home.flush()
    with sqlite3.connect(home.state / "retaind.db", isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        (home.project / "a.jsonl").write_bytes(lines(1, 4))
        wait_until(lambda: home.status()["last_error"], "it is said")
        assert home.status()["state"] == "degraded"
        (home.project / "b.jsonl").write_bytes(lines(5, 8))
        other.execute("ROLLBACK")
    other.close()
    wait_until(lambda: len(kept_in(home.state)) == 2, "both files are kept")
    home.flush()

    assert kept_in(home.state) == {"a.jsonl": lines(1, 4), "b.jsonl": lines(5, 8)}
    assert home.status()["state"] == "running"


@contextmanager
def _small_disk(folder: Path, size: str) -> Iterator[None]:
    """Mount a small file system; skip where that is not possible, but never where CI runs as root."""
    folder.mkdir(mode=0o700)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", folder],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        if os.environ.get("CI") == "true" and os.geteuid() == 0:
            raise AssertionError(mounted.stderr.decode())
        pytest.skip("a small file system can be mounted by root only")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def test_T46_a_full_disk_stops_the_offsets_and_nothing_else(home: Home) -> None:
    with _small_disk(home.state, "6m"):
        (home.project / "a.jsonl").write_bytes(lines(1, 9))
        home.start()
        home.flush()
        _fill(home.state / "filler")
        big = b"".join(os.urandom(400).hex().encode() + b"\n" for _ in range(2000))
        (home.project / "b.jsonl").write_bytes(big)
        wait_until(lambda: home.status()["last_error"], "it is said")
        status = home.status()
        with (home.project / "a.jsonl").open("ab") as file:
            file.write(lines(10, 12))
        answer = home.ask("POST", "/v1/flush", {"timeout_s": 10})

        assert status["state"] == "degraded"
        assert "space" in status["last_error"]
        assert not answer["complete"]
        assert "space" in answer["error"]
        assert home.process is not None
        assert home.process.poll() is None

        (home.state / "filler").unlink()
        home.flush()
        assert kept_in(home.state) == {"a.jsonl": lines(1, 12), "b.jsonl": big}
        assert home.status()["state"] == "running"
        assert sorted(found_in(home.state / "retaind.db").elements()) == list(range(1, 13))
        assert home.stop() == 0


def test_T46_a_stop_and_a_start_on_a_full_disk_lose_nothing(home: Home) -> None:
    with _small_disk(home.state, "6m"):
        (home.project / "a.jsonl").write_bytes(lines(1, 9))
        home.start()
        home.flush()
        big = b"".join(os.urandom(400).hex().encode() + b"\n" for _ in range(2000))
        (home.project / "b.jsonl").write_bytes(big)
        _fill(home.state / "filler")
        assert home.stop() == 0
        code = None
        home.start(wait=False)
        wait_until(lambda: _ended(home) or _has_trouble(home), "it says so, or cannot start")
        if _ended(home):
            code = home.wait_for_exit()
            assert "space" in home.log.read_text()
        else:
            home.kill()
        assert code != 0
        (home.state / "filler").unlink()
        home.start()
        home.flush()

        assert kept_in(home.state) == {"a.jsonl": lines(1, 9), "b.jsonl": big}
        assert home.cli("verify", "--deep").returncode == 0
        home.stop()


def _fill(path: Path) -> None:
    with path.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


def _ended(home: Home) -> bool:
    return home.process is not None and home.process.poll() is not None


def _has_trouble(home: Home) -> bool:
    try:
        return bool(home.status()["last_error"])
    except OSError:
        return False
