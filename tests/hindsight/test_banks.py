"""Which bank a session belongs to."""

from pathlib import Path

import pytest

from retaind.config.settings import Bank, Hindsight
from retaind.runtime.banks import derive

DYNAMIC = Bank(dynamic=True)
MAPPED = Bank(directory_map=(("/home/dev/lab", "lab"), ("/home/dev", "dev")))


@pytest.mark.parametrize(
    ("hindsight", "bank", "cwd", "expected"),
    [
        (Hindsight(), Bank(), "/home/dev/lab", "claude_code"),
        (Hindsight(), Bank(), None, "claude_code"),
        (Hindsight(), Bank(id="team", id_prefix="acme"), None, "acme-team"),
        (Hindsight(), Bank(id=""), None, "claude-code"),
        (Hindsight(bank="fixed"), Bank(dynamic=True, id_prefix="acme"), "/home/dev", "fixed"),
        (Hindsight(), MAPPED, "/home/dev/lab/deep", "lab"),
        (Hindsight(), MAPPED, "/home/dev/laboratory", "dev"),
        (Hindsight(), MAPPED, "/elsewhere", "claude_code"),
        (Hindsight(), DYNAMIC, "/nowhere/lab/", "claude-code::lab"),
        (Hindsight(), DYNAMIC, None, "claude-code::unknown"),
        (
            Hindsight(),
            Bank(dynamic=True, granularity=("user", "channel", "session"), user="ann"),
            None,
            "ann::default::s1",
        ),
    ],
)
def test_a_bank_follows_from_the_configuration_and_the_first_cwd(
    hindsight: Hindsight, bank: Bank, cwd: str | None, expected: str
) -> None:
    assert derive(hindsight, bank, "s1", cwd) == expected


def test_a_worktree_belongs_to_its_repository_unless_told_otherwise(tmp_path: Path) -> None:
    (tmp_path / "main" / ".git" / "worktrees" / "w").mkdir(parents=True)
    (tmp_path / "main" / ".git" / "worktrees" / "w" / "commondir").write_text("../..\n")
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / ".git").write_text(f"gitdir: {tmp_path}/main/.git/worktrees/w\n")
    cwd = str(tmp_path / "copy")
    plain = Bank(dynamic=True, resolve_worktrees=False)

    assert derive(Hindsight(), DYNAMIC, "s", cwd) == "claude-code::main"
    assert derive(Hindsight(), plain, "s", cwd) == "claude-code::copy"


def test_a_name_that_no_server_takes_is_shortened_and_stays_its_own() -> None:
    one, other = (derive(Hindsight(bank="ä" * 200 + end), Bank(), "s", None) for end in "ab")

    assert len(one.encode()) <= 192
    assert len(other.encode()) <= 192
    assert one != other
