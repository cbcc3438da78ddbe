"""Whether a stream's bytes may be kept, decided from its first bytes before any of them is stored."""

import fnmatch
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

from retaind.core.policy import Exclusion
from retaind.hosts.port import Peek
from retaind.runtime.scan import Root
from retaind.vault.streams import Mode

PEEK_BYTES: Final = 64 * 1024
ATTACHMENT_BYTES: Final = 8 * 1024 * 1024

ProjectOf = Callable[[str], str | None]
"""Names the project of a working directory; looks at the file system."""


class Admitted(NamedTuple):
    """What was decided. `decided` False: hold every byte back until more is known."""

    mode: Mode
    cwd: str | None
    project: str | None
    decided: bool


@dataclass(frozen=True, slots=True)
class Admission:
    """The rules of the configuration, applied to paths, folders and first bytes."""

    exclusion: Exclusion
    project_of: ProjectOf

    def admit(self, root: Root, path: bytes, head: bytes) -> Admitted:
        """Decide about a transcript from its path and its first 64 KiB or less."""
        if self.excluded_path(path):
            return Admitted("off", None, None, decided=True)
        peek = root.host.peek(head)
        decided = peek.decided or len(head) >= PEEK_BYTES or not self._asks_for_cwd()
        project = self.project_of(peek.cwd) if peek.cwd else None
        mode: Mode = "off" if peek.memory_tool else self.mode_of_folder(peek)
        return Admitted(mode, peek.cwd, project, decided)

    def readmit(self, path: bytes, cwd: str | None, mode: Mode) -> Mode:
        """Return the mode of a known stream under today's rules; what was off stays off."""
        if mode != "full":
            return mode
        if self.excluded_path(path):
            return "off"
        return self.mode_of_folder(Peek(cwd=cwd, memory_tool=False, decided=True))

    def excluded_path(self, path: bytes) -> bool:
        """Whether a glob of `exclude.paths` matches this path."""
        name = os.fsdecode(path)
        return any(fnmatch.fnmatchcase(name, glob) for glob in self.exclusion.paths)

    def mode_of_folder(self, peek: Peek) -> Mode:
        """Return the mode of the longest configured folder around the session's cwd."""
        if peek.cwd is None:
            return "full"
        cwd = peek.cwd.rstrip("/") or "/"
        if any(_covers(rule, cwd) for rule in self.exclusion.projects):
            return "off"
        for folder, mode in sorted(self.exclusion.modes, key=lambda rule: -len(rule[0])):
            if _covers(folder, cwd):
                return mode
        return "full"

    def _asks_for_cwd(self) -> bool:
        return bool(self.exclusion.projects or self.exclusion.modes)


def _covers(rule: str, cwd: str) -> bool:
    """Whether a rule, a folder or a glob, covers a working directory or a folder above it."""
    folder = rule.rstrip("/") or "/"
    inside = cwd == folder or cwd.startswith(folder.rstrip("/") + "/")
    return inside or fnmatch.fnmatchcase(cwd, folder)
