"""Whatever becomes of the daemon, its state or its configuration, nothing is lost and nothing is twice."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from harness.process import Home, wait_until
from hindsight.conftest import delivering
from hindsight.fake_hindsight import FakeHindsight, Reply, fake_hindsight, is_retain
from hindsight.talks import deliver, line, lines, memory, said, session, write

STEPS = (
    "retain.planned",
    "retain.committed",
    "deliver.before_send",
    "deliver.sent",
    "deliver.accepted",
    "deliver.before_completion",
    "deliver.completed",
)


@pytest.mark.parametrize("step", STEPS)
def test_dying_at_any_step_extracts_each_window_once(
    place: Home, fake: FakeHindsight, step: str
) -> None:
    place.environ["RETAIND_MEMORY_LOCAL_ENABLED"] = "false"
    place.start(RETAIND_FAILPOINT=step)
    write(place, 1, lines(1, 4))
    assert place.wait_for_exit() == -9
    place.start()

    assert deliver(place)["complete"]
    assert said(fake.texts()) == [1, 2, 3, 4]
    assert set(fake.extracted.values()) == {1}
    assert len(fake.operations) == len(fake.documents)
    assert place.json("verify")["ok"]


def test_a_state_that_was_deleted_doubles_nothing(place: Home, fake: FakeHindsight) -> None:
    place.start()
    for first in (1, 11, 21):
        write(place, 1, lines(first, first + 9))
        deliver(place)
    place.stop()
    shutil.rmtree(place.state)
    write(place, 1, lines(31, 34))
    place.start()

    assert deliver(place)["complete"]
    assert said(fake.texts()) == list(range(1, 35))
    assert len(fake.documents) == len(fake.operations) == 4
    found = place.sessions()[f"{session(1)}.jsonl"]["memories"]["hindsight"]
    assert (found["retained"], found["dropped"]) == (34, {})


def test_a_state_that_was_restored_doubles_nothing(place: Home, fake: FakeHindsight) -> None:
    place.start()
    write(place, 1, lines(1, 10))
    deliver(place)
    place.stop()
    shutil.copytree(place.state, place.folder / "copy")
    place.start()
    write(place, 1, lines(11, 20))
    deliver(place)
    write(place, 1, lines(21, 30))
    write(place, 2, lines(101, 103))
    deliver(place)
    place.stop()
    shutil.rmtree(place.state)
    (place.folder / "copy").rename(place.state)
    write(place, 1, lines(31, 33))
    place.start()

    assert deliver(place)["complete"]
    assert said(fake.texts()) == [*range(1, 34), 101, 102, 103]
    assert len(fake.operations) == len(fake.documents)
    assert place.json("verify")["ok"]


def test_a_state_that_is_deleted_while_the_server_works_asks_for_the_same_operation(
    place: Home, fake: FakeHindsight
) -> None:
    fake.polls_needed = 10**6
    place.start()
    write(place, 1, lines(1, 4))
    wait_until(lambda: memory(place)["documents"]["accepted"], "the document is accepted")
    place.kill()
    shutil.rmtree(place.state)
    fake.polls_needed = 1
    place.environ["RETAIND_MEMORY_HINDSIGHT_BACKFILL"] = "all"
    place.start()

    assert deliver(place)["complete"]
    assert len(fake.operations) == 1
    assert said(fake.texts()) == [1, 2, 3, 4]


def test_a_document_that_is_not_made_of_these_bytes_covers_nothing(
    place: Home, fake: FakeHindsight
) -> None:
    name = f"{session(1)}@0-000000000000"
    fake.documents["claude_code", name] = {
        "document_id": name, "content": "other", "metadata": {"range": "0-400"},
    }  # fmt: skip
    place.start()
    write(place, 1, lines(1, 4))

    assert deliver(place)["complete"]
    assert said(fake.texts()) == [1, 2, 3, 4]


def test_a_backlog_drains_in_order_and_within_bounds(place: Home, fake: FakeHindsight) -> None:
    place.environ |= delivering(fake.url, max_parallel="3", idle_s="0", max_behind_s="0")
    fake.fault = lambda asked: Reply(503) if is_retain(asked) else None
    fake.polls_needed = 2
    place.start()
    for turn in range(4):
        for number in range(8):
            at = 100 * number + turn + 1
            write(place, number, lines(at, at))
        place.ask("POST", "/v1/flush", {"timeout_s": 10})
    wait_until(lambda: memory(place)["pending"] == 32, "all is planned")
    fake.fault = lambda _: None

    assert deliver(place)["complete"]
    assert said(fake.texts()) == [100 * number + at for number in range(8) for at in range(1, 5)]
    for names in fake.order.values():
        starts = [int(name.rpartition("@")[2].partition("-")[0]) for name in names]
        assert starts == sorted(starts)
    assert fake.most_open["sessions"] <= 3
    assert fake.most_open["of_one"] == 1


def test_a_bank_that_is_changed_holds_for_new_sessions_only(
    place: Home, fake: FakeHindsight
) -> None:
    place.start()
    write(place, 1, lines(1, 2))
    deliver(place)
    place.stop()
    place.environ["RETAIND_MEMORY_HINDSIGHT_BANK"] = "other"
    place.start()
    write(place, 1, lines(3, 4))
    write(place, 2, lines(11, 12))

    assert deliver(place)["complete"]
    assert said(fake.texts("claude_code")) == [1, 2, 3, 4]
    assert said(fake.texts("other")) == [11, 12]


def test_a_bank_that_never_took_anything_is_given_up_for_the_configured_one(
    place: Home, fake: FakeHindsight
) -> None:
    fake.fault = lambda asked: Reply(404) if "wrong" in asked.path and is_retain(asked) else None
    place.environ["RETAIND_MEMORY_HINDSIGHT_BANK"] = "wrong"
    place.start()
    write(place, 1, lines(1, 2))
    wait_until(lambda: memory(place)["state"] == "paused", "the memory is paused")
    place.stop()
    place.environ["RETAIND_MEMORY_HINDSIGHT_BANK"] = "right"
    place.start()

    assert deliver(place)["complete"]
    assert said(fake.texts("right")) == [1, 2]


def test_what_waits_goes_to_the_server_that_is_configured_now(
    place: Home, fake: FakeHindsight
) -> None:
    fake.fault = lambda asked: Reply(503) if is_retain(asked) else None
    place.start()
    write(place, 1, lines(1, 2))
    wait_until(lambda: memory(place)["pending"] == 2, "it is planned")
    place.kill()
    with fake_hindsight() as other:
        place.environ["RETAIND_MEMORY_HINDSIGHT_URL"] = other.url
        place.start()

        assert deliver(place)["complete"]
        assert said(other.texts()) == [1, 2]
        place.kill()


def test_a_subagent_shares_the_bank_of_its_session(place: Home, fake: FakeHindsight) -> None:
    place.environ |= {
        "RETAIND_BANK_DYNAMIC": "true",
        "RETAIND_BANK_GRANULARITY": "session",
    }
    place.start()
    write(place, 1, lines(1, 2))
    deliver(place)
    folder = place.project / session(1) / "subagents"
    folder.mkdir(parents=True)
    (folder / "agent-a1.jsonl").write_bytes(
        line(50).replace(b'"isSidechain":false', b'"isSidechain":true')
    )

    assert deliver(place)["complete"]
    assert sorted(said(fake.texts(session(1)))) == [1, 2, 50]


def test_sessions_from_before_are_passed_over_counted_and_retained_on_demand(
    place: Home, fake: FakeHindsight
) -> None:
    old = write(place, 1, lines(1, 5))
    os.utime(old, (1_700_000_000, 1_700_000_000))
    place.start()
    deliver(place)
    assert fake.retains() == []
    write(place, 1, lines(6, 7))
    deliver(place)
    assert said(fake.texts()) == [6, 7]
    assert memory(place)["dropped"] == {"before_backfill": 5}

    measured = place.json("backfill", "--dry-run")
    assert (measured["lines"], measured["documents"]) == (5, 1)
    assert measured["tokens"] > 0
    assert len(fake.retains()) == 1
    begun = place.json("backfill", session(1))
    assert begun == {"sessions": 1, "waiting": 0}
    assert deliver(place)["complete"]
    assert said(fake.texts()) == [1, 2, 3, 4, 5, 6, 7]
    assert len(fake.operations) == 2
    found = memory(place)
    assert (found["retained"], found["dropped"]) == (7, {})
    assert place.json("verify")["ok"]
    assert place.json("backfill", "--dry-run")["sessions"] == []


@pytest.mark.parametrize(("backfill", "expected"), [("all", [1, 2, 11, 12]), ("30", [11, 12])])
def test_a_backfill_reaches_as_far_as_it_is_told(
    place: Home, fake: FakeHindsight, backfill: str, expected: list[int]
) -> None:
    place.environ["RETAIND_MEMORY_HINDSIGHT_BACKFILL"] = backfill
    os.utime(write(place, 1, lines(1, 2)), (1_700_000_000, 1_700_000_000))
    yesterday = (place.folder.stat().st_mtime - 86_400,) * 2
    os.utime(write(place, 2, lines(11, 12)), yesterday)
    place.start()

    assert deliver(place)["complete"]
    assert said(fake.texts()) == expected


def test_in_groups_of_turns_each_is_sent_with_the_turns_before_it(
    place: Home, fake: FakeHindsight
) -> None:
    place.environ |= delivering(
        fake.url, mode="chunked", every_n_turns="3", overlap_turns="1", idle_s="3600"
    )
    place.environ["RETAIND_MEMORY_HINDSIGHT_MAX_BEHIND_S"] = "3600"
    place.environ["RETAIND_MEMORY_HINDSIGHT_MAX_BEHIND_TOKENS"] = "100"
    place.start()
    write(place, 1, lines(1, 8))

    wait_until(lambda: memory(place)["retained"] == 6, "two whole groups arrive")
    assert [said([text]) for text in fake.texts()] == [[1, 2, 3], [3, 4, 5, 6]]
    assert deliver(place)["complete"]
    assert [said([text]) for text in fake.texts()] == [[1, 2, 3], [3, 4, 5, 6], [6, 7, 8]]
    assert memory(place)["retained"] == 8


def test_a_mission_is_told_once_for_each_wording(place: Home, fake: FakeHindsight) -> None:
    place.environ["RETAIND_BANK_MISSION"] = "Remember the code."
    place.start()
    write(place, 1, lines(1, 2))
    deliver(place)
    place.stop()
    place.start()
    write(place, 1, lines(3, 4))
    deliver(place)

    assert fake.missions == {"claude_code": {"reflect_mission": "Remember the code."}}
    assert sum(asked.method == "PATCH" for asked in fake.asked) == 1


def test_a_text_of_ones_own_is_delivered_replaced_and_appended_to(
    place: Home, fake: FakeHindsight
) -> None:
    place.start()

    def retain(text: str, *more: str) -> dict[str, object]:
        done = place.cli(
            "retain", "-", "--document-id", "notes", "--memory", "hindsight", "--json", *more,
            stdin=text.encode(),
        )  # fmt: skip
        found: dict[str, object] = json.loads(done.stdout)
        return found

    results = [retain("first"), retain("second"), retain("first"), retain("third", "--append")]

    assert all(result["success"] for result in results)
    assert fake.documents["claude_code", "notes"]["content"] == "first\nthird"
    assert place.json("verify")["ok"]
    assert place.ask("POST", "/v1/recall", {"prompt": "third"})["results"] == []


def test_recall_asks_the_server_and_says_when_the_local_memory_answers_instead(
    place: Home, fake: FakeHindsight
) -> None:
    place.environ["RETAIND_RECALL_MEMORY"] = "hindsight"
    fake.recalled = [
        {"text": "The heron is at the river.", "document_id": "other@0-x", "scores": {"final": 0.9},
         "metadata": {"session_id": "other", "project": "lab"}, "mentioned_at": "2026-10-01T00:00:00Z"},
        {"text": "Said here.", "document_id": f"{session(1)}@0-x", "metadata": {}},
    ]  # fmt: skip
    place.start()
    write(place, 1, lines(1, 2))
    write(place, 2, lines(11, 12))
    deliver(place)
    asked = {"prompt": "where is the heron", "session_id": session(1)}

    found = place.ask("POST", "/v1/recall", asked)
    fake.fault = lambda _: Reply(503)
    instead = place.ask("POST", "/v1/recall", {**asked, "prompt": "said 12"})

    assert [one["text"] for one in found["results"]] == ["The heron is at the river."]
    assert found["memory"] == "hindsight"
    assert "heron is at the river" in found["block"]
    assert instead["memory"] == "local"
    assert "503" in instead["notice"]
    assert [one["session_id"] for one in instead["results"]] == [session(2)]


def test_a_forgotten_session_leaves_the_server_as_well(place: Home, fake: FakeHindsight) -> None:
    place.start()
    write(place, 1, lines(1, 2))
    write(place, 2, lines(11, 12))
    deliver(place)
    fake.fault = lambda asked: Reply(503) if asked.method == "DELETE" else None

    forgotten = place.ask("POST", "/v1/forget", {"session": session(1)})
    assert forgotten["remote_documents"] == 1
    assert memory(place)["documents"]["to_erase"] == 1
    fake.fault = lambda _: None
    wait_until(lambda: not memory(place)["documents"]["to_erase"], "the document is erased")
    assert said(fake.texts()) == [11, 12]


def test_a_session_that_is_forgotten_on_its_way_does_not_stay_on_the_server(
    place: Home, fake: FakeHindsight
) -> None:
    fake.polls_needed = 10**6
    place.start()
    write(place, 1, lines(1, 2))
    wait_until(lambda: memory(place)["documents"]["accepted"], "the document is on its way")

    place.ask("POST", "/v1/forget", {"session": session(1)})
    fake.polls_needed = 1
    wait_until(lambda: not memory(place)["documents"]["to_erase"], "the document is erased")
    assert fake.extracted.total() == 1
    assert fake.texts() == []
    assert memory(place)["retained"] == 0


def test_without_a_server_nothing_of_it_is_loaded() -> None:
    program = (
        "import sys, retaind.runtime.daemon; "
        "print([name for name in sys.modules if 'httpx' in name or 'hindsight' in name])"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


def test_twenty_thousand_pending_messages_fit_in_little_memory(
    place: Home, fake: FakeHindsight
) -> None:
    place.environ["RETAIND_MEMORY_LOCAL_ENABLED"] = "false"
    fake.fault = lambda asked: Reply(503) if is_retain(asked) else None
    place.start()
    filler = "word " * 60
    for number in range(40):
        content = b"".join(line(1000 * number + at, f"{filler} said") for at in range(500))
        write(place, number, content)
    wait_until(lambda: memory(place)["pending"] == 20_000, "all is planned")

    assert _resident_bytes(place) <= 80 * 2**20
    fake.fault = lambda _: None
    wait_until(lambda: memory(place)["retained"] == 20_000, "all has arrived")
    assert _resident_bytes(place) <= 80 * 2**20
    assert len(said(fake.texts())) == 20_000


def _resident_bytes(place: Home) -> int:
    assert place.process is not None
    with open(f"/proc/{place.process.pid}/status", encoding="utf-8") as status:
        row = next(row for row in status if row.startswith("VmRSS"))
    return int(row.split()[1]) * 1024
