"""Against a real Hindsight server with a real PostgreSQL: what it holds is what was said."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from harness.process import Home, home, wait_until
from hindsight.conftest import delivering
from hindsight.real_hindsight import RealHindsight
from hindsight.talks import deliver, lines, memory, said, session, write
from retaind.core.conversation import conversational_text
from retaind.core.lines import frame
from retaind.core.policy import RetainPolicy
from retaind.core.records import Fate
from retaind.core.redact import redact
from retaind.hosts.claude_code import ClaudeCode

STEPS = ("deliver.before_send", "deliver.sent", "deliver.accepted", "deliver.before_completion")
CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(name="bank")
def _bank() -> str:
    """Return a bank of the test's own."""
    return f"test-{uuid4().hex[:12]}"


@pytest.fixture(name="place")
def _place(tmp_path: Path, real: RealHindsight, bank: str) -> Iterator[Home]:
    with home(tmp_path, **delivering(real.url, bank=bank, request_timeout_s="20")) as place:
        yield place


def each_once(real: RealHindsight, bank: str, numbers: list[int]) -> None:
    """Every message is in the documents once and in order, and no window was extracted twice."""
    assert said(real.texts(bank)) == numbers
    operations = real.operations(bank)
    assert {one["status"] for one in operations} == {"completed"}
    extracted = Counter(one["document_id"] for one in operations)
    assert set(extracted.values()) == {1}
    assert set(extracted) == set(real.documents(bank))


def test_every_message_of_a_session_is_in_the_documents_of_its_windows(
    place: Home, real: RealHindsight, bank: str
) -> None:
    place.start()
    for first in (1, 41, 81):
        write(place, 1, lines(first, first + 39))
        assert deliver(place)["complete"]

    each_once(real, bank, list(range(1, 121)))
    for listed in real.documents(bank).values():
        found = listed["document_metadata"]
        assert listed["tags"] == [session(1)]
        assert (found["session_id"], found["host"]) == (session(1), "claude_code")
        assert re.fullmatch(r"\d+-[0-9a-f]{16}", found["stream_head"])
        assert listed["retain_params"]["event_date"].startswith("2026-10-01T08:00:00")
    assert place.json("verify")["ok"]


@pytest.mark.parametrize("step", STEPS)
def test_dying_at_a_step_of_the_protocol_extracts_nothing_twice(
    place: Home, real: RealHindsight, bank: str, step: str
) -> None:
    place.start(RETAIND_FAILPOINT=step)
    write(place, 1, lines(1, 6))
    assert place.wait_for_exit() == -9
    place.start()

    assert deliver(place)["complete"]
    each_once(real, bank, [1, 2, 3, 4, 5, 6])


def test_a_deleted_state_and_a_restored_one_double_nothing(
    place: Home, real: RealHindsight, bank: str
) -> None:
    place.start()
    write(place, 1, lines(1, 5))
    deliver(place)
    place.stop()
    shutil.copytree(place.state, place.folder / "copy")
    place.start()
    write(place, 1, lines(6, 10))
    deliver(place)
    place.stop()
    shutil.rmtree(place.state)
    (place.folder / "copy").rename(place.state)
    place.start()
    write(place, 1, lines(11, 12))
    deliver(place)
    place.stop()
    shutil.rmtree(place.state)
    write(place, 1, lines(13, 15))
    place.start()

    assert deliver(place)["complete"]
    each_once(real, bank, list(range(1, 16)))
    assert memory(place)["retained"] == 15


def test_a_rebuild_leaves_each_message_once_in_its_new_form(
    place: Home, real: RealHindsight, bank: str
) -> None:
    place.start()
    for first in (1, 5, 9):
        write(place, 1, lines(first, first + 3))
        assert deliver(place)["complete"]
    assert len(real.documents(bank)) == 3
    place.stop()
    place.environ["RETAIND_RETAIN_FORMAT"] = "jsonl"
    place.start()
    done = place.cli("rebuild", "--memory", "hindsight", "--yes")
    wait_until(lambda: len(real.documents(bank)) == 1, "what was there has left")

    assert done.returncode == 0, done.stderr.decode()
    (text,) = real.texts(bank)
    assert len([json.loads(one)["role"] for one in text.splitlines()]) == 12
    assert said([text]) == list(range(1, 13))
    assert place.json("verify")["ok"]


def test_a_server_that_goes_away_under_load_gets_everything_once(
    place: Home, real: RealHindsight, bank: str
) -> None:
    place.environ |= delivering(real.url, bank=bank, max_parallel="4", request_timeout_s="3")
    place.start()
    for number in range(6):
        write(place, number, lines(100 * number + 1, 100 * number + 5))
    wait_until(lambda: memory(place)["documents"]["accepted"], "some are accepted")
    real.down()
    try:
        for number in range(6):
            write(place, number, lines(100 * number + 6, 100 * number + 9))
        place.flush()
        wait_until(lambda: memory(place)["circuit"] != "closed", "the circuit opens")
    finally:
        real.up()

    wait_until(lambda: memory(place)["retained"] == 54, "all has arrived", deadline_s=60)
    each_once(real, bank, [100 * number + at for number in range(6) for at in range(1, 10)])
    assert place.json("verify")["ok"]


@pytest.mark.usefixtures("real")
def test_what_was_delivered_is_recalled(place: Home) -> None:
    place.environ["RETAIND_RECALL_TYPES"] = "world"
    place.start()
    write(place, 1, lines(1, 3))
    deliver(place)

    # The server's stand-in for a model makes facts of the first lines that it is shown: of the metadata.
    asked = {"prompt": "which project is the lab", "memory": "hindsight"}
    found = place.ask("POST", "/v1/recall", asked)

    assert found["memory"] == "hindsight"
    assert "project: lab" in [one["text"] for one in found["results"]]
    assert {one["session_id"] for one in found["results"]} == {session(1)}
    own = place.ask("POST", "/v1/recall", {**asked, "session_id": session(1)})
    assert own["results"] == []


def test_a_text_of_ones_own_is_kept_as_one_document(
    place: Home, real: RealHindsight, bank: str
) -> None:
    place.start()

    def retain(text: str) -> None:
        done = place.cli(
            "retain", "-", "--document-id", "my notes/1", "--memory", "hindsight", "--json",
            stdin=text.encode(),
        )  # fmt: skip
        assert json.loads(done.stdout)["success"], done.stderr

    for text in ("The first.", "The second.", "The first."):
        retain(text)

    assert list(real.documents(bank)) == ["my notes/1"]
    found = real.get(f"{bank}/documents/my%20notes%2F1")
    assert found["original_text"] == "The first."


def test_a_real_transcript_arrives_whole_and_in_order(
    place: Home, real: RealHindsight, bank: str
) -> None:
    found = [one for one in CORPUS.glob("produced-claude-code/**/*.jsonl") if _is_middling(one)]
    if not found:
        pytest.skip("the corpus of real transcripts is not on this machine")
    source = min(found, key=lambda one: (-len(_spoken(one)), one))
    place.start()
    shutil.copyfile(source, place.project / f"{session(1)}.jsonl")
    place.flush()
    assert deliver(place)["complete"]

    held = "\n".join(real.texts(bank))
    at = 0
    for text in _spoken(source):
        at = held.find(text[:400], at)
        assert at >= 0, text[:80]
        at += len(text[:400])
    assert place.json("verify")["ok"]


def _spoken(path: Path) -> list[str]:
    """Return what was said in a transcript, as the host's parser and the conversation's rules see it."""
    policy = RetainPolicy()
    rows, _ = frame(path.read_bytes(), 0)
    records = [one for start, row in rows for one in ClaudeCode().parse(start, row)]
    said_there = [
        redact(conversational_text(one, policy)).text
        for one in records
        if one.fate is Fate.CONVERSATION and not one.reason
    ]
    return [text for text in said_there if text]


def _is_middling(path: Path) -> bool:
    """Whether a transcript says something, and not so much that the server is busy for long."""
    return 10_000 < path.stat().st_size < 100_000
