"""Which project a working directory belongs to, by what the file system says. No git is run."""

import os
from typing import Final

from retaind.core.facts import ancestors, project_of

_POINTER: Final = "gitdir: "
_POINTER_BYTES: Final = 4096


def project_name(cwd: str) -> str | None:
    """Return the name of the project around `cwd`: of its repository, or of the folder itself.

    A linked worktree has its main repository's name; a folder that is gone, that of the repository
    around its nearest ancestor that exists.
    """
    existing = [folder for folder in ancestors(cwd) if os.path.isdir(folder)]
    for folder in existing:
        common = _common_dir(os.path.join(folder, ".git"))
        if common is not None:
            return project_of(cwd, [folder], common)
    return project_of(cwd, existing, None)


def _common_dir(dot_git: str) -> str | None:
    """Return the folder that a repository shares with its worktrees, given its `.git`."""
    if os.path.isdir(dot_git):
        return dot_git
    pointer = _first_line(dot_git)
    if pointer is None or not pointer.startswith(_POINTER):
        return None
    git_dir = os.path.join(os.path.dirname(dot_git), pointer.removeprefix(_POINTER))
    shared = _first_line(os.path.join(git_dir, "commondir"))
    return os.path.normpath(os.path.join(git_dir, shared) if shared else git_dir)


def _first_line(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline(_POINTER_BYTES).rstrip("\n")
    except OSError:
        return None
