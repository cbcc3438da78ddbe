"""The measure of recall itself, on its own small set."""

import re
from pathlib import Path

import pytest
from bench.recall import main

from bench import recall_set


def test_the_set_is_the_same_wherever_it_is_made(tmp_path: Path) -> None:
    one, two = recall_set.write(tmp_path / "1"), recall_set.write(tmp_path / "2")

    assert one == two
    assert len(one) >= 140
    names = sorted(path.name for path in (tmp_path / "1").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "2").iterdir())
    assert len(names) == 10
    for name in names:
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def test_recall_brings_back_most_of_what_was_asked_in_other_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--tokens", "1024"]) == 0

    share = re.search(r"1024 tokens: +([0-9.]+) %", capsys.readouterr().out)
    assert share is not None
    assert float(share[1]) >= 60
