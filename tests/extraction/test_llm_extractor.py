"""The llm extractor: facts come later, one chunk at a time, and hold nothing up."""

import http.client
import re
import socket
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harness.chat import Chat, chat, said
from harness.process import Home, home, wait_until
from policies.transcripts import answer, append, prompt, settings, write


@pytest.fixture(name="model")
def _model() -> Iterator[tuple[Chat, str]]:
    with chat() as found:
        yield found


@pytest.fixture(name="place")
def _place(tmp_path: Path, model: tuple[Chat, str]) -> Iterator[Home]:
    with home(tmp_path, MODEL_KEY="sesame") as place:
        settings(
            place,
            '[memory.local]\nextractor = "llm"\nmax_behind_s = 0.2\nidle_s = 0.1\n'
            f'[memory.local.llm]\nbase_url = "{model[1]}"\nmodel = "small"\napi_key_env = "MODEL_KEY"\n'
            "timeout_s = 5\n",
        )
        yield place


def talk(word: str, first: int = 1, session: str = "s") -> tuple[bytes, ...]:
    return (
        prompt(first, f"look into finding-{word}", session),
        answer(first + 1, "done " + f"padding {word} " * 80, session=session),
    )


def local(place: Home) -> dict[str, Any]:
    found: dict[str, Any] = place.status()["memories"]["local"]
    return found


def metrics(place: Home) -> str:
    connection = http.client.HTTPConnection("localhost")
    connection.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.sock.connect(str(place.socket))
    with closing(connection):
        connection.request("GET", "/v1/metrics")
        return connection.getresponse().read().decode()


def nothing_waits(place: Home) -> bool:
    return bool(local(place)["chunks_pending"] == 0)


def facts(place: Home, word: str) -> list[str]:
    hits = place.json("search", word, "--role", "fact")["results"]
    return [hit["text"] for hit in hits]


def test_facts_are_found_by_words_that_nobody_said_and_lead_to_their_session(
    place: Home, model: tuple[Chat, str]
) -> None:
    write(place, "s.jsonl", *talk("basalt"))
    place.start()
    place.flush()
    assert place.found("padding basalt")
    wait_until(lambda: nothing_waits(place), "every chunk is extracted")

    assert facts(place, "basalt") == ["The conclusion about basalt is nonobvious."]
    assert set(place.found("nonobvious")) == {"s"}
    block = place.json("recall", "conclusion on basalt")["block"]
    assert "The conclusion about basalt is nonobvious." in block
    assert "look into finding-basalt" in block
    assert set(model[0].keys) == {"Bearer sesame"}
    assert {one["model"] for one in model[0].requests} == {"small"}
    assert all(text.startswith("Context: claude-code\n\n") for text in model[0].excerpts())


def test_only_redacted_text_is_sent(place: Home, model: tuple[Chat, str]) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    write(place, "s.jsonl", prompt(1, f"use {secret} for finding-basalt"))
    place.start()
    place.flush()
    wait_until(lambda: facts(place, "basalt"), "the fact is found")

    assert all(secret not in text for text in model[0].excerpts())
    assert any("[redacted:" in text for text in model[0].excerpts())


def test_a_model_that_fails_holds_back_neither_capture_nor_retention(
    place: Home, model: tuple[Chat, str]
) -> None:
    model[0].down = 503
    path = write(place, "s.jsonl", *talk("basalt"))
    place.start()
    place.flush()
    wait_until(lambda: local(place)["extractor"]["detail"], "the failure is seen")
    append(path, *talk("quartz", 10))
    place.flush()

    assert set(place.found("padding quartz")) == {"s"}
    assert local(place)["chunks_pending"] >= 2
    assert place.status()["state"] == "degraded"
    assert "503" in place.status()["last_error"]
    assert "quoting" not in place.log.read_text()
    assert place.cli("verify").returncode == 0
    model[0].down = 0
    wait_until(lambda: nothing_waits(place), "it goes on by itself")
    assert facts(place, "basalt")
    assert facts(place, "quartz")
    assert place.status()["state"] == "running"


@pytest.mark.parametrize(
    "first",
    [
        (429, {"Retry-After": "0.2"}, b"{}"),
        (500, {}, b"<html>"),
        (200, {}, said("I would rather talk about the weather.")),
        (200, {}, b'{"choices": []}'),
        (413, {}, b"{}"),
    ],
    ids=["asks for patience", "its own error", "no JSON", "no choice", "too large"],
)
def test_an_answer_that_is_of_no_use_leaves_the_chunk_pending(
    place: Home, model: tuple[Chat, str], first: tuple[int, dict[str, str], bytes]
) -> None:
    model[0].answers.append(first)
    write(place, "s.jsonl", prompt(1, "look into finding-basalt"))
    write(place, "t.jsonl", prompt(2, "look into finding-quartz", "t"))
    place.start()
    place.flush()

    wait_until(lambda: facts(place, "basalt") or facts(place, "quartz"), "the other one is done")
    if first[0] == 429:
        wait_until(lambda: nothing_waits(place), "it is asked again")
    else:
        assert local(place)["chunks_pending"] == 1
        assert local(place)["extractor"]["failing_chunks"] == 1


def test_a_restart_in_the_middle_goes_on_and_no_chunk_is_extracted_for_nothing(
    place: Home, model: tuple[Chat, str]
) -> None:
    for number in range(4):
        write(
            place, f"s{number}.jsonl", prompt(number, f"look into finding-w{number}", f"s{number}")
        )
    place.start(RETAIND_FAILPOINT="extract.answered:2")
    place.wait_for_exit()
    done = len(model[0].requests)
    place.start()
    place.flush()
    wait_until(lambda: nothing_waits(place), "all is extracted")

    for number in range(4):
        assert len(facts(place, f"w{number}")) == 1
    assert len(model[0].requests) <= done + 4


def test_an_open_chunk_that_grows_while_it_is_extracted_gets_the_facts_of_what_it_is_now(
    place: Home, model: tuple[Chat, str]
) -> None:
    model[0].gate.clear()
    path = write(place, "s.jsonl", prompt(1, "look into finding-basalt"))
    place.start()
    place.flush()
    wait_until(lambda: model[0].requests, "the first form of it is sent")
    append(path, prompt(2, "and into finding-quartz"))
    place.flush()
    model[0].gate.set()
    wait_until(lambda: nothing_waits(place), "the second form is extracted")

    assert facts(place, "basalt") == ["The conclusion about basalt is nonobvious."]
    assert facts(place, "quartz") == ["The conclusion about quartz is nonobvious."]


def test_what_the_model_used_is_told_and_counted(place: Home, model: tuple[Chat, str]) -> None:
    write(place, "s.jsonl", prompt(1, "look into finding-basalt"))
    place.start()
    place.flush()
    wait_until(lambda: nothing_waits(place), "all is extracted")

    asked = len(model[0].requests)
    text = metrics(place)
    assert f'retaind_llm_input_tokens_total{{memory="local"}} {100 * asked}' in text
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    assert f'retaind_llm_input_tokens_of_day{{memory="local",day="{day}"}} {100 * asked}' in text
    assert 'retaind_unmetered_executions_total{memory="local"} 1' in text
    characters = re.search(r'unmetered_characters_total{memory="local"} (\d+)', text)
    assert characters is not None
    assert int(characters[1]) > len("look into finding-basalt")
    assert f'retaind_llm_output_tokens_total{{memory="local"}} {7 * asked}' in text


def test_a_wrong_key_pauses_the_extractor_and_says_what_to_mend(
    place: Home, model: tuple[Chat, str]
) -> None:
    model[0].down = 401
    write(place, "s.jsonl", prompt(1, "look into finding-basalt"))
    place.start()
    place.flush()

    wait_until(lambda: local(place)["extractor"]["state"] == "paused", "it pauses")
    assert "api_key_env" in place.status()["last_error"]
    assert local(place)["chunks_pending"] == 1


def test_a_rebuild_and_a_replaced_text_take_their_facts_along(
    place: Home, model: tuple[Chat, str]
) -> None:
    del model
    write(place, "s.jsonl", *talk("basalt"))
    place.start()
    place.flush()
    note = place.folder / "note.txt"
    note.write_text("look into finding-slate")
    place.json("retain", str(note), "--document-id", "note")
    wait_until(lambda: nothing_waits(place) and facts(place, "slate"), "all is extracted")
    note.write_text("look into finding-marble")
    place.json("retain", str(note), "--document-id", "note")
    place.json("rebuild")
    wait_until(lambda: nothing_waits(place) and facts(place, "marble"), "all is extracted anew")

    assert facts(place, "slate") == []
    assert facts(place, "basalt") == ["The conclusion about basalt is nonobvious."]
    place.json("forget", "s", "--yes")
    assert facts(place, "basalt") == []
