"""Whatever goes wrong, people get one sentence with a fix, and programs an exit code."""

import os
import subprocess
import sys

import pytest

from harness.process import Home


def failure(place: Home, *arguments: str, code: int) -> str:
    done = place.cli(*arguments)
    said = done.stderr.decode()
    assert done.returncode == code, said
    assert said.startswith("error: ")
    assert "Traceback" not in said
    return said


@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        (["stauts"], "FIX: retaind status"),
        (["nonsense"], "FIX: retaind --help"),
        (["show"], "FIX: retaind show --help"),
        (["verify", "--dep"], "FIX: retaind verify --help"),
        (["flush", "--timeout", "soon"], "FIX: retaind flush --help"),
        (["--colour"], "FIX: retaind --help"),
    ],
)
def test_a_misused_command_exits_with_2_and_names_the_help(
    place: Home, arguments: list[str], fix: str
) -> None:
    assert fix in failure(place, *arguments, code=2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["logs", "--lnes"], "Did you mean '--lines'? FIX: "),
        (["verify", "--dep"], "Did you mean one of: '--deep', '--help'? FIX: "),
        (["restore", "a", "b"], "extra argument (b). FIX: "),
        (["search", "--limit", "few", "x"], "'few' is no whole number. FIX: "),
        (["flush", "--timeout", "soon"], "'soon' is no number. FIX: "),
    ],
)
def test_a_misused_command_is_answered_in_whole_sentences(
    place: Home, arguments: list[str], words: str
) -> None:
    assert words in failure(place, *arguments, code=2)


def test_no_line_of_help_is_cut_off(place: Home) -> None:
    for group in ([], ["hooks"], ["migrate"]):
        assert "..." not in place.cli(*group, "--help").stdout.decode().partition("ARGS]...")[2]


def test_no_verb_at_all_prints_the_help(place: Home) -> None:
    done = place.cli()

    assert done.returncode == 2
    assert b"verify" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [["flush"], ["reload"], ["retain", "-", "--document-id", "d"]],
)
def test_writing_verbs_say_plainly_that_nobody_answers(place: Home, arguments: list[str]) -> None:
    said = failure(place, *arguments, code=3)

    assert "retaind is not running" in said
    assert "FIX: retaind start" in said


@pytest.mark.parametrize(
    "verb", ["sessions", "verify", "show x", "search x", "recall x", "restore x -o y"]
)
def test_reading_verbs_say_that_there_is_nothing_to_read(place: Home, verb: str) -> None:
    assert "there is no retaind database" in failure(place, *verb.split(), code=74)


@pytest.mark.parametrize("verb", ["run", "start", "restart", "config", "reload"])
def test_a_malformed_configuration_exits_with_78(place: Home, verb: str) -> None:
    place.config.write_text("[watch]\nmode = 'sacn'\n")

    said = failure(place, verb, code=78)

    assert f"{place.config}:2" in said
    assert "watch.mode" in said


def test_a_relative_override_exits_with_78(place: Home) -> None:
    place.environ["RETAIND_STATE_DIR"] = "relative"

    assert "RETAIND_STATE_DIR" in failure(place, "status", "--json", code=78)


def test_a_database_that_is_none_is_named(place: Home) -> None:
    place.state.mkdir(mode=0o700)
    (place.state / "retaind.db").write_bytes(
        b"this is no database, but long enough to be read" * 99
    )

    said = failure(place, "sessions", code=74)

    assert "retaind.db is damaged" in said


def test_whoever_reads_only_the_first_line_is_no_error(kept: Home) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-I", "-m", "retaind", "config"],
        env=kept.environ,
        stdout=writing,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writing)

    assert done.returncode == 141
    assert done.stderr == b""


def test_the_version_is_printed(place: Home) -> None:
    assert place.cli("--version").stdout.startswith(b"retaind 0.")


def test_every_verb_has_help(place: Home) -> None:
    from retaind.cli.app import VERBS

    for verb in VERBS:
        done = place.cli(verb, "--help")
        assert done.returncode == 0, verb
        assert done.stdout.startswith(f"Usage: retaind {verb}".encode())


NO_TEXT = os.fsdecode(b"\xff")


@pytest.mark.parametrize("verb", ["show", "restore", "sessions", "verify", "forget", "flush"])
def test_an_id_that_is_no_text_names_no_session(kept: Home, verb: str) -> None:
    said = failure(kept, verb, NO_TEXT, code=1)

    assert 'there is no session "\\udcff"' in said


def test_an_id_without_end_is_not_repeated_whole(kept: Home) -> None:
    said = failure(kept, "show", "x" * 9999, code=1)

    assert "x" * 80 + "…" in said
    assert len(said) < 200


def test_a_search_in_a_session_that_does_not_exist_says_so(kept: Home) -> None:
    assert 'no session "nosuch"' in failure(kept, "search", "--session", "nosuch", "x", code=1)


def test_a_word_that_looks_like_an_option_is_told_how_to_be_a_word(place: Home) -> None:
    assert "FIX: retaind search -- WORDS" in failure(place, "search", "-alpha0", code=2)


def test_a_group_without_a_verb_prints_its_help_alone(place: Home) -> None:
    done = place.cli("hooks")

    assert done.returncode == 2
    assert b"uninstall" in done.stderr
    assert b"FIX" not in done.stderr
