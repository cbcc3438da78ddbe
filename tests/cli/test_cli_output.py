"""What a transcript's text looks like on a terminal."""

import pytest

from retaind.cli.output import harmless


@pytest.mark.parametrize(
    "text",
    [
        "plain\n\ttext",
        "\U0001f469\u200d\U0001f680 \u2764\ufe0f",
        "全角\u3000空白",
        "10\u202f000\u00a0€",
        "क्\u200dष",
        "zero\u200bwidth",
    ],
)
def test_what_languages_and_emoji_need_is_printed_as_it_is(text: str) -> None:
    assert harmless(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred", "\ufffd[31mred"),
        ("\x9b31m", "\ufffd31m"),
        ("a\x00\x07\x7fb", "a\ufffd\ufffd\ufffdb"),
        ("over\rwritten", "over\ufffdwritten"),
        ("two\r\nlines", "two\nlines"),
        ("turned \u202ecod.exe", "turned \ufffdcod.exe"),
        ("half \ud83d", "half \ufffd"),
    ],
)
def test_what_would_command_a_terminal_or_turn_words_is_not(text: str, shown: str) -> None:
    assert harmless(text) == shown
