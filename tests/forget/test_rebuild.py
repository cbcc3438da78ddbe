"""Rebuilding: the local memory derived anew from the vault, while everything can be found throughout."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.process import Home, home, wait_until
from policies.transcripts import answer, append, call, prompt, result, settings, totals, write


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Iterator[Home]:
    with home(tmp_path) as place:
        yield place


def talk(session: str, word: str, first: int = 1, turns: int = 1) -> list[bytes]:
    lines = []
    for turn in range(turns):
        at = first + turn * 4
        reading = call("Read", f"t{at}", file_path=f"/granite/{turn}")
        lines += [
            prompt(at, f"what of the {word} number {turn}", session),
            answer(at + 1, f"reading {word}", reading, session=session),
            prompt(at + 2, [result(f"t{at}", f"{turn} lines")], session),
            answer(at + 3, f"the {word} is found in place {turn}", session=session),
        ]
    return lines


def without_tools(place: Home) -> None:
    settings(place, '[retain]\ntools = "none"\n')


def found_texts(place: Home, words: str) -> list[str]:
    return [hit["text"] for hit in place.json("search", words, "--limit", "1000")["results"]]


def local(place: Home) -> dict[str, Any]:
    found: dict[str, Any] = place.status()["memories"]["local"]
    return found


def test_todays_policy_decides_after_a_rebuild_and_status_says_who_needs_one(place: Home) -> None:
    write(place, "one.jsonl", *talk("one", "quartz"))
    place.start()
    place.flush()
    assert local(place)["stale"] == 0
    assert place.found("granite")
    place.stop()
    without_tools(place)
    place.start()
    write(place, "two.jsonl", *talk("two", "basalt", 50))
    place.flush()
    assert local(place)["stale"] == 1
    assert set(place.found("granite")) == {"one"}

    done = place.json("rebuild")

    assert (done["sessions"], done["stale"], done["complete"]) == (2, 1, True)
    assert place.found("granite") == []
    assert set(place.found("quartz")) == {"one"}
    assert local(place)["stale"] == 0
    assert place.cli("verify").returncode == 0


def test_a_session_that_grows_under_a_new_policy_stays_stale_until_it_is_rebuilt(
    place: Home,
) -> None:
    path = write(place, "one.jsonl", *talk("one", "quartz"))
    place.start()
    place.flush()
    place.stop()
    without_tools(place)
    place.start()
    append(path, *talk("one", "quartz", 40))
    place.flush()

    assert local(place)["stale"] == 1
    place.json("rebuild", "one")

    assert local(place)["stale"] == 0


def test_a_dry_run_tells_what_would_change_and_changes_nothing(place: Home) -> None:
    write(place, "one.jsonl", *talk("one", "quartz", turns=5))
    place.start()
    place.flush()
    place.stop()
    without_tools(place)
    place.start()
    place.flush()
    before = local(place)

    told = place.json("rebuild", "--dry-run")
    assert local(place) == before
    assert place.found("granite")
    done = place.json("rebuild")

    assert told["after"] == done["after"]
    assert told["before"] == done["before"]
    assert done["after"]["tokens"] < done["before"]["tokens"]
    assert [one["session_id"] for one in told["changed"]] == ["one"]


def test_people_are_told_in_plain_words_what_was_rebuilt_and_why_the_rest_was_not(
    place: Home,
) -> None:
    write(place, "one.jsonl", *talk("one", "quartz"))
    place.start()
    place.flush()
    place.stop()
    settings(place, '[retain]\ntools = "none"\n[projects."/work"]\nmode = "metadata"\n')
    place.start()
    write(place, "two.jsonl", prompt(50, "what of the basalt", "two", cwd="/work"))
    place.flush()

    first = place.cli("rebuild").stdout.decode()
    again = place.cli("rebuild").stdout.decode()

    assert first.startswith("1 session rebuilt; 1 was stale\n")
    assert again.startswith("1 session rebuilt; none was stale\n")
    assert "left as they are (kept without bytes): 1\n" in first


def test_a_rebuild_of_the_same_changes_no_count_and_leaves_no_document_twice(place: Home) -> None:
    write(place, "one.jsonl", *talk("one", "quartz", turns=400))
    place.start()
    place.flush()
    counts = totals(place.ask("GET", "/v1/sessions"))
    before = sorted(found_texts(place, "quartz"))

    for _ in range(2):
        done = place.json("rebuild")
        assert done["changed"] == []

    assert totals(place.ask("GET", "/v1/sessions")) == counts
    assert sorted(found_texts(place, "quartz")) == before
    assert place.cli("verify", "--deep").returncode == 0


def test_forks_keep_their_owners_whatever_the_order(place: Home) -> None:
    lines = talk("one", "quartz", turns=3)
    write(place, "one.jsonl", *lines)
    place.start()
    place.flush()
    forked = [line.replace(b'"sessionId": "one"', b'"sessionId": "fork"') for line in lines]
    write(place, "fork.jsonl", *forked, *talk("fork", "basalt", 70))
    place.flush()
    counts = totals(place.ask("GET", "/v1/sessions"))

    place.json("rebuild", "fork")
    place.json("rebuild", "one")
    place.json("rebuild")

    assert totals(place.ask("GET", "/v1/sessions")) == counts
    assert set(place.found("quartz")) == {"one"}
    assert set(place.found("basalt")) == {"fork"}


def test_a_rebuild_that_is_killed_goes_on_and_nothing_is_ever_missing_or_twice(place: Home) -> None:
    write(place, "one.jsonl", *talk("one", "quartz", turns=2500))
    place.start()
    place.flush()
    counts = totals(place.ask("GET", "/v1/sessions"))
    texts = sorted(found_texts(place, "quartz number"))
    place.stop()
    for hits in (1, 2):
        place.start(RETAIND_FAILPOINT=f"retain.planned:{hits}")
        place.cli("rebuild")
        place.wait_for_exit()
        assert place.found("quartz")
        place.start()
        place.flush()

        wait_until(lambda: sorted(found_texts(place, "quartz number")) == texts, "one of each")
        assert totals(place.ask("GET", "/v1/sessions")) == counts
        place.stop()


def test_another_memory_than_the_local_one_cannot_be_rebuilt(place: Home) -> None:
    place.start()

    assert place.cli("rebuild", "--memory", "hindsight").returncode == 2
