"""The unit in which content is counted."""

import sys
from collections.abc import Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from harness.process import Home
from retaind.errors import ConfigError
from retaind.runtime.tokenizing import Cl100k, counter

needs_toktok = pytest.mark.skipif(
    find_spec("toktok") is None, reason="the extra cl100k is not installed"
)


@pytest.fixture(name="home")
def _home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    yield home
    home.clean_up()


def test_the_default_unit_is_utf8_bytes_over_four_rounded_up() -> None:
    assert counter("bytes/4")("ab€") == 2


def test_exact_tokens_without_their_library_are_an_error_that_names_the_command() -> None:
    with pytest.raises(ConfigError) as raised:
        counter("cl100k", "no_such_module_at_all")

    assert raised.value.exit_code == 78
    assert "pip install 'retaind[cl100k]'" in raised.value.fix


@needs_toktok
def test_exact_tokens_are_counted_by_a_child_that_leaves_the_tables_out_of_this_process() -> None:
    with closing(Cl100k()) as tokenizer:
        counted = [
            tokenizer.count(text)
            for text in ("hello world", "", "two\nlines, ünï", "<|endoftext|>")
        ]
    assert counted == [2, 0, 7, 7]
    assert "toktok" not in sys.modules


@needs_toktok
def test_a_child_that_has_ended_for_lack_of_questions_is_started_again() -> None:
    with closing(Cl100k(idle_s=0.05)) as tokenizer:
        assert tokenizer.count("hello world") == 2
        assert tokenizer._child is not None
        tokenizer._child.wait(30)
        assert tokenizer.count("hello world") == 2


def test_chunk_size_and_batch_size_reach_the_local_memory(home: Home) -> None:
    home.config.write_text("[memory.local]\nchunk_chars = 200\nbatch_tokens = 100\n")
    text = home.folder / "note.txt"
    text.write_text(" ".join(f"word{n}" for n in range(150)))
    home.start()

    result = home.json("retain", str(text), "--document-id", "note")

    assert result["chunks"] >= 6
    assert result["submitted_chars"] == len(text.read_text())
    assert result["tokenizer"] == "bytes/4"


def test_a_daemon_without_the_library_that_is_asked_for_does_not_start_and_doctor_says_why(
    home: Home,
) -> None:
    if find_spec("toktok") is not None:
        pytest.skip("the extra cl100k is installed")
    home.config.write_text('[metering]\ntokenizer = "cl100k"\n')

    assert home.cli("run").returncode == 78
    assert b"retaind[cl100k]" in home.cli("doctor").stdout
