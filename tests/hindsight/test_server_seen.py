"""How a server is, as `doctor` and the metrics tell it."""

from pathlib import Path
from typing import Any

from harness.process import Home, home, wait_until
from hindsight.fake_hindsight import FakeHindsight, Reply
from hindsight.talks import deliver, lines, memory, write


def seen(place: Home) -> list[dict[str, Any]]:
    """Return what `doctor` says of the server."""
    return [one for one in place.json("doctor")["checks"] if one["name"] == "hindsight"]


def documents(place: Home) -> dict[str, float]:
    found = place.metrics()
    states = ("planned", "accepted", "completed", "set_aside")
    name = 'retaind_documents{memory="hindsight",state="%s"}'
    return {state: found[name % state] for state in states}


def test_a_server_that_works_is_well(place: Home, fake: FakeHindsight) -> None:
    place.start()
    write(place, 1, lines(1, 4))
    assert deliver(place)["complete"]

    (one,) = seen(place)
    assert one["state"] == "ok"
    assert fake.url in one["detail"]
    assert "has 1 document; nothing waits" in one["detail"]
    assert documents(place) == {"planned": 0, "accepted": 0, "completed": 1, "set_aside": 0}
    assert place.metrics()['retaind_records{memory="hindsight",state="retained"}'] == 4
    assert place.metrics()['retaind_circuit_closed{memory="hindsight"}'] == 1


def test_a_server_that_is_down_is_said_with_what_waits(place: Home, fake: FakeHindsight) -> None:
    fake.fault = lambda _: Reply(way="cut")
    place.start()
    write(place, 1, lines(1, 4))
    wait_until(lambda: memory(place)["circuit"] == "open", "the circuit opens")

    (one,) = seen(place)
    assert one["state"] == "warn"
    waiting = place.status()["memories"]["hindsight"]["pending_bytes"]
    assert f"{waiting} B of transcripts wait, and are kept" in one["detail"]
    assert place.metrics()['retaind_circuit_closed{memory="hindsight"}'] == 0


def test_a_flush_that_waits_in_vain_says_for_whom_and_why(place: Home, fake: FakeHindsight) -> None:
    fake.fault = lambda _: Reply(way="cut")
    place.start()
    write(place, 1, lines(1, 4))
    wait_until(lambda: memory(place)["circuit"] == "open", "the circuit opens")

    done = place.cli("flush", "--memory", "hindsight", "--timeout", "1")

    assert (done.returncode, done.stdout) == (8, b"")
    said = done.stderr.decode()
    assert said.startswith("not finished: 1 s are over; for hindsight ")
    assert " wait: it is down, the server cannot be reached" in said


def test_a_server_that_refuses_the_token_needs_its_user(place: Home, fake: FakeHindsight) -> None:
    fake.fault = lambda _: Reply(401)
    place.start()
    write(place, 1, lines(1, 4))
    wait_until(lambda: memory(place)["state"] == "paused", "the memory is paused")

    (one,) = seen(place)
    assert one["state"] == "fail"
    assert "token" in one["fix"]
    assert place.cli("doctor").returncode == 1


def test_what_the_server_did_not_take_is_said(place: Home, fake: FakeHindsight) -> None:
    fake.poison = "said 2\n"
    place.start()
    write(place, 1, lines(1, 3))
    assert deliver(place)["complete"]

    assert [one["state"] for one in seen(place)] == ["ok", "warn"]
    assert seen(place)[1]["detail"] == "1 document was not taken"
    assert seen(place)[1]["fix"] == "retaind retry"
    assert documents(place)["set_aside"] == 1
    assert place.metrics()['retaind_records{memory="hindsight",state="set_aside"}'] == 1


def test_without_a_daemon_nobody_knows(place: Home) -> None:
    assert [one["state"] for one in seen(place)] == ["warn"]


def test_recall_says_when_the_local_memory_stands_in(place: Home, fake: FakeHindsight) -> None:
    fake.fault = lambda _: Reply(way="cut")
    place.start()
    write(place, 1, lines(1, 4))
    place.flush()
    done = place.cli("recall", "said", "--memory", "hindsight")

    assert done.returncode == 0
    assert b"this is from the local memory" in done.stderr


def test_what_was_passed_over_is_not_measured_without_a_server(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        done = place.cli("backfill", "--dry-run")

    assert done.returncode == 2
    assert b"memory.hindsight.url" in done.stderr
