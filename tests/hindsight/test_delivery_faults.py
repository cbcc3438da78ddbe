"""Whatever a server does, each message arrives once, in order, and nothing is wedged."""

import json
from collections.abc import Iterator

import pytest

from harness.process import Home, running_daemon, wait_until
from hindsight.conftest import delivering
from hindsight.fake_hindsight import (
    Asked,
    FakeHindsight,
    Reply,
    fake_hindsight,
    first,
    is_retain,
)
from hindsight.talks import deliver, lines, memory, said, session, write

POLLS = "/operations/"


def is_poll(asked: Asked) -> bool:
    return asked.method == "GET" and POLLS in asked.path


def is_listing(asked: Asked) -> bool:
    return asked.method == "GET" and "/documents?" in asked.path


def each_once(fake: FakeHindsight, numbers: range) -> None:
    assert said(fake.texts()) == list(numbers)
    assert set(fake.extracted.values()) == {1}


FAULTS = {
    "500": Reply(500, {"detail": "database"}),
    "502 that is no JSON": Reply(502, b"<html>"),
    "503": Reply(503, {"detail": "busy"}, {"Retry-After": "0"}),
    "408": Reply(408, {"detail": "late"}),
    "425": Reply(425, {"detail": "early"}),
    "429": Reply(429, {"detail": "slowly"}, {"Retry-After": "0.1"}),
    "a reset": Reply(way="cut"),
    "half an answer": Reply(body={"success": True, "operation_id": "x" * 2000}, way="half"),
    "an answer that is lost after the data was stored": Reply(way="cut", after=True),
    "half an answer after the data was stored": Reply(body={"a": "b"}, way="half", after=True),
}


@pytest.fixture(name="busy", scope="module")
def _busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Home, FakeHindsight]]:
    """A daemon that goes on from one fault to the next, as one does."""
    with (
        fake_hindsight() as fake,
        running_daemon(tmp_path_factory.mktemp("busy"), **delivering(fake.url)) as place,
    ):
        yield place, fake


@pytest.mark.parametrize("nth", range(len(FAULTS)), ids=list(FAULTS))
def test_each_message_arrives_once_whatever_fails(
    busy: tuple[Home, FakeHindsight], nth: int
) -> None:
    place, fake = busy
    reply = list(FAULTS.values())[nth]
    said_now = []
    for number, kind in enumerate((is_retain, is_poll, is_listing), start=3 * nth):
        fake.fault = first(3, reply, kind)
        write(place, number, lines(10 * number + 1, 10 * number + 4))
        said_now += [10 * number + at for at in range(1, 5)]
        assert deliver(place)["complete"], kind.__name__

    assert [one for one in said(fake.texts()) if one in said_now] == said_now
    assert set(fake.extracted.values()) == {1}
    assert memory(place)["circuit"] == "closed"


@pytest.mark.parametrize("way", ["hang", "drip"])
def test_a_server_that_never_finishes_answering_is_asked_again(
    place: Home, fake: FakeHindsight, way: str
) -> None:
    place.environ |= delivering(fake.url, request_timeout_s="0.3")
    fake.fault = first(2, Reply(body={"success": True, "operation_id": "x" * 500}, way=way))
    place.start()
    write(place, 1, lines(1, 4))

    assert deliver(place)["complete"]
    each_once(fake, range(1, 5))


def test_retry_after_is_honoured_by_every_session(place: Home, fake: FakeHindsight) -> None:
    fake.fault = first(1, Reply(429, {"detail": "slowly"}, {"Retry-After": "1.5"}))
    place.start()
    write(place, 1, lines(1, 2))
    wait_until(lambda: memory(place)["circuit"] == "open", "the server asked for patience")
    write(place, 2, lines(11, 12))

    assert deliver(place)["complete"]
    refused, *others = fake.retains()
    assert min(one.at for one in others) - refused.at >= 1.4
    assert len(others) == 2


def test_the_same_bytes_and_operation_are_sent_again_after_a_kill(
    place: Home, fake: FakeHindsight
) -> None:
    fake.fault = lambda asked: Reply(503) if is_retain(asked) else None
    place.start()
    write(place, 1, lines(1, 4))
    wait_until(lambda: len(fake.retains()) > 1, "the document was sent twice")
    place.kill()
    fake.fault = lambda _: None
    place.start()

    assert deliver(place)["complete"]
    assert len({one.body for one in fake.retains()}) == 1
    each_once(fake, range(1, 5))


def test_an_operation_that_is_taken_by_another_gets_another_id(
    place: Home, fake: FakeHindsight
) -> None:
    fake.fault = first(1, Reply(409, {"detail": "taken"}))
    place.start()
    write(place, 1, lines(1, 4))

    assert deliver(place)["complete"]
    refused, accepted = fake.retains()
    assert refused.json["operation_id"] != accepted.json["operation_id"]
    assert refused.json["items"] == accepted.json["items"]


def test_an_operation_that_is_taken_by_us_is_accepted(place: Home, fake: FakeHindsight) -> None:
    fake.fault = first(1, Reply(409, {"detail": "taken"}, after=True))
    place.start()
    write(place, 1, lines(1, 4))

    assert deliver(place)["complete"]
    assert len(fake.retains()) == 1
    each_once(fake, range(1, 5))


def test_an_operation_that_the_server_forgot_is_sent_again(
    place: Home, fake: FakeHindsight
) -> None:
    def forget(asked: Asked) -> Reply | None:
        if is_poll(asked) and len(fake.retains()) == 1:
            fake.operations.clear()
        return None

    fake.fault = forget
    place.start()
    write(place, 1, lines(1, 4))

    assert deliver(place)["complete"]
    assert len({one.body for one in fake.retains()}) == 1
    each_once(fake, range(1, 5))


def test_a_failed_operation_is_retried_and_not_sent_again(place: Home, fake: FakeHindsight) -> None:
    fake.failing = lambda one: one.retries < 2
    place.start()
    write(place, 1, lines(1, 4))

    assert deliver(place)["complete"]
    assert [one.retries for one in fake.operations.values()] == [2]
    assert len(fake.retains()) == 1


def test_a_document_that_alone_fails_for_ever_is_set_aside(
    place: Home, fake: FakeHindsight
) -> None:
    fake.failing = lambda one: "said 1\n" in one.item["content"]
    place.start()
    write(place, 1, lines(1, 1))
    wait_until(
        lambda: any(one.status == "failed" for one in fake.operations.values()), "the first fails"
    )
    write(place, 2, lines(11, 12))

    wait_until(lambda: memory(place)["documents"]["set_aside"], "it is set aside")
    assert said(fake.texts()) == [11, 12]


def test_a_cancelled_operation_is_sent_anew(place: Home, fake: FakeHindsight) -> None:
    def cancel(asked: Asked) -> Reply | None:
        if is_poll(asked) and len(fake.retains()) == 1:
            for one in fake.operations.values():
                one.status = "cancelled"
        return None

    fake.fault = cancel
    place.start()
    write(place, 1, lines(1, 4))

    assert deliver(place)["complete"]
    assert len({one.json["operation_id"] for one in fake.retains()}) == 2
    each_once(fake, range(1, 5))


def test_a_document_that_is_too_large_is_sent_in_parts(place: Home, fake: FakeHindsight) -> None:
    place.start()
    fake.largest = 1200
    write(place, 1, lines(1, 40))

    assert deliver(place)["complete"]
    assert said(fake.texts()) == list(range(1, 41))
    assert len(fake.documents) > 2
    assert memory(place)["retained"] == 40


def test_a_poisoned_message_is_set_aside_and_the_rest_delivered(
    place: Home, fake: FakeHindsight
) -> None:
    fake.poison = "said 7\n"
    place.start()
    write(place, 1, lines(1, 12))
    write(place, 2, lines(21, 22))

    assert deliver(place)["complete"]
    kept = [one for one in range(1, 13) if one != 7]
    assert said(fake.texts()) == [*kept, 21, 22]
    found = memory(place)
    assert (found["retained"], found["set_aside"], found["pending"]) == (13, 1, 0)
    assert place.json("verify")["ok"]
    assert place.status()["state"] == "running"


def test_what_was_set_aside_is_listed_shown_and_delivered_again(
    place: Home, fake: FakeHindsight
) -> None:
    fake.poison = "said 2\n"
    place.start()
    write(place, 1, lines(1, 3))
    deliver(place)

    (row,) = place.json("retry")
    shown = place.json("retry", str(row["delivery"]), "--show")
    fake.poison = ""
    retried = place.cli("retry", str(row["delivery"]))

    assert (row["session_id"], row["records"]) == (session(1), 1)
    assert "422" in row["error"]
    assert "said 2" in shown["content"]
    assert retried.returncode == 0
    assert deliver(place)["complete"]
    assert said(fake.texts()) == [1, 2, 3]
    assert place.json("retry") == []
    assert memory(place)["set_aside"] == 0


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_token_pauses_says_so_and_the_rotated_one_is_picked_up(
    place: Home, fake: FakeHindsight, status: int
) -> None:
    fake.token = "new"
    fake.fault = lambda asked: Reply(status) if asked.token != "Bearer new" else None
    file = place.folder / "token"
    file.write_text("öld\n")
    place.environ["RETAIND_MEMORY_HINDSIGHT_TOKEN_FILE"] = str(file)
    place.start()
    write(place, 1, lines(1, 4))

    wait_until(lambda: memory(place)["state"] == "paused", "the memory is paused")
    assert str(status) in place.status()["last_error"]
    file.write_text("new\n")
    assert deliver(place)["complete"]
    each_once(fake, range(1, 5))
    assert memory(place)["set_aside"] == 0
    assert "öld" not in place.log.read_text()


def test_a_server_without_the_api_pauses_as_misconfigured(place: Home, fake: FakeHindsight) -> None:
    fake.fault = lambda asked: Reply(404, {"detail": "Not Found"}) if is_retain(asked) else None
    place.start()
    write(place, 1, lines(1, 4))

    wait_until(lambda: memory(place)["state"] == "paused", "the memory is paused")
    assert "memory.hindsight.url" in place.status()["last_error"]
    fake.fault = lambda _: None
    assert deliver(place)["complete"]
    each_once(fake, range(1, 5))


def test_the_local_memory_goes_on_while_the_server_is_down(
    place: Home, fake: FakeHindsight
) -> None:
    fake.fault = lambda _: Reply(way="cut")
    place.start()
    write(place, 1, lines(1, 4))
    place.flush()

    wait_until(lambda: memory(place)["circuit"] != "closed", "the circuit opens")
    assert place.status()["memories"]["local"]["retained"] == 4
    assert place.status()["state"] == "degraded"
    fake.fault = lambda _: None
    assert deliver(place)["complete"]
    wait_until(lambda: place.status()["state"] == "running", "all is well again")


def test_a_session_whose_document_fails_holds_back_no_other(
    place: Home, fake: FakeHindsight
) -> None:
    fake.fault = lambda asked: (
        Reply(500) if is_retain(asked) and b"said 1\\n" in asked.body else None
    )
    place.start()
    write(place, 1, lines(1, 1))
    wait_until(fake.retains, "the first document is sent")
    for number in range(2, 8):
        write(place, number, lines(number * 10, number * 10 + 1))

    expected = [one for number in range(2, 8) for one in (number * 10, number * 10 + 1)]
    wait_until(lambda: said(fake.texts()) == expected, "the others arrive")
    wait_until(lambda: memory(place)["pending"] == 1, "they are completed")


def test_stopping_does_not_wait_for_a_slow_server_beyond_its_deadline(
    place: Home, fake: FakeHindsight
) -> None:
    place.environ |= delivering(fake.url, request_timeout_s="1", idle_s="3600", max_behind_s="3600")
    fake.fault = lambda asked: Reply(way="hang") if is_retain(asked) else None
    place.start()
    write(place, 1, lines(1, 4))
    place.flush()

    assert place.stop() == 0
    fake.fault = lambda _: None
    place.start()
    assert deliver(place)["complete"]
    each_once(fake, range(1, 5))


def test_what_is_pending_is_sent_when_the_daemon_stops(place: Home, fake: FakeHindsight) -> None:
    place.environ |= delivering(fake.url, idle_s="3600", max_behind_s="3600")
    place.start()
    write(place, 1, lines(1, 4))
    place.flush()
    assert fake.retains() == []

    assert place.stop() == 0
    assert len(fake.retains()) == 1


def test_results_are_told_once_a_document_is_completed(place: Home, fake: FakeHindsight) -> None:
    told = place.folder / "told"
    hook = place.folder / "hook"
    hook.write_text(f'#!/bin/sh\ncat >> "{told}"\n')
    hook.chmod(0o700)
    place.environ["RETAIND_HOOKS_POST_RETAIN"] = json.dumps([str(hook)])
    place.environ["RETAIND_MEMORY_LOCAL_ENABLED"] = "false"
    place.start()
    write(place, 1, lines(1, 4))
    deliver(place)

    text = wait_until(lambda: told.exists() and told.read_text(), "the hook was told")
    (result,) = [json.loads(one) for one in text.splitlines()]
    (sent,) = fake.retains()
    assert result["execution_id"] == sent.json["operation_id"]
    assert result["document_ids"] == [sent.json["items"][0]["document_id"]]
    assert (result["success"], result["processed_content_tokens"]) == (True, None)
