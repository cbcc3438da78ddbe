"""Which variables of the installing shell the service is given."""

import pytest

from retaind_service import environment

SHELL = {"HOME": "/home/ada", "SHELL": "/bin/zsh", "LANG": "de_DE.UTF-8", "PATH": "/usr/bin"}


def test_the_service_gets_the_path_and_the_folders_but_not_the_shell() -> None:
    shell = SHELL | {"CLAUDE_CONFIG_DIR": "/data/claude", "XDG_STATE_HOME": "/data/state"}

    assert environment.record(shell).kept == {
        "CLAUDE_CONFIG_DIR": "/data/claude",
        "PATH": "/usr/bin",
        "XDG_STATE_HOME": "/data/state",
    }


def test_overrides_of_retaind_are_recorded_and_its_secrets_are_named_only() -> None:
    shell = {
        "RETAIND_LOG_LEVEL": "debug",
        "RETAIND_MEMORY_HINDSIGHT_TOKEN": "hush",
        "RETAIND_MEMORY_HINDSIGHT_TOKEN_FILE": "/home/ada/token",
    }

    recording = environment.record(shell)

    assert recording.kept == {
        "RETAIND_LOG_LEVEL": "debug",
        "RETAIND_MEMORY_HINDSIGHT_TOKEN_FILE": "/home/ada/token",
    }
    assert recording.secrets == ("RETAIND_MEMORY_HINDSIGHT_TOKEN",)


@pytest.mark.parametrize("name", ["RETAIND_FAILPOINT", "RETAIND_SUPERVISOR"])
def test_what_is_meant_for_one_process_is_not_recorded(name: str) -> None:
    assert environment.record({name: "x"}).kept == {}


def test_an_upgrade_from_a_bare_shell_forgets_no_transcript_folder() -> None:
    earlier = {"CLAUDE_CONFIG_DIR": "/data/claude", "PATH": "/old"}

    assert environment.record(SHELL, earlier).kept == {
        "CLAUDE_CONFIG_DIR": "/data/claude",
        "PATH": "/usr/bin",
    }


def test_a_variable_set_to_nothing_is_no_longer_recorded() -> None:
    earlier = {"CLAUDE_CONFIG_DIR": "/data/claude"}

    assert environment.record({"CLAUDE_CONFIG_DIR": ""}, earlier).kept == {}


@pytest.mark.parametrize("value", ["two\nlines", "bell\a", "\udcff not UTF-8"])
def test_a_value_that_no_unit_can_hold_is_not_recorded(value: str) -> None:
    assert environment.record({"CLAUDE_CONFIG_DIR": value}).kept == {}
