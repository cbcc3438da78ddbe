"""Ways in which tools of this kind have lost, doubled or invented sessions, each done to a real daemon.

README.md beside this file has the table of them, with what becomes of each and which test says so.
"""

import json
import os
import shutil
import signal
import time
from contextlib import suppress
from typing import Any

import pytest

from harness.kept import kept_in, numbers_in, streams_in
from harness.process import Home, wait_until
from harness.rig import append, line, lines

MB = 1 << 20


def _record(number: int, **fields: Any) -> bytes:
    """Return a record with these fields added or replaced."""
    return json.dumps(json.loads(line(number)) | fields, separators=(",", ":")).encode() + b"\n"


def _bytes_read(home: Home) -> int:
    counts = home.proc("io").read_text()
    return int(counts.split("rchar:")[1].split()[0])


def test_lines_written_just_before_an_unlink_are_kept(home: Home) -> None:
    path = home.project / "a.jsonl"
    path.write_bytes(line(1))
    home.start()
    home.flush()
    for number in range(2, 22):
        append(path, line(number))
    path.unlink()
    wait_until(lambda: kept_in(home.state) == {"a.jsonl": lines(1, 21)}, "all is read all the same")
    home.flush()

    assert numbers_in(home.state) == list(range(1, 22))


def test_lines_written_just_before_an_unlink_after_a_start_are_kept(home: Home) -> None:
    path = home.project / "a.jsonl"
    path.write_bytes(line(1))
    home.start()
    home.flush()
    home.kill()
    home.start()
    home.flush()
    append(path, lines(2, 21))
    path.unlink()
    wait_until(lambda: kept_in(home.state) == {"a.jsonl": lines(1, 21)}, "all is read all the same")


def test_a_session_written_in_one_burst_and_never_again_is_retained(home: Home) -> None:
    home.start()
    home.flush()
    folder = home.project.parent / "-home-dev-new"
    folder.mkdir()
    (folder / "a.jsonl").write_bytes(lines(1, 30))
    wait_until(
        lambda: numbers_in(home.state) == list(range(1, 31)), "it is retained without another write"
    )


def test_a_busy_session_is_retained_within_the_bound_and_at_the_stop(home: Home) -> None:
    home.config.write_text("[memory.local]\nidle_s = 600\nmax_behind_s = 1\n")
    path = home.project / "a.jsonl"
    home.start()
    number = 0

    def busy() -> bool:
        nonlocal number
        number += 1
        append(path, line(number))
        return bool(numbers_in(home.state))

    wait_until(busy, "something is retained while it goes on")
    append(path, line(number + 1))
    home.stop()

    assert numbers_in(home.state) == list(range(1, number + 2))


def test_records_glued_together_and_stubs_are_taken_apart(home: Home) -> None:
    glued = line(1)[:-1] + line(2) + line(3)[:120] + line(4) + b'{"a":1}{"b":2}\n' + line(5)
    (home.project / "a.jsonl").write_bytes(glued)
    home.start()
    home.flush()
    dropped = home.sessions()["a.jsonl"]["memories"]["local"]["dropped"]

    assert kept_in(home.state) == {"a.jsonl": glued}
    assert numbers_in(home.state) == [1, 2, 4, 5]
    assert dropped["truncated"] == 1
    assert dropped["unknown"] == 2


def test_bytes_that_are_no_utf8_are_kept_and_said_to_have_changed(home: Home) -> None:
    data = line(1, "caf\u00e9 said").replace(b"\xc3\xa9", b"\xe9")
    (home.project / "a.jsonl").write_bytes(data)
    home.start()
    home.flush()

    assert home.restored("a") == data
    assert home.sessions()["a.jsonl"]["memories"]["local"]["lossy"] == 1


def test_a_long_line_of_a_sidechain_stays_one(home: Home) -> None:
    (home.project / "a.jsonl").write_bytes(
        line(1) + _record(2, toolUseResult="x" * 40_000, isSidechain=True)
    )
    home.start()
    home.flush()

    assert numbers_in(home.state) == [1]
    assert home.sessions()["a.jsonl"]["memories"]["local"]["dropped"] == {"sidechain": 1}


def test_one_session_id_in_two_projects_is_two_sessions(home: Home) -> None:
    other = home.project.parent / "-home-dev-moved"
    other.mkdir()
    (home.project / "s.jsonl").write_bytes(lines(1, 4))
    (other / "s.jsonl").write_bytes(lines(11, 14))
    home.start()
    home.flush()
    append(other / "s.jsonl", line(15))
    home.flush()

    kept = sorted(s.data for s in streams_in(home.state / "retaind.db"))
    assert kept == sorted([lines(1, 4), lines(11, 15)])
    assert home.cli("restore", "s").returncode == 5
    assert numbers_in(home.state) == [1, 2, 3, 4, 11, 12, 13, 14, 15]


def test_a_forked_session_brings_its_own_lines_only(home: Home) -> None:
    parent, fork = home.project / "a.jsonl", home.project / "b.jsonl"
    parent.write_bytes(b"".join(_record(n, sessionId="a") for n in range(1, 11)))
    home.start()
    home.flush()
    shutil.copy(parent, fork)
    append(fork, _record(11, sessionId="b") + _record(12, sessionId="b"))
    home.flush()
    rows = home.sessions()

    assert numbers_in(home.state) == list(range(1, 13))
    assert rows["b.jsonl"]["memories"]["local"]["retained"] == 2
    assert rows["b.jsonl"]["memories"]["local"]["dropped"] == {"duplicate": 10}
    assert rows["b.jsonl"]["parent_id"] == rows["a.jsonl"]["id"]


def test_many_flushes_of_a_growing_session_deliver_each_line_once(home: Home) -> None:
    path = home.project / "a.jsonl"
    home.start()
    for number in range(1, 41):
        append(path, line(number))
        home.flush()

    assert numbers_in(home.state) == list(range(1, 41))
    (kept,) = streams_in(home.state / "retaind.db")
    assert kept.said == tuple(range(1, 41))


def test_a_sub_agent_that_nothing_refers_to_is_found_and_linked(home: Home) -> None:
    folder = home.project / "s1" / "subagents"
    folder.mkdir(parents=True)
    (home.project / "s1.jsonl").write_bytes(lines(1, 3))
    (folder / "agent-x.jsonl").write_bytes(
        b"".join(_record(n, sessionId="s1", isSidechain=True, agentId="x") for n in (11, 12))
    )
    (folder / "agent-x.meta.json").write_bytes(b'{"agentType":"explore"}')
    home.start()
    home.flush()
    rows = home.sessions()

    assert numbers_in(home.state) == [1, 2, 3, 11, 12]
    assert rows["agent-x.jsonl"]["kind"] == "subagent"
    assert rows["agent-x.jsonl"]["owner_session"] == "s1"
    assert home.restored("agent-x") == (folder / "agent-x.jsonl").read_bytes()


def test_heartbeats_in_a_large_session_cost_what_they_bring(home: Home) -> None:
    path = home.project / "a.jsonl"
    with path.open("wb") as file:
        for number in range(5000):
            file.write(_record(number, toolUseResult="x" * 4000))
    home.start()
    home.flush()
    before = _bytes_read(home)
    for number in range(30):
        append(path, b'{"type":"progress","data":{"n":%d}}\n' % number)
        wait_until(
            lambda: home.sessions()["a.jsonl"]["captured_bytes"] == path.stat().st_size, "read"
        )

    assert path.stat().st_size > 20 * MB
    assert _bytes_read(home) - before < 30 * 256 * 1024


def test_status_answers_while_much_is_imported(home: Home) -> None:
    padding = "x" * 3000
    for number in range(40):
        (home.project / f"s{number}.jsonl").write_bytes(
            b"".join(_record(number * 1000 + n, toolUseResult=padding) for n in range(300))
        )
    home.start()
    slowest = 0.0
    while home.status()["pending_bytes"] or not home.status()["captured_bytes"]:
        begun = time.monotonic()
        home.status()
        slowest = max(slowest, time.monotonic() - begun)

    assert slowest < 1.0


def test_no_more_is_watched_than_there_are_folders(home: Home) -> None:
    for number in range(60):
        (home.project.parent / f"-p{number}").mkdir()
    elsewhere = home.claude / "todos"
    for number in range(200):
        (elsewhere / f"t{number}").mkdir(parents=True)
    home.start()
    home.flush()
    wait_until(lambda: home.status()["watch"]["state"] == "watching", "it watches")
    watches = 0
    for info in home.proc("fdinfo").iterdir():
        with suppress(FileNotFoundError):  # a file that was open when the folder was listed
            watches += info.read_text().count("inotify wd:")

    assert 61 <= watches <= 70


def test_folders_with_one_encoded_name_are_told_apart_by_the_records(home: Home) -> None:
    folder = home.project.parent / "-a-b-c"
    folder.mkdir()
    for number, cwd in enumerate(("/a/b-c", "/a/b/c", "/a/b_c")):
        (folder / f"s{number}.jsonl").write_bytes(_record(number, cwd=cwd))
    home.start()
    home.flush()

    rows = home.sessions()
    assert [rows[f"s{n}.jsonl"]["cwd"] for n in range(3)] == ["/a/b-c", "/a/b/c", "/a/b_c"]


def test_sessions_whose_files_were_cleaned_up_stay_and_say_so(home: Home) -> None:
    for number in range(5):
        (home.project / f"s{number}.jsonl").write_bytes(lines(number * 10, number * 10 + 4))
    home.start()
    home.flush()
    for path in list(home.project.iterdir()):
        path.unlink()
    wait_until(
        lambda: {row["state"] for row in home.sessions().values()} == {"source_gone"}, "it is said"
    )

    assert len(numbers_in(home.state)) == 25
    assert home.restored("s3") == lines(30, 34)
    verified = home.json("verify", "--deep")
    assert verified["ok"]
    assert {row["source_bytes"] for row in verified["sessions"]} == {None}


def test_a_session_that_is_reset_by_a_rename_leaves_both(home: Home) -> None:
    path = home.project / "s.jsonl"
    path.write_bytes(lines(1, 4))
    home.start()
    home.flush()
    path.rename(home.project / "s.jsonl.reset.2026-10-01T08:00:00.000Z")
    path.write_bytes(lines(11, 12))
    home.flush()

    assert {s.session_id for s in streams_in(home.state / "retaind.db")} == {"s"}
    assert sorted(kept_in(home.state).values()) == sorted([lines(1, 4), lines(11, 12)])
    assert numbers_in(home.state) == [1, 2, 3, 4, 11, 12]


def test_backups_and_copies_of_editors_are_left_alone(home: Home) -> None:
    (home.project / "a.jsonl").write_bytes(lines(1, 3))
    for name in (
        "a.jsonl.bak",
        "a.jsonl.tmp",
        "a.jsonl~",
        ".a.jsonl.swp",
        "#a.jsonl#",
        ".#a.jsonl",
    ):
        (home.project / name).write_bytes(lines(101, 103))
    home.start()
    home.flush()

    assert kept_in(home.state) == {"a.jsonl": lines(1, 3)}
    assert numbers_in(home.state) == [1, 2, 3]


def test_a_session_without_messages_is_kept_and_accounted_for(home: Home) -> None:
    data = b'{"type":"mode","sessionId":"s"}\n{"type":"progress","data":1}\n' * 20
    (home.project / "s.jsonl").write_bytes(data)
    home.start()
    home.flush()
    row = home.sessions()["s.jsonl"]

    assert row["captured_bytes"] == len(data)
    assert row["messages"] == 0
    assert row["memories"]["local"]["dropped"] == {"transport": 40}
    assert row["state"] == "idle"


def test_state_below_a_watched_folder_does_not_feed_on_itself(home: Home) -> None:
    home.environ["RETAIND_STATE_DIR"] = str(home.project / "state")
    home.environ["RETAIND_SOCKET"] = str(home.folder / "ctl.sock")
    (home.project / "a.jsonl").write_bytes(lines(1, 3))
    home.start()
    for number in range(4, 20):
        append(home.project / "a.jsonl", line(number))
        home.flush()
    before = home.status()["watch"]["scans"]
    captured = home.status()["captured_bytes"]
    wait_until(_Quiet(home), "nothing moves any more")

    assert home.status()["captured_bytes"] == captured == len(lines(1, 19))
    assert home.status()["watch"]["scans"] <= before + 3


class _Quiet:
    """Whether the daemon has used no time worth mentioning for fifty looks in a row."""

    def __init__(self, home: Home) -> None:
        self._stat = home.proc("stat")
        self._since = self._ticks()
        self._looks = 0

    def __call__(self) -> bool:
        self._looks += 1
        if self._ticks() > self._since + 3:
            self._since, self._looks = self._ticks(), 0
        return self._looks >= 50

    def _ticks(self) -> int:
        fields = self._stat.read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])


def test_a_child_that_outlives_the_daemon_holds_neither_socket_nor_lock(home: Home) -> None:
    mark = home.folder / "called"
    hook = home.folder / "hook.sh"
    hook.write_text(f"#!/bin/sh\necho $$ > {mark}.part; mv {mark}.part {mark}\nexec sleep 60\n")
    hook.chmod(0o755)
    home.config.write_text(f'[hooks]\npost_retain = ["{hook}"]\n')
    home.start()
    (home.project / "a.jsonl").write_bytes(lines(1, 3))
    home.flush()
    wait_until(mark.exists, "the hook runs")
    child = int(mark.read_text())
    try:
        home.kill()
        home.start()
        assert home.status()["state"] == "running"
    finally:
        os.kill(child, signal.SIGKILL)


@pytest.mark.parametrize("name", ["a.jsonl.zst", "a.jsonl.gz"])
def test_a_transcript_that_its_host_compressed_is_not_lost(home: Home, name: str) -> None:
    path = home.project / "a.jsonl"
    path.write_bytes(lines(1, 3))
    home.start()
    home.flush()
    path.rename(home.project / name)
    (home.project / name).write_bytes(b"\x28\xb5\x2f\xfd not text")
    wait_until(lambda: home.sessions()["a.jsonl"]["state"] == "source_gone", "it is said")

    assert home.restored("a") == lines(1, 3)
    assert numbers_in(home.state) == [1, 2, 3]
