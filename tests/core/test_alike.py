"""Words that stand for each other."""

import pytest

from retaind.core.alike import alike


@pytest.mark.parametrize(
    ("word", "other"),
    [("slow", "latency"), ("maximum", "limit"), ("signin", "login"), ("deploying", "rollout")],
)
def test_a_word_stands_for_others_also_with_an_ending(word: str, other: str) -> None:
    assert other in alike(word)


@pytest.mark.parametrize("word", ["", "walrus", "s", "tsunami", "ing"])
def test_most_words_stand_for_themselves(word: str) -> None:
    assert alike(word) == ()


def test_standing_for_each_other_is_mutual_and_never_with_oneself() -> None:
    for other in alike("error"):
        assert other != "error"
        assert "error" in alike(other)
