"""Facts about a session that names are made of: where it started, and which project that is.

What the file system knows comes in as arguments.
"""

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

_WINDOWS: Final = re.compile(r"[A-Za-z]:[\\/]|\\\\")
_GIT: Final = ".git"


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """What is known of a session and stays as it is once known.

    `project` and `cwd` follow from the first record that names a cwd; None is unknown.
    """

    host: str
    session_id: str
    project: str | None = None
    cwd: str | None = None
    bank_id: str = ""
    user_id: str = ""


def ancestors(cwd: str) -> tuple[str, ...]:
    """Return a folder and the folders above it, nearest first; () when it is no absolute path."""
    path = _plain(cwd)
    if not path.startswith("/"):
        return ()
    found = [path]
    while (parent := posixpath.dirname(found[-1])) != found[-1]:
        found.append(parent)
    return tuple(found)


def project_of(
    cwd: str | None, ancestors_that_exist: Sequence[str] = (), git_common_dir: str | None = None
) -> str | None:
    """Name the project of a session that started in `cwd`; None when nothing tells.

    `git_common_dir` is git's answer in the first of `ancestors_that_exist` (nearest first), to which
    it may be relative; so a linked worktree, also one that is gone, has its repository's name. Its
    last folder names the project, or the one above when that is `.git`. Outside git it is the name
    of `cwd` itself.
    """
    path = _plain(cwd or "")
    if not path:
        return None
    if git_common_dir:
        base = ancestors_that_exist[0] if ancestors_that_exist else path
        common = _plain(posixpath.join(_plain(base), _slashed(git_common_dir)))
        if posixpath.basename(common) == _GIT:
            common = posixpath.dirname(common)
        if name := posixpath.basename(common):
            return name
    return posixpath.basename(path) or None


def map_directory(cwd: str | None, mapping: Mapping[str, str]) -> str | None:
    """Return what the longest mapped folder that is `cwd` or lies above it maps to; None if none does."""
    path = _plain(cwd or "")
    if not path:
        return None
    fitting = [
        (len(folder), value)
        for key, value in mapping.items()
        if (folder := _plain(key)) and (path == folder or path.startswith(folder.rstrip("/") + "/"))
    ]
    return max(fitting)[1] if fitting else None


def _plain(path: str) -> str:
    """Return a path without trailing, doubled or dotted parts; "" stays empty."""
    path = _slashed(path.strip())
    if not path:
        return ""
    plain = posixpath.normpath(path)
    return plain[1:] if plain.startswith("//") else plain


def _slashed(path: str) -> str:
    """Return a Windows path with `/` between folders; of other paths a backslash is a character."""
    return path.replace("\\", "/") if _WINDOWS.match(path) else path
