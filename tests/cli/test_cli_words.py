"""The words that people give `search` and `recall`, and what they are told when there are none."""

import pytest

from cli.conftest import SESSION, TRANSCRIPT, line
from harness.process import Home


def test_recall_takes_a_question_of_several_words(place: Home) -> None:
    place.start()
    (place.project / f"{SESSION}.jsonl").write_bytes(TRANSCRIPT)
    place.flush()

    asked = place.cli("recall", "where", "is", "the", "heron")

    assert asked.returncode == 0
    assert b"By the river" in asked.stdout
    assert asked.stdout == place.cli("recall", "where is the heron").stdout


@pytest.mark.parametrize("verb", ["search", "recall"])
@pytest.mark.parametrize("words", [[""], ["***"], ["-", "?"]])
def test_asking_for_nothing_is_told_to_give_words(kept: Home, verb: str, words: list[str]) -> None:
    done = kept.cli(verb, "--", *words)

    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"error: nothing was asked. FIX: give words to look for\n"


def test_programs_that_search_for_nothing_find_nothing(kept: Home) -> None:
    assert kept.json("search", "***") == {"results": []}


def test_the_help_of_search_tells_what_can_be_asked_and_whose_time_it_is(kept: Home) -> None:
    told = " ".join(kept.cli("search", "--help").stdout.decode().split())

    assert '"a phrase", a prefix* and OR' in told
    assert "Times are UTC" in told


def test_a_line_that_fits_is_shown_from_its_head(place: Home) -> None:
    place.start()
    said = "The head of the line stays. " + "pebble " * 20 + "Then comes the walrus."
    (place.project / f"{SESSION}.jsonl").write_bytes(line("user", said, 1))
    place.flush()

    shown = place.cli("search", "walrus").stdout.decode()

    assert "  The head of the line stays. pebble" in shown
    assert "the «walrus»." in shown
