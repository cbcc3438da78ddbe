"""Each key of `recall` that the local memory goes by, from a transcript to the block an agent is given."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.process import Home, home, wait_until
from policies.transcripts import answer, append, call, prompt, result, settings, write

PAST = [
    prompt(100, "how deep is the copper mine", "past"),
    answer(101, "The copper mine is ninety fathoms deep.", session="past"),
]


def busy_session(turns: int, tools: int) -> list[bytes]:
    """Turns of which most records are calls of tools and their results."""
    lines: list[bytes] = []
    for turn in range(turns):
        base = turn * 1000
        lines.append(prompt(base, f"question {turn}", "now"))
        for n in range(1, tools):
            lines.append(answer(base + 2 * n, call("Bash", f"t{base}.{n}", command="ls")))
            lines.append(prompt(base + 2 * n + 1, [result(f"t{base}.{n}", "x" * 400)], "now"))
        lines.append(answer(base + 900, f"answer {turn}", session="now"))
    return lines


Ask = Callable[..., Any]


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Iterator[Home]:
    with home(tmp_path) as place:
        write(place, "past.jsonl", *PAST)
        write(place, "now.jsonl", *busy_session(5, 3))
        place.start()
        place.flush()
        yield place


def asked(place: Home, keys: str, text: str, *arguments: str) -> Any:
    """Recall under these settings."""
    settings(place, keys)
    assert place.ask("POST", "/v1/reload")["after_restart"] == []
    return place.json("recall", text, *arguments)


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_as_many_turns_as_asked_for_put_a_prompt_in_context(turns: int, place: Home) -> None:
    query = asked(place, f"recall.context_turns = {turns}", "and now?", "--session", "now")["query"]

    wanted = [f"{role} {n}" for n in range(5 - turns, 5) for role in ("question", "answer")]
    assert [line.partition(": ")[2] for line in query.splitlines() if ": " in line] == wanted
    assert query.endswith("and now?")


def test_three_turns_are_three_prompts_though_nearly_all_records_are_results(
    tmp_path: Path,
) -> None:
    lines = busy_session(6, 400)
    results = sum(b"tool_result" in line or b"tool_use" in line for line in lines)
    assert results / len(lines) > 0.9
    assert len(b"".join(lines[-3 * len(lines) // 6 :])) > 512 << 10, "farther than the first look"
    with home(tmp_path) as place:
        settings(place, "recall.max_query_chars = 0")
        write(place, "now.jsonl", *lines)
        place.start()
        place.flush()
        found = place.json("recall", "and now?", "--session", "now", "--turns", "3")

        said = [line for line in found["query"].splitlines() if line.startswith(("user", "assis"))]
        assert said == [
            f"{role} {n}" for n in (3, 4, 5) for role in ("user: question", "assistant: answer")
        ]


def test_a_prompt_that_is_on_disk_already_is_no_turn_of_its_context(place: Home) -> None:
    append(place.project / "now.jsonl", prompt(9999, "and now?", "now"))
    place.flush()
    query = asked(place, "recall.context_turns = 1", "and now?", "--session", "now")["query"]

    assert query == "Prior context:\n\nuser: question 4\nassistant: answer 4\n\nand now?"


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_only_some_roles_may_be_context_and_turns_stay_turns(role: str, place: Home) -> None:
    keys = f'recall.context_turns = 2\nrecall.roles = ["{role}"]'
    query = asked(place, keys, "and now?", "--session", "now")["query"]

    word = "question" if role == "user" else "answer"
    assert query.splitlines()[2:4] == [f"{role}: {word} 3", f"{role}: {word} 4"]
    assert len(query.splitlines()) == 6


def test_a_query_has_a_longest_size_and_loses_its_oldest_lines_first(place: Home) -> None:
    keys = "recall.context_turns = 5\nrecall.max_query_chars = 60"
    query = asked(place, keys, "and now?", "--session", "now")["query"]

    assert len(query) <= 60
    assert "answer 4" in query
    assert "question 3" not in query
    assert len(asked(place, "recall.max_query_chars = 10", "x" * 50)["query"]) == 10


@pytest.mark.parametrize("limit", [0, -1])
def test_no_limit_is_no_limit(limit: int, place: Home) -> None:
    text = "copper " * 500

    query = asked(place, f"recall.max_query_chars = {limit}", text)["query"]
    assert query == text.strip()


def test_the_block_has_a_longest_size(place: Home) -> None:
    lines = [prompt(500 + n, f"copper note {n} " + "word " * 50, "many") for n in range(20)]
    write(place, "many.jsonl", *lines)
    place.flush()
    small = asked(place, "recall.max_tokens = 200", "copper note")
    large = asked(place, "recall.max_tokens = 2000", "copper note")

    assert 0 < len(small["block"]) <= 800 < len(large["block"]) <= 8000
    assert len(small["results"]) < len(large["results"])


def test_the_block_opens_with_the_users_words(place: Home) -> None:
    block = asked(place, 'recall.preamble = "Mind the mine."', "copper mine")["block"]

    assert "Mind the mine." in block
    assert "ninety fathoms" in block


def test_memories_are_narrowed_by_tags(place: Home) -> None:
    tagged = 'recall.tags = ["past", "other"]\nrecall.tags_match = "{}"'

    for match, found in [
        ("any", True),
        ("any_strict", True),
        ("all", False),
        ("all_strict", False),
    ]:
        results = asked(place, tagged.format(match), "copper mine depth")["results"]
        assert bool(results) is found, match
    assert asked(place, 'recall.tags = ["now"]', "copper mine depth")["results"] == []


def test_what_carries_no_tag_counts_unless_it_must(place: Home) -> None:
    place.cli("retain", "-", "--document-id", "note", stdin=b"the copper mine belongs to Ada")
    untagged = 'recall.tags = ["nobody"]\nrecall.tags_match = "{}"'

    for match, found in [
        ("any", True),
        ("all", True),
        ("any_strict", False),
        ("all_strict", False),
    ]:
        results = asked(place, untagged.format(match), "who owns the copper mine")["results"]
        assert [one["session_id"] for one in results] == (["note"] if found else []), match


def test_looking_back_costs_no_more_than_a_query_can_hold(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        write(place, "now.jsonl", *(prompt(n, f"{n} " + "word " * 400, "now") for n in range(3000)))
        place.start()
        place.flush()
        began = time.monotonic()
        found = place.ask(
            "POST", "/v1/recall", {"prompt": "and now?", "session_id": "now", "turns": 1000}
        )

        assert len(found["query"]) <= 800
        assert time.monotonic() - began < 5
        wait_until(lambda: place.status()["state"] == "running", "the daemon goes on")
