"""Claude Code's folders that a hook told of, as CLAUDE_CONFIG_DIR names them where no service sees it.

They are kept in a file: a daemon that starts anew must find them again without any hook.
"""

import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from retaind.hosts.claude_code import ClaudeCode
from retaind.runtime.logs import logger
from retaind.runtime.roots import TRANSCRIPTS

FILE_NAME: Final = "reported_roots.json"
MOST: Final = 32
_SIGNS: Final = (".claude.json", "settings.json")
_NAME: Final = "claude"


class ReportedRoots:
    """The folders that hooks told of, in the order in which they came; the newest 32."""

    def __init__(self, state_dir: Path) -> None:
        self._file = state_dir / FILE_NAME
        self._home = os.path.realpath(os.path.expanduser("~"))
        self.folders: Sequence[str] = reported_folders(state_dir)

    def learn(self, path: str) -> bool:
        """Take in the folder above a transcript's path, if it is plausible; says whether it is new.

        Touches the file system. A list that cannot be written is used all the same, until the end.
        """
        folder = config_folder(os.path.realpath(path), self._home)
        if folder is None or folder in self.folders:
            return False
        kept = self.folders
        if len(kept) >= MOST:
            kept = [one for one in kept if os.path.isdir(one)][1 - MOST :]
        self.folders = (*kept, folder)
        try:
            _write(self._file, self.folders)
        except OSError as error:
            logger().warning("reported_root_not_kept", reason=error.strerror)
        return True


def reported_folders(state_dir: Path) -> Sequence[str]:
    """Return the folders that hooks told of so far; none if there is no list, or no usable one."""
    try:
        found = json.loads((state_dir / FILE_NAME).read_bytes())
    except (OSError, ValueError):
        return ()
    folders = found if isinstance(found, list) else []
    return tuple(one for one in folders if isinstance(one, str) and one.startswith("/"))[:MOST]


def config_folder(path: str, home: str) -> str | None:
    """Return the folder of Claude Code that a transcript's real path lies in, None if there is no telling.

    It must look like one, belong to this user, and not be open to everybody; a home folder is never one.
    """
    before, found, after = path.rpartition(f"/{TRANSCRIPTS}/-")
    while found:
        place = ClaudeCode().place(os.fsencode(f"{TRANSCRIPTS}/-{after}"))
        if place is not None and place.kind in {"session", "subagent"}:
            is_above_home = f"{home}/".startswith(f"{before}/")
            return before if not is_above_home and _is_plausible(before) else None
        before, found, more = before.rpartition(f"/{TRANSCRIPTS}/-")
        after = f"{more}/{TRANSCRIPTS}/-{after}"
    return None


def _is_plausible(folder: str) -> bool:
    if not _is_ours(folder) or not _is_ours(f"{folder}/{TRANSCRIPTS}"):
        return False
    named = _NAME in os.path.basename(folder).lower()
    return named or any(os.path.isfile(f"{folder}/{sign}") for sign in _SIGNS)


def _is_ours(folder: str) -> bool:
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.geteuid()
        and not found.st_mode & stat.S_IWOTH
    )


def _write(file: Path, folders: Sequence[str]) -> None:
    partial = file.with_name(f"{file.name}.new")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="ascii") as written:
        json.dump(folders, written)
        written.flush()
        os.fsync(descriptor)
    partial.replace(file)
