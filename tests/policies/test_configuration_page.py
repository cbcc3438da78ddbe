"""The page about configuration names every key, its default, and when it applies; and nothing else."""

import re
from pathlib import Path

import pytest

from retaind.config import Settings, effective
from retaind.config.keys import KEYS, variable
from retaind.runtime.reloading import after_restart

PAGE = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"
ROW = re.compile(r"^\| `([a-z_.0-9]+)` \| (.+?) \| (.+?) \| (.*?) ?\|$", re.MULTILINE)
ROWS = {key: (default, meaning) for key, default, meaning, _ in ROW.findall(PAGE.read_text())}
NONE: tuple[object, ...] = (None, "", (), {})


def test_every_key_stands_on_the_page_and_no_other() -> None:
    assert set(ROWS) == set(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_the_default_is_the_one_in_force(key: str) -> None:
    value = effective(Settings())[key]
    default, _ = ROWS[key]

    if key == "recall.preamble":
        assert default == "a sentence or two"
    elif value in NONE:
        assert default == "none"
    else:
        values = value if isinstance(value, tuple) else (value,)
        assert [text.strip("`") for text in default.split(", ")] == [_written(v) for v in values]


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


@pytest.mark.parametrize("key", KEYS)
def test_what_a_reload_applies_is_marked(key: str) -> None:
    assert ROWS[key][1].startswith("↻") is (after_restart([key]) == [])


def test_the_variables_in_the_text_are_those_of_keys() -> None:
    named = set(re.findall(r"RETAIND_[A-Z_]+[A-Z]", PAGE.read_text()))
    others = {"RETAIND_CONFIG_FILE", "RETAIND_STATE_DIR", "RETAIND_SOCKET"}

    assert named - others <= {variable(key) for key in KEYS}
