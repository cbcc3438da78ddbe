"""Roots: which folders of Claude Code's are watched."""

from pathlib import Path

from retaind.runtime.roots import claude_roots


def test_the_default_root_is_returned_before_it_exists(tmp_path: Path) -> None:
    assert claude_roots(tmp_path, {}, ()) == (tmp_path / ".claude",)


def test_the_variable_comes_first_and_may_be_missing(tmp_path: Path) -> None:
    roots = claude_roots(tmp_path, {"CLAUDE_CONFIG_DIR": "/not/there"}, ())

    assert roots == (Path("/not/there"), tmp_path / ".claude")


def test_profiles_count_only_if_they_hold_transcripts(tmp_path: Path) -> None:
    (tmp_path / ".claude-work/projects").mkdir(parents=True)
    (tmp_path / ".claude-backup").mkdir()
    (tmp_path / ".config/claude/projects").mkdir(parents=True)

    assert claude_roots(tmp_path, {}, ()) == (
        tmp_path / ".claude",
        tmp_path / ".claude-work",
        tmp_path / ".config/claude",
    )


def test_configured_roots_are_kept_even_when_missing(tmp_path: Path) -> None:
    roots = claude_roots(tmp_path, {}, ("/srv/claude", "~/mine"))

    assert roots == (tmp_path / ".claude", Path("/srv/claude"), tmp_path / "mine")


def test_one_folder_under_two_names_is_one_root(tmp_path: Path) -> None:
    (tmp_path / ".claude/projects").mkdir(parents=True)
    (tmp_path / ".claude-alias").symlink_to(".claude")

    roots = claude_roots(
        tmp_path,
        {"CLAUDE_CONFIG_DIR": str(tmp_path / ".claude")},
        (str(tmp_path / ".claude/projects"),),
    )

    assert roots == (tmp_path / ".claude",)


def test_a_loop_of_links_is_no_root(tmp_path: Path) -> None:
    (tmp_path / ".claude-loop").symlink_to(".claude-loop")

    assert claude_roots(tmp_path, {}, ()) == (tmp_path / ".claude",)
