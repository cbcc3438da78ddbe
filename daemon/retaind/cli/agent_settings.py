"""Claude Code's settings.json as retaind edits it: whole, in place, and never guessing at what is broken."""

import json
import os
import stat
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from retaind.errors import ConfigError, RetaindError

FILE_NAME: Final = "settings.json"
BACKUP_SUFFIX: Final = ".before-retaind"
_INDENT: Final = 2
_TRIES: Final = 3
_NEW_MODE: Final = 0o600

Json = dict[str, Any]
Edit = Callable[[Json], Json]


class _Read(NamedTuple):
    """The file as it was read: where it really is, its bytes, and what they say."""

    path: Path
    data: bytes | None
    settings: Json


def read(folder: Path) -> Json:
    """Return the settings of a folder of Claude Code; {} without a file.

    Raises ConfigError, which names the place and the fix, for what is not a JSON object.
    """
    return _read(folder).settings


def change(folder: Path, edit: Edit, *, copy: bool = True) -> bool:
    """Replace the settings by what `edit` makes of them, in one step; says whether anything changed.

    The first time, the file as it was is kept beside it, where `copy`. A link is followed, so that what
    it points to changes. If the file changes meanwhile, it is read again.
    """
    for _ in range(_TRIES):
        found = _read(folder)
        wanted = edit(found.settings)
        if wanted == found.settings:
            return False
        if _replace(found, wanted, copy=copy):
            return True
    raise RetaindError(
        f"{found.path} changes all the time", why="another program writes it", fix="try again"
    )


def undo(folder: Path, edit: Edit) -> bool:
    """Change the settings as `change` does, and take away what the first change added beside them.

    That is the copy, once the settings equal it again: it takes its place back. And it is a file that
    then says nothing and of which there is no copy, for then there was none before.
    """
    changed = change(folder, edit, copy=False)
    found = _read(folder)
    backup = Path(f"{found.path}{BACKUP_SUFFIX}")
    kept = _bytes(backup)
    if kept is None:
        is_link = (folder / FILE_NAME).is_symlink()
        if changed and not found.settings and not is_link and _bytes(found.path) == found.data:
            found.path.unlink(missing_ok=True)
    elif _parsed(kept) == found.settings:
        if changed and found.data is not None and _bytes(found.path) == found.data:
            backup.chmod(stat.S_IMODE(found.path.stat().st_mode))
            backup.replace(found.path)  # the very bytes that were there, with their spaces
        else:
            backup.unlink(missing_ok=True)
    return changed


def _parsed(data: bytes) -> object:
    try:
        return json.loads(data.decode("utf-8-sig")) if data.strip() else {}
    except ValueError:
        return None


def hooks_of(settings: Mapping[str, Any]) -> Mapping[str, list[Any]]:
    """Return the lists of matchers by event, as far as they have that form."""
    hooks = settings.get("hooks")
    if not isinstance(hooks, dict):
        return {}
    return {event: groups for event, groups in hooks.items() if isinstance(groups, list)}


def _read(folder: Path) -> _Read:
    path = Path(os.path.realpath(folder / FILE_NAME))
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return _Read(path, None, {})
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read",
            why=error.strerror or "",
            fix="make it a file that you can read",
        ) from None
    if not data.strip():
        return _Read(path, data, {})
    try:
        settings = json.loads(data.decode("utf-8-sig"), object_pairs_hook=_once)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path}:{line}: this is not UTF-8", fix="save it as UTF-8") from None
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"{path}:{error.lineno}:{error.colno}: this is not JSON",
            why=error.msg,
            fix="mend the line (no comments, no comma behind the last entry); nothing was changed",
        ) from None
    except _Twice as twice:
        raise ConfigError(
            f'{path}: the key "{twice}" is there twice', fix="remove one; nothing was changed"
        ) from None
    return _Read(path, data, _checked(settings, path))


class _Twice(ValueError):
    """A key that is there twice: rewriting would lose one of them."""


def _once(pairs: list[tuple[str, Any]]) -> Json:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(next(name for name in names if names.count(name) > 1))
    return found


def _checked(settings: Any, path: Path) -> Json:
    """Refuse what does not have the form of settings with hooks."""
    if not isinstance(settings, dict):
        raise ConfigError(f"{path} is no JSON object", fix='it must start with "{"')
    hooks = settings.get("hooks", {})
    if not isinstance(hooks, dict):
        raise ConfigError(f'{path}: "hooks" is no object', fix='write "hooks": {} or remove it')
    for event, groups in hooks.items():
        if not isinstance(groups, list):
            raise ConfigError(f'{path}: "hooks"."{event}" is no list', fix="write [] or remove it")
    return settings


def _replace(found: _Read, wanted: Json, *, copy: bool) -> bool:
    """Write the new settings beside the file, and put them in its place; False if it changed meanwhile."""
    path = found.path
    path.parent.mkdir(parents=True, exist_ok=True)
    mode = _NEW_MODE
    if found.data is not None:
        mode = stat.S_IMODE(path.stat().st_mode)
        if copy:
            _back_up(path, found.data, mode)
    text = json.dumps(wanted, ensure_ascii=False, indent=_indent(found.data)) + "\n"
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        if _bytes(path) != found.data:
            return False
        Path(name).replace(path)
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()
    return True


def _back_up(path: Path, data: bytes, mode: int) -> None:
    """Keep the file as it was before retaind first changed it."""
    with suppress(FileExistsError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with open(os.open(f"{path}{BACKUP_SUFFIX}", flags, mode), "wb") as kept:
            kept.write(data)


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _indent(data: bytes | None) -> int | str:
    """Return how the file's own author indents: by the first indented line."""
    for line in (data or b"").splitlines():
        stripped = line.lstrip(b" \t")
        if stripped and len(stripped) < len(line):
            lead = line[: len(line) - len(stripped)].decode()
            return "\t" if "\t" in lead else len(lead)
    return _INDENT
