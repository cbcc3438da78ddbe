"""Which folders hold transcripts. Folders that do not exist yet are waited for."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from os.path import realpath
from pathlib import Path
from stat import S_ISDIR

TRANSCRIPTS = "projects"
"""The folder below each of Claude Code's folders that holds a folder per project."""


def claude_roots(
    home: Path,
    environ: Mapping[str, str],
    configured: Sequence[str],
    reported: Sequence[str] = (),
) -> tuple[Path, ...]:
    """Return Claude Code's folders (the ones that hold `projects/`), each real folder once.

    CLAUDE_CONFIG_DIR, ~/.claude and the configured ones are there whether they exist or not;
    ~/.claude-*, ~/.config/claude and those that hooks reported only if they hold `projects/`. The order is
    of that text.
    """
    told = [path for path in map(Path, reported) if _holds_transcripts(path)]
    candidates = [*_named(home, environ, configured), *_found(home), *told]
    return tuple(_once(candidates))


def _named(home: Path, environ: Mapping[str, str], configured: Sequence[str]) -> Iterator[Path]:
    own = environ.get("CLAUDE_CONFIG_DIR", "")
    if own:
        yield _expanded(own, home)
    yield home / ".claude"
    for folder in configured:
        yield _expanded(folder, home)


def _expanded(folder: str, home: Path) -> Path:
    """Put the home for `~`; users name the folder itself or its `projects/`."""
    path = home / folder[2:] if folder.startswith("~/") else home / folder
    return path.parent if path.name == TRANSCRIPTS else path


def _found(home: Path) -> Iterator[Path]:
    try:
        names = sorted(home.glob(".claude-*"))
    except OSError:
        names = []
    for path in (*names, home / ".config" / "claude"):
        if _holds_transcripts(path):
            yield path


def _holds_transcripts(path: Path) -> bool:
    """Say so too of a folder that may not be looked into: the daemon then reports the permission."""
    try:
        return S_ISDIR((path / TRANSCRIPTS).stat().st_mode)
    except PermissionError:
        return True
    except OSError:
        return False


def _once(paths: Iterable[Path]) -> Iterator[Path]:
    seen: set[str] = set()
    for path in paths:
        real = realpath(path)
        if real not in seen:
            seen.add(real)
            yield path
