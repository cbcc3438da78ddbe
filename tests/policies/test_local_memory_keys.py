"""Each key of the local memory, from the file to what the memory does."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from harness.process import Home, home, wait_until
from policies.traces import traces
from policies.transcripts import answer, documents, local, prompt, settings, write

SAID = [prompt(1, "look at the copper mine"), answer(2, "The copper mine is deep.")]


def kept(place: Home) -> Any:
    """Wait until the one session is captured, and return its row."""

    def is_captured() -> Any:
        row = place.sessions().get("s.jsonl")
        return row if row and row["captured_bytes"] == row["size_bytes"] > 0 else None

    return wait_until(is_captured, "the session is captured")


def given(place: Home, text: str) -> Any:
    """Hand a text to the memory; returns the result."""
    finished = place.cli("retain", "-", "--document-id", "note", "--json", stdin=text.encode())
    assert finished.returncode == 0, finished.stderr
    return json.loads(finished.stdout)


def test_a_memory_that_is_switched_off_takes_and_answers_nothing(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        settings(place, "memory.local.enabled = false")
        path = write(place, "s.jsonl", *SAID)
        place.start()
        place.flush()

        assert place.restored("s") == path.read_bytes(), "the vault keeps all the same"
        assert [t for t in traces(place, "copper") if t.startswith("local")] == []
        assert place.sessions()["s.jsonl"]["memories"] == {}
        assert place.status()["memories"] == {}
        assert place.status()["pending_bytes"] == 0
        assert place.cli("verify", "--deep").returncode == 0
        for arguments in (
            ["search", "copper"],
            ["recall", "copper"],
            ["retain", "-", "--document-id", "note"],
            ["recall", "copper", "--memory", "local"],
        ):
            refused = place.cli(*arguments, stdin=b"copper")
            assert refused.returncode == 2, arguments
            assert b"FIX" in refused.stderr


def test_a_memory_that_is_switched_on_catches_up(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        write(place, "s.jsonl", *SAID)
        place.start(RETAIND_MEMORY_LOCAL_ENABLED="false")
        place.flush()
        place.stop()
        place.start()
        place.flush()

        assert place.found("copper") == ["s", "s"]


def test_switching_a_memory_off_by_reload_waits_for_a_restart(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        place.start()
        settings(place, "memory.local.enabled = false")
        reloaded = place.ask("POST", "/v1/reload")
        write(place, "s.jsonl", *SAID)
        place.flush()

        assert reloaded["after_restart"] == ["memory.local.enabled"]
        assert local(place.sessions()["s.jsonl"])["retained"] == 2


def test_a_session_waits_until_it_is_idle(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        settings(place, "[memory.local]\nidle_s = 3600\nmax_behind_s = 3600")
        write(place, "s.jsonl", *SAID)
        place.start()
        row = kept(place)
        assert local(row)["pending_bytes"] == row["captured_bytes"]
        assert row["state"] == "pending"

        settings(place, "[memory.local]\nidle_s = 0.05\nmax_behind_s = 3600")
        place.ask("POST", "/v1/reload")
        wait_until(lambda: place.found("copper"), "the session is idle, and so retained")


def test_a_busy_session_is_not_too_far_behind(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        settings(place, "[memory.local]\nidle_s = 3600\nmax_behind_s = 0.1")
        write(place, "s.jsonl", *SAID)
        place.start()

        wait_until(lambda: place.found("copper"), "the session is retained though it is not idle")


def test_chunks_have_a_longest_size(tmp_path: Path) -> None:
    text = " ".join(f"word{n}" for n in range(800))
    found = {}
    for chars in (1000, 200):
        with home(tmp_path / str(chars)) as place:
            settings(place, f"memory.local.chunk_chars = {chars}")
            place.start()
            found[chars] = given(place, text)["chunks"]

    assert found[1000] >= len(text) / 1000
    assert found[200] >= len(text) / 200 > found[1000]


def test_a_sessions_documents_have_a_largest_size(tmp_path: Path) -> None:
    lines = [prompt(n, f"copper {n} " + "word " * 40) for n in range(30)]
    with home(tmp_path) as place:
        settings(place, "memory.local.batch_tokens = 500")
        write(place, "s.jsonl", *lines)
        place.start()
        place.flush()

        texts = documents(place)
        assert len(texts) > 3
        assert max(len(text.encode()) for text in texts) <= 4 * 500 + 1000
        assert local(place.sessions()["s.jsonl"])["retained"] == 30


@pytest.mark.skipif(find_spec("toktok") is None, reason="the library for cl100k is not installed")
def test_tokens_are_counted_in_the_unit_that_is_asked_for(tmp_path: Path) -> None:
    text = "internationalisation " * 60
    found = {}
    for unit in ("bytes/4", "cl100k"):
        with home(tmp_path / unit.replace("/", "-")) as place:
            settings(place, f'metering.tokenizer = "{unit}"')
            place.start()
            given(place, text)
            again = given(place, text + "and more of it")
            assert again["tokenizer"] == unit
            found[unit] = again["processed_content_tokens"]

    assert found["bytes/4"] != found["cl100k"]
    assert 0 < found["cl100k"] < len(text)
