"""A remote memory is rebuilt: everything arrives anew under today's policy, then what was there leaves."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from harness.process import DEADLINE_S, Home, wait_until
from hindsight.fake_hindsight import FakeHindsight, Reply, is_retain
from hindsight.talks import deliver, lines, memory, said, session, write


def rebuild(place: Home, *arguments: str) -> Any:
    return place.json("rebuild", "--memory", "hindsight", *arguments)


def is_clean(place: Home) -> bool:
    """Whether nothing is being rebuilt or erased any more."""
    found = memory(place)
    return not found["rebuilding"] and not found["documents"]["to_erase"]


def configure(place: Home, text: str) -> None:
    """Go on with another configuration."""
    place.stop()
    place.config.parent.mkdir(parents=True, exist_ok=True)
    place.config.write_text(text)
    place.start()


@pytest.fixture(name="filled")
def _filled(place: Home, fake: FakeHindsight) -> Home:
    """Two sessions on the server, the first in three documents."""
    place.start()
    for first in (1, 5, 9):
        write(place, 1, lines(first, first + 3))
        assert deliver(place)["complete"]
    write(place, 2, lines(21, 24))
    assert deliver(place)["complete"]
    assert len(fake.documents) == 4
    return place


def test_what_it_would_send_is_said_and_nothing_sent(filled: Home, fake: FakeHindsight) -> None:
    before = len(fake.retains())
    found = rebuild(filled, "--dry-run")

    assert (found["sessions"], found["stale"], found["skipped"]) == (2, 0, {})
    assert found["before"] == {**found["after"], "tokens": found["before"]["tokens"]}
    assert found["after"]["retained"] == 16
    assert found["after"]["tokens"] > 50
    assert len(fake.retains()) == before


def test_without_yes_nothing_is_sent(filled: Home, fake: FakeHindsight) -> None:
    before = len(fake.retains())
    done = filled.cli("rebuild", "--memory", "hindsight")

    assert done.returncode == 2
    assert b"--yes" in done.stderr
    assert len(fake.retains()) == before


def test_each_message_is_there_once_under_todays_policy(filled: Home, fake: FakeHindsight) -> None:
    configure(filled, '[retain]\nformat = "jsonl"\n')
    assert memory(filled)["retained"] == 16
    found = rebuild(filled, "--yes")
    wait_until(lambda: is_clean(filled), "what was there has left")

    assert (found["sessions"], found["stale"], found["complete"]) == (2, 2, True)
    assert said(fake.texts()) == [*range(1, 13), *range(21, 25)]
    assert len(fake.documents) == 2  # what came in three windows fits in one
    assert all(json.loads(text.splitlines()[0])["role"] for text in fake.texts())
    assert memory(filled)["retained"] == 16
    assert filled.json("verify")["ok"]
    assert rebuild(filled, "--dry-run")["stale"] == 0


def test_one_session_is_rebuilt_and_the_other_left(filled: Home, fake: FakeHindsight) -> None:
    before = len(fake.retains())
    found = rebuild(filled, session(2), "--yes")
    wait_until(lambda: is_clean(filled), "it is done")

    assert found["sessions"] == 1
    assert len(fake.retains()) == before + 1
    assert said(fake.texts()) == [*range(1, 13), *range(21, 25)]


def test_what_was_there_stays_until_the_new_has_arrived(filled: Home, fake: FakeHindsight) -> None:
    fake.fault = lambda asked: Reply(503) if is_retain(asked) else None
    filled.ask("POST", "/v1/rebuild", {"memory": "hindsight", "dry_run": True})
    with filled.connected() as connection:
        body = json.dumps({"memory": "hindsight"})
        connection.request("POST", "/v1/rebuild", body, {"Content-Type": "application/json"})
        wait_until(lambda: memory(filled)["documents"]["planned"], "the new is planned")
        assert len(fake.documents) == 4
        filled.kill()
    filled.start()
    assert len(fake.documents) == 4
    assert memory(filled)["rebuilding"] == 2

    fake.fault = lambda _: None
    wait_until(lambda: is_clean(filled), "it has gone on by itself")
    assert said(fake.texts()) == [*range(1, 13), *range(21, 25)]
    assert len(fake.documents) == 2
    assert memory(filled)["retained"] == 16


def test_a_lost_process_that_has_planned_nothing_yet_takes_the_old_for_nothing(
    filled: Home, fake: FakeHindsight
) -> None:
    filled.environ["RETAIND_FAILPOINT"] = "retain.planned"
    filled.stop()
    filled.start()
    with filled.connected() as connection:
        body = json.dumps({"memory": "hindsight"})
        connection.request("POST", "/v1/rebuild", body, {"Content-Type": "application/json"})
        filled.wait_for_exit()
    del filled.environ["RETAIND_FAILPOINT"]
    filled.start()

    wait_until(lambda: is_clean(filled), "it has gone on by itself")
    assert said(fake.texts()) == [*range(1, 13), *range(21, 25)]
    assert len(fake.documents) == 2


def test_what_is_said_meanwhile_arrives_too(filled: Home, fake: FakeHindsight) -> None:
    rebuild(filled, "--yes")
    write(filled, 1, lines(13, 15))
    assert deliver(filled)["complete"]
    wait_until(lambda: is_clean(filled), "it is done")

    assert said(fake.texts()) == [*range(1, 16), *range(21, 25)]


def test_what_was_older_than_the_memory_stays_passed_over(place: Home, fake: FakeHindsight) -> None:
    path = write(place, 1, lines(1, 4))
    os.utime(path, (1, 1))
    place.start()
    assert deliver(place)["complete"]
    write(place, 1, lines(5, 8))
    assert deliver(place)["complete"]
    assert said(fake.texts()) == [5, 6, 7, 8]

    found = rebuild(place, "--yes")
    wait_until(lambda: is_clean(place), "it is done")

    assert found["before"]["records"] == found["after"]["records"] == 8
    assert said(fake.texts()) == [5, 6, 7, 8]
    assert memory(place)["dropped"]["before_backfill"] == 4
    assert place.json("verify")["ok"]


def test_a_session_with_documents_on_their_way_is_left_as_it_is(
    filled: Home, fake: FakeHindsight
) -> None:
    fake.fault = lambda asked: Reply(503) if is_retain(asked) else None
    write(filled, 1, lines(13, 14))
    wait_until(lambda: memory(filled)["documents"]["planned"], "a document is planned")
    found = rebuild(filled, session(1), "--yes")

    assert (found["sessions"], found["skipped"]) == (0, {"under_way": 1})
    fake.fault = lambda _: None
    assert deliver(filled)["complete"]
    assert said(fake.texts()) == [*range(1, 15), *range(21, 25)]


def asked_beside(place: Home) -> subprocess.Popen[bytes]:
    """Start a rebuild of everything that may take a while."""
    command = [sys.executable, "-I", "-m", "retaind", "rebuild", "--memory", "hindsight", "--yes"]
    return subprocess.Popen(
        command, env=place.environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def test_what_the_server_will_not_take_anew_stays_there_as_it_was(
    filled: Home, fake: FakeHindsight
) -> None:
    fake.poison = "said 6"
    configure(filled, '[retain]\nformat = "jsonl"\n')
    found = rebuild(filled, "--yes")
    wait_until(lambda: is_clean(filled), "it is done")

    assert found["complete"]
    assert memory(filled)["set_aside"] == 1
    assert set(said(fake.texts())) == {*range(1, 13), *range(21, 25)}
    assert len([one for one in said(fake.texts()) if one not in range(5, 9)]) == 12


def test_a_session_that_is_forgotten_meanwhile_ends_its_rebuild(
    filled: Home, fake: FakeHindsight
) -> None:
    fake.fault = lambda asked: Reply(503) if is_retain(asked) else None
    with asked_beside(filled) as beside:
        wait_until(lambda: memory(filled)["rebuilding"] == 2, "it has begun")
        assert filled.cli("forget", session(1), "--yes").returncode == 0
        fake.fault = lambda _: None
        assert beside.wait(DEADLINE_S) == 0
    assert memory(filled)["rebuilding"] == 0

    wait_until(lambda: said(fake.texts()) == [*range(21, 25)], "the forgotten one is gone")


def test_a_session_that_is_excluded_meanwhile_keeps_what_it_has(
    filled: Home, fake: FakeHindsight
) -> None:
    fake.fault = lambda asked: Reply(503) if is_retain(asked) else None
    with asked_beside(filled) as beside:
        wait_until(lambda: memory(filled)["rebuilding"] == 2, "it has begun")
        filled.kill()
        beside.wait(DEADLINE_S)
    fake.fault = lambda _: None
    filled.config.parent.mkdir(parents=True, exist_ok=True)
    filled.config.write_text('[projects."/home/dev/lab"]\nmode = "metadata"\n')
    filled.start()
    wait_until(lambda: is_clean(filled), "it is over")

    assert set(said(fake.texts())) == {*range(1, 13), *range(21, 25)}


def test_a_fork_takes_over_at_the_server_what_its_parent_is_forgotten_for(
    place: Home, fake: FakeHindsight
) -> None:
    place.start()
    write(place, 1, lines(1, 6))
    assert deliver(place)["complete"]
    write(place, 2, lines(1, 6) + lines(11, 12))
    assert deliver(place)["complete"]
    assert place.cli("forget", session(1), "--only", "--yes").returncode == 0
    wait_until(lambda: is_clean(place), "it is done")

    assert said(fake.texts()) == [*range(1, 7), 11, 12]


def test_a_memory_that_is_not_there_is_named(place: Home) -> None:
    place.start()
    done = place.cli("rebuild", "--memory", "elsewhere", "--yes")

    assert done.returncode == 2
    assert b"no memory elsewhere" in done.stderr


def test_what_two_generations_share_is_sent_once_and_foreseen_so(
    place: Home, fake: FakeHindsight
) -> None:
    place.start()
    path = write(place, 1, lines(1, 6))
    assert deliver(place)["complete"]
    path.write_bytes(lines(1, 3) + lines(11, 14))
    assert deliver(place)["complete"]
    assert sorted(said(fake.texts())) == [*range(1, 7), *range(11, 15)]
    foreseen = rebuild(place, "--dry-run")
    found = rebuild(place, "--yes")
    wait_until(lambda: is_clean(place), "it is done")

    assert foreseen["after"]["retained"] == found["after"]["retained"] == 10
    assert found["before"]["records"] == found["after"]["records"] == foreseen["after"]["records"]
    assert sorted(said(fake.texts())) == [*range(1, 7), *range(11, 15)]
    assert place.json("verify")["ok"]


def test_a_fork_is_rebuilt_with_what_it_has_of_its_own(place: Home, fake: FakeHindsight) -> None:
    place.start()
    write(place, 1, lines(1, 6))
    assert deliver(place)["complete"]
    write(place, 2, lines(1, 6) + lines(11, 12))
    assert deliver(place)["complete"]
    foreseen = rebuild(place, session(2), "--dry-run")
    rebuild(place, session(2), "--yes")
    rebuild(place, "--yes")
    wait_until(lambda: is_clean(place), "it is done")

    assert foreseen["after"]["retained"] == 2
    assert sorted(said(fake.texts())) == [*range(1, 7), 11, 12]
