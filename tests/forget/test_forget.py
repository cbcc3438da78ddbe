"""Forgetting: a session is gone from every file of the state, stays gone, and takes nothing else along."""

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from harness.process import Home, home, wait_until
from policies.transcripts import answer, append, prompt, record, write

SECRET = "xylophonequartz"
OTHER = "harmlesspebble"


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Iterator[Home]:
    with home(tmp_path) as place:
        yield place


def traces(place: Home, word: str) -> list[str]:
    """Return the files of the state in which a word stands, plain or compressed."""
    plain, small = word.encode(), word.encode()[:7]
    found = [
        str(path)
        for path in place.state.rglob("*")
        if path.is_file() and (plain in path.read_bytes() or small in path.read_bytes())
    ]
    for database in place.state.rglob("*.db"):
        with sqlite3.connect(database) as connection:
            for table, column in (
                ("block", "data"),
                ("local_frame", "data"),
                ("delivery", "payload"),
            ):
                for (data,) in connection.execute(f"SELECT {column} FROM {table}"):
                    if data and plain in _unpacked(data):
                        found.append(f"{database}:{table}")
            vocabulary = "CREATE VIRTUAL TABLE temp.v USING fts5vocab(main, local_index, row)"
            connection.execute(vocabulary)
            if connection.execute(
                "SELECT 1 FROM temp.v WHERE term LIKE ?", (word[:6] + "%",)
            ).fetchone():
                found.append(f"{database}:index")
        connection.close()
    return found


def _unpacked(data: bytes) -> bytes:
    try:
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    except zstandard.ZstdError:
        return data


def talk(session: str, word: str, first: int = 1, **fields: object) -> tuple[bytes, ...]:
    return (
        prompt(first, f"what of the {word} in {session}", session, **fields),
        answer(first + 1, f"the {word} is by the door", session=session, **fields),
        prompt(first + 2, f"move the {word}{word} away", session, **fields),
        answer(first + 3, f"moved the {word} to the shed " * 30, session=session, **fields),
    )


def test_no_file_of_the_state_holds_a_word_of_a_forgotten_session(place: Home) -> None:
    path = write(place, "one.jsonl", *talk("one", SECRET))
    write(place, "two.jsonl", *talk("two", OTHER, 100))
    write(place, "history.jsonl", record("x", 1, "one", display=SECRET), folder=place.claude)
    place.start()
    place.flush()
    for number in range(12):  # leaves old versions of pages and of blocks behind
        append(path, *talk("one", SECRET, 200 + 4 * number))
        place.flush()
    assert traces(place, SECRET)

    done = place.json("forget", "one", "--yes")

    assert done["complete"]
    assert {one["why"] for one in done["sessions"]} == {"asked", "attachment"}
    assert place.found(SECRET) == []
    assert traces(place, SECRET) == []
    assert set(place.found(OTHER)) == {"two"}
    assert place.cli("verify", "--deep").returncode == 0
    place.stop()
    assert traces(place, SECRET) == []


def test_not_even_the_name_of_a_forgotten_session_is_left(place: Home) -> None:
    session = "5b0c2f6e-7a41-4d5e-9c1b-2f1f5a3e8d10"
    write(place, f"{session}.jsonl", *talk(session, SECRET))
    write(place, "two.jsonl", *talk("two", OTHER, 100))
    place.start()
    place.flush()
    asked = {"session_id": session, "prompt": f"where is the {OTHER} by the door"}
    assert place.ask("POST", "/v1/prompt", asked)["block"]

    place.json("forget", session, "--yes")

    assert traces(place, session) == []


def test_a_forgotten_session_has_no_row_and_is_not_captured_again(place: Home) -> None:
    path = write(place, "one.jsonl", *talk("one", SECRET))
    place.start()
    place.flush()
    assert place.json("forget", "one", "--yes")["sessions"]

    append(path, *talk("one", SECRET, 300))
    place.flush()
    assert place.sessions() == {}
    moved = path.rename(path.with_name("renamed.jsonl"))
    shutil.copy(moved, path.with_name("copied.jsonl"))
    place.flush()
    assert place.sessions() == {}
    assert place.stop() == 0
    place.start()
    place.flush()

    assert place.sessions() == {}
    assert traces(place, SECRET) == []


def test_a_fork_made_later_of_a_forgotten_session_is_not_captured(place: Home) -> None:
    lines = talk("one", SECRET)
    write(place, "one.jsonl", *lines)
    place.start()
    place.flush()
    place.json("forget", "one", "--yes")

    forked = [line.replace(b'"sessionId": "one"', b'"sessionId": "fork"') for line in lines]
    write(place, "fork.jsonl", *forked, *talk("fork", OTHER, 50))
    place.flush()

    assert place.sessions() == {}


def test_a_lost_database_does_not_bring_back_what_was_forgotten(place: Home) -> None:
    write(place, "one.jsonl", *talk("one", SECRET))
    write(place, "two.jsonl", *talk("two", OTHER, 100))
    place.start()
    place.flush()
    place.json("forget", "one", "--yes")
    place.stop()
    stones = place.state / "tombstones.jsonl"
    assert stones.stat().st_mode & 0o777 == 0o600
    for file in place.state.glob("retaind.db*"):
        file.unlink()
    with stones.open("ab") as torn:  # a crash while a later line was written
        torn.write(b'{"v": 1, "sessions": ["0')

    place.start()
    place.flush()
    assert set(place.sessions()) == {"two.jsonl"}
    place.json("forget", "two", "--yes")
    place.stop()
    for file in place.state.glob("retaind.db*"):
        file.unlink()
    place.start()
    place.flush()

    assert place.sessions() == {}


def test_a_dry_run_lists_what_would_go_and_touches_nothing(place: Home) -> None:
    write(place, "one.jsonl", *talk("one", SECRET))
    place.start()
    place.flush()
    (place.state / "retaind.before-v6.db").write_bytes(SECRET.encode())

    listed = place.json("forget", "one", "--dry-run")

    assert [one["session_id"] for one in listed["sessions"]] == ["one"]
    assert listed["databases"] == [str(place.state / "retaind.before-v6.db")]
    assert place.found(SECRET)
    assert (place.state / "retaind.before-v6.db").exists()
    assert place.cli("forget", "one").returncode == 2  # nobody is there to be asked


def test_old_copies_of_the_database_that_may_hold_the_session_go_and_others_stay(
    place: Home,
) -> None:
    write(place, "one.jsonl", *talk("one", SECRET))
    place.start()
    place.flush()
    place.stop()
    with_it, without = place.state / "quarantine" / "1", place.state / "quarantine" / "2"
    for folder in (with_it, without):
        folder.mkdir(parents=True)
        shutil.copy(place.state / "retaind.db", folder / "retaind.db")
    with sqlite3.connect(without / "retaind.db") as connection:
        connection.execute("UPDATE stream SET session_id = 'another'")
    connection.close()
    torn = place.state / "quarantine" / "3"
    torn.mkdir()
    (torn / "retaind.db").write_bytes(b"torn" + SECRET.encode())
    place.start()

    place.json("forget", "one", "--yes")

    assert sorted(os.listdir(place.state / "quarantine")) == ["2"]


def test_forks_go_too_and_with_only_they_take_over_what_they_had_in_common(place: Home) -> None:
    lines = talk("one", SECRET)
    forked = [line.replace(b'"sessionId": "one"', b'"sessionId": "fork"') for line in lines]
    path = write(place, "one.jsonl", *lines)
    place.start()
    place.flush()
    write(place, "fork.jsonl", *forked, *talk("fork", OTHER, 50))
    place.flush()
    assert set(place.found(SECRET)) == {"one"}
    assert {one["why"] for one in place.json("forget", "one", "--dry-run")["sessions"]} == {
        "asked",
        "copy",
    }

    done = place.json("forget", "one", "--only", "--yes")

    assert [one["session_id"] for one in done["kept"]] == ["fork"]
    assert set(place.found(SECRET)) == {"fork"}
    assert set(place.found(OTHER)) == {"fork"}
    assert place.cli("verify", "--deep").returncode == 0
    append(path, *talk("one", SECRET, 400))
    append(path.with_name("fork.jsonl"), *talk("fork", OTHER, 500))
    place.flush()
    assert set(place.sessions()) == {"fork.jsonl"}
    assert place.cli("verify", "--deep").returncode == 0


def test_the_sub_agents_of_a_session_and_what_they_write_later_are_forgotten_with_it(
    place: Home,
) -> None:
    write(place, "one.jsonl", *talk("one", OTHER))
    folder = place.project / "one" / "subagents"
    agent = write(place, "agent-a1.jsonl", *talk("one", SECRET, 60), folder=folder)
    results = place.project / "one" / "tool-results"
    write(place, "r.txt", SECRET.encode(), folder=results)
    place.start()
    place.flush()

    place.json("forget", "one", "--yes")
    append(agent, *talk("one", SECRET, 70))
    write(place, "agent-a2.jsonl", *talk("one", SECRET, 80), folder=folder)
    write(place, "r2.txt", SECRET.encode(), folder=results)
    place.flush()

    assert place.sessions() == {}
    assert traces(place, SECRET) == []


def test_a_forgotten_project_takes_its_sessions_along_also_those_to_come(place: Home) -> None:
    inner = "/home/dev/secret/sub"
    write(place, "in.jsonl", *talk("in", SECRET, cwd=inner))
    write(place, "out.jsonl", *talk("out", OTHER, 30, cwd="/home/dev/secretive"))
    place.start()
    place.flush()

    place.json("forget", "--project", "/home/dev/secret", "--yes")
    write(place, "later.jsonl", *talk("later", SECRET, 90, cwd="/home/dev/secret"))
    place.flush()

    assert set(place.sessions()) == {"out.jsonl"}
    assert traces(place, SECRET) == []


def test_a_forgotten_text_of_ones_own_may_be_retained_again(place: Home) -> None:
    place.start()
    text = place.folder / "note.txt"
    text.write_text(f"remember the {SECRET}")
    place.json("retain", str(text), "--document-id", "note")
    text.unlink()

    place.json("forget", "note", "--yes")
    assert traces(place, SECRET) == []
    assert place.cli("retain", "-", "--document-id", "note", stdin=b"again").returncode == 0

    assert place.found("again") == ["note"]


def test_a_kill_in_the_middle_of_forgetting_leaves_a_session_that_can_be_forgotten(
    place: Home,
) -> None:
    path = write(place, "one.jsonl", *talk("one", SECRET))
    place.start(RETAIND_FAILPOINT="forget.written")
    place.flush()
    assert place.cli("forget", "one", "--yes").returncode != 0
    place.wait_for_exit()
    place.start()
    place.flush()

    rows = place.ask("GET", "/v1/sessions")
    assert [row["session_id"] for row in rows] == ["one"]
    append(path, *talk("one", SECRET, 20))
    place.json("forget", "one", "--yes")
    place.flush()

    assert place.sessions() == {}
    assert traces(place, SECRET) == []


def test_a_kill_after_the_commit_leaves_traces_only_until_the_next_start(place: Home) -> None:
    write(place, "one.jsonl", *talk("one", SECRET))
    place.start(RETAIND_FAILPOINT="forget.committed")
    place.flush()
    backup = place.state / "retaind.before-v6.db"
    backup.write_bytes(SECRET.encode())
    assert place.cli("forget", "one", "--yes").returncode != 0
    place.wait_for_exit()
    assert backup.exists()
    place.start()
    place.flush()

    assert place.sessions() == {}
    wait_until(lambda: not backup.exists(), "the copy is deleted")
    assert traces(place, SECRET) == []


def test_the_tombstones_hold_hashes_only(place: Home) -> None:
    write(place, "one.jsonl", *talk("one", SECRET))
    place.start()
    place.flush()
    place.json("forget", "one", "--yes")

    said = [
        json.loads(line)
        for line in (place.state / "tombstones.jsonl").read_text().splitlines()
        if line
    ]

    assert len(said) == 1
    assert set(said[0]) == {"v", "sessions", "heads", "folders", "records"}
    assert all(len(one) == 32 and int(one, 16) for one in said[0]["sessions"])


def test_a_projects_name_is_no_folder(place: Home) -> None:
    place.start()
    done = place.cli("forget", "--project", "shop", "--yes")

    assert done.returncode == 2
    assert b"'shop' is no path of a folder" in done.stderr
    assert not (place.state / "tombstones.jsonl").exists()
