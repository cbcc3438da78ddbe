"""Where Claude Code keeps its transcripts: folders that are named, are found, or come later."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agents.fake_model import Say
from agents.lab import Lab, running_lab


def test_a_project_whose_folder_did_not_exist_when_the_daemon_started_is_kept(lab: Lab) -> None:
    lab.model.teach("where is the heron", (Say("By the river."),))
    first = lab.in_folder("first").new_session("where is the heron")
    lab.captured_promptly(first)

    second = lab.in_folder("second").new_session("where is the heron")
    lab.captured_promptly(second)

    assert first.parent != second.parent
    assert [lab.settled(path)["project"] for path in (first, second)] == ["first", "second"]


@pytest.mark.parametrize("name", ["elsewhere/claude", ".claude-work"])
def test_another_configuration_folder_is_kept_like_the_usual_one(
    tmp_path: Path, program: Path, name: str
) -> None:
    config = tmp_path / name
    (config / "projects").mkdir(parents=True)

    with _running(tmp_path, program, config) as lab:
        transcript = lab.claude.new_session("where is the heron")
        lab.captured_promptly(transcript)

        assert lab.found("by the river", transcript)


@pytest.mark.parametrize("name", ["elsewhere/claude", ".claude-work"])
def test_a_configuration_folder_that_comes_later_is_found_by_the_next_look(
    tmp_path: Path, program: Path, name: str
) -> None:
    config = tmp_path / name

    with _running(tmp_path, program, config) as lab:
        transcript = lab.claude.new_session("where is the heron")
        lab.home.flush()
        lab.captured_promptly(transcript)

        assert lab.found("by the river", transcript)


@contextmanager
def _running(folder: Path, program: Path, config: Path) -> Iterator[Lab]:
    """A lab whose agent uses another folder, which the daemon is told of unless it finds it itself."""
    told = {} if config.parent == folder else {"CLAUDE_CONFIG_DIR": str(config)}
    with running_lab(folder, program, config, **told) as lab:
        lab.model.teach("where is the heron", (Say("By the river."),))
        yield lab
