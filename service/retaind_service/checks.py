"""What a machine needs before anything is installed on it. Nothing here writes."""

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from retaind_service.commands import run

_NEEDED_BYTES = 250 * 1024 * 1024
# The address of a Unix socket holds 108 bytes on Linux and 104 on macOS, its last one a NUL.
_SOCKET_BYTES = {"darwin": 103}
_SOCKET_BYTES_ELSEWHERE = 107
# The first pip that installs into another environment by --python.
_PIP_AT_LEAST = (22, 3)
# systemd runs no program whose path holds a quote or a backslash.
_UNFIT = re.compile(r"[\x00-\x1f\x7f'\"\\]")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that stands in the way, with one command that helps."""

    what: str
    why: str
    fix: str

    def __str__(self) -> str:
        """Return it in the form of every error that retaind prints."""
        return f"error: {self.what}. WHY: {self.why}. FIX: {self.fix}"


def problems(
    folders: tuple[Path, ...],
    *,
    system: str = sys.platform,
    environ: Mapping[str, str] = os.environ,
) -> tuple[Problem, ...]:
    """Return all that stands in the way of installing into `folders`, the first being the venvs'."""
    return (
        *_of_interpreter(environ),
        *_of_folders(folders),
        *_of_space(folders[0]),
        *_of_socket(system, environ),
    )


def _of_interpreter(environ: Mapping[str, str]) -> Iterator[Problem]:
    if sys.maxsize < 2**32:
        yield Problem(
            "this python is 32-bit",
            f"{sys.executable} cannot map large databases",
            "./install.sh --python /path/to/64-bit/python3",
        )
    lacks = _sqlite_lacks()
    if lacks:
        yield Problem(
            "this python cannot keep the database",
            f"{sys.executable}: {lacks}",
            "./install.sh --python /usr/bin/python3",
        )
    if not _can_install(environ):
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        yield Problem(
            "no way to install packages",
            f"{sys.executable} has no ensurepip, its pip is missing or older than 22.3, and there is no uv",
            f"sudo apt-get install python{version}-venv",
        )


def _sqlite_lacks() -> str:
    """Return what SQLite lacks for the index, or nothing."""
    try:
        import sqlite3
    except ImportError as error:
        return str(error)
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE t USING fts5(x)")
    except sqlite3.Error as error:
        return f"SQLite {sqlite3.sqlite_version}: {error}"
    finally:
        connection.close()
    return ""


def _can_install(environ: Mapping[str, str]) -> bool:
    if shutil.which("uv", path=environ.get("PATH")):
        return True
    if importlib.util.find_spec("venv") is None:
        return False
    return importlib.util.find_spec("ensurepip") is not None or _pip_version() >= _PIP_AT_LEAST


def _pip_version() -> tuple[int, ...]:
    told = run((sys.executable, "-I", "-m", "pip", "--version"))
    words = told.out.split()
    if not told.ok or len(words) < len(("pip", "version")):
        return ()
    return tuple(int(part) for part in words[1].split(".")[:2] if part.isdigit())


def _of_folders(folders: tuple[Path, ...]) -> Iterator[Problem]:
    for folder in folders:
        if _UNFIT.search(str(folder)):
            yield Problem(
                f"cannot install into {str(folder)!r}",
                "its name holds a quote, a backslash or a control character",
                "./install.sh --prefix /another/folder",
            )
            continue
        there = _nearest(folder)
        if not there.is_dir():
            yield Problem(f"{there} is in the way", "it is no folder", f"mv {there} {there}.old")
        elif not os.access(there, os.W_OK | os.X_OK):
            yield Problem(
                f"cannot write to {there}",
                f"you do not own it or its mode forbids it, and {folder} belongs there",
                f'sudo chown "$(id -un)" {there}',
            )
        elif os.statvfs(there).f_flag & getattr(os, "ST_NOEXEC", 0) and folder == folders[0]:
            yield Problem(
                f"programs may not run from {there}",
                "its file system is mounted noexec",
                "./install.sh --prefix /a/folder/elsewhere",
            )


def _of_space(folder: Path) -> Iterator[Problem]:
    there = _nearest(folder)
    free = shutil.disk_usage(there).free
    if free < _NEEDED_BYTES:
        yield Problem(
            "too little space",
            f"{free // 1024**2} MB are free at {there}, {_NEEDED_BYTES // 1024**2} MB are needed",
            f"free some of it: du -xh {there} | sort -h | tail",
        )


def _of_socket(system: str, environ: Mapping[str, str]) -> Iterator[Problem]:
    path = environ.get("RETAIND_SOCKET", "")
    limit = _SOCKET_BYTES.get(system, _SOCKET_BYTES_ELSEWHERE)
    size = len(os.fsencode(path))
    if size > limit:
        yield Problem(
            "RETAIND_SOCKET is too long",
            f"it has {size} bytes, and the address of a socket holds {limit}",
            "unset RETAIND_SOCKET",
        )


def _nearest(folder: Path) -> Path:
    """Return the folder itself, or the nearest ancestor that exists."""
    while not folder.exists() and not folder.is_symlink() and folder != folder.parent:
        folder = folder.parent
    return folder
