"""Where retaind keeps its files, and where its socket is: one place for the daemon and the CLI.

The folders are those that platformdirs gives; they are computed here because importing it would cost
a short command a quarter of its time. RETAIND_STATE_DIR, RETAIND_CONFIG_FILE and RETAIND_SOCKET win.
"""

import json
import os
import shlex
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from retaind.errors import ConfigError, StateUnwritable

SOCKET_NAME = "ctl.sock"
SHARED_TEMPORARY = "/tmp"  # noqa: S108 - fixed on purpose: $TMPDIR differs between launchd and ssh


class Paths(NamedTuple):
    """Every path of one retaind. `socket` is where a daemon started now would listen."""

    state_dir: Path
    config_file: Path
    socket: Path
    log_dir: Path
    database: Path
    lock: Path


class Holder(NamedTuple):
    """What the running daemon wrote into the lock file; see `read_holder`."""

    pid: int
    socket: Path
    started: float
    version: str


def find_paths(environ: Mapping[str, str], platform: str = sys.platform) -> Paths:
    """Compute all paths; touches nothing but to ask whether the runtime folder exists and is ours.

    Raises ConfigError for an override that is not absolute, or a socket path that is too long.
    """
    home = Path(environ.get("HOME") or os.path.expanduser("~"))
    state = _override(environ, "RETAIND_STATE_DIR") or _state_dir(environ, platform, home)
    config = _override(environ, "RETAIND_CONFIG_FILE") or _config_file(environ, platform, home)
    return Paths(
        state_dir=state,
        config_file=config,
        socket=_socket(environ, platform, state),
        log_dir=_log_dir(environ, platform, state, home),
        database=state / "retaind.db",
        lock=state / "lock",
    )


def write_holder(descriptor: int, holder: Holder) -> None:
    """Replace the lock file's content; `descriptor` is open for writing and holds the lock."""
    text = json.dumps(holder._asdict() | {"socket": str(holder.socket)}) + "\n"
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, text.encode(), 0)


def read_holder(lock: Path) -> Holder | None:
    """Return what the last daemon wrote there, alive or not; None if nothing usable is there."""
    try:
        fields = json.loads(lock.read_bytes())
        return Holder(
            pid=int(fields["pid"]),
            socket=Path(fields["socket"]),
            started=float(fields["started"]),
            version=str(fields["version"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def control_socket(paths: Paths) -> Path:
    """Return where to reach the daemon: where it said so itself, else where it would listen."""
    holder = read_holder(paths.lock)
    return holder.socket if holder else paths.socket


def private_dir(path: Path, *, symlink_ok: bool = False) -> None:
    """Create a folder that only this user can enter, or make an existing one of ours private.

    Raises StateUnwritable for a folder that cannot be made, is not ours, is shared (sticky), or is a
    symbolic link; a link of ours to a folder of ours passes where `symlink_ok`.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        itself, found = path.lstat(), path.stat()
        if fault := _why_not_ours(itself, found, symlink_ok=symlink_ok):
            raise StateUnwritable(
                f"the folder {path} is not safe to use",
                why=fault,
                fix=_how_to_make_ours(path, itself, found),
            )
        if stat.S_IMODE(found.st_mode) & 0o077:
            path.chmod(0o700)
    except OSError as error:
        raise StateUnwritable(
            f"the folder {path} cannot be made or made private",
            why=error.strerror or type(error).__name__,
            fix="make its parent writable for this user, or set RETAIND_STATE_DIR",
        ) from error


def _why_not_ours(itself: os.stat_result, found: os.stat_result, *, symlink_ok: bool) -> str:
    if stat.S_ISLNK(itself.st_mode) and not symlink_ok:
        return "it is a symbolic link"
    if not stat.S_ISDIR(found.st_mode):
        return "it is not a folder"
    if {itself.st_uid, found.st_uid} != {os.geteuid()}:
        return f"it belongs to user {found.st_uid}"
    return "it is shared with other users" if found.st_mode & stat.S_ISVTX else ""


def _how_to_make_ours(path: Path, itself: os.stat_result, found: os.stat_result) -> str:
    """Return a fix that loses nothing: what the folder holds may be all that is kept."""
    is_link = stat.S_ISLNK(itself.st_mode)
    ours = {itself.st_uid, found.st_uid} == {os.geteuid()}
    if ours and not is_link and stat.S_ISDIR(found.st_mode):
        return f"chmod 700 {shlex.quote(str(path))}"
    return "set RETAIND_STATE_DIR and RETAIND_SOCKET to places in a folder of your own"


def socket_limit(platform: str = sys.platform) -> int:
    """Return how many bytes the system allows a socket's path to have."""
    return 103 if platform == "darwin" else 107


def _override(environ: Mapping[str, str], name: str) -> Path | None:
    text = environ.get(name, "")
    if not text:
        return None
    path = Path(text)
    if not path.is_absolute():
        raise ConfigError(f'{name} must be an absolute path, not "{text}"', fix=f"export {name}=/…")
    return path


def _xdg(environ: Mapping[str, str], name: str, default: Path) -> Path:
    """Return an XDG folder; the specification says to ignore a relative one."""
    text = environ.get(name, "").strip()
    return Path(text) if text.startswith("/") else default


def _state_dir(environ: Mapping[str, str], platform: str, home: Path) -> Path:
    if platform == "darwin":
        return home / "Library/Application Support/retaind"
    return _xdg(environ, "XDG_STATE_HOME", home / ".local/state") / "retaind"


def _config_file(environ: Mapping[str, str], platform: str, home: Path) -> Path:
    if platform == "darwin":
        return home / "Library/Application Support/retaind/config.toml"
    return _xdg(environ, "XDG_CONFIG_HOME", home / ".config") / "retaind/config.toml"


def _log_dir(environ: Mapping[str, str], platform: str, state: Path, home: Path) -> Path:
    if environ.get("RETAIND_STATE_DIR") or platform != "darwin":
        return state / "log"
    return home / "Library/Logs/retaind"


def _socket(environ: Mapping[str, str], platform: str, state: Path) -> Path:
    limit = socket_limit(platform)
    chosen = _override(environ, "RETAIND_SOCKET")
    if chosen:
        if len(os.fsencode(chosen)) > limit:
            raise ConfigError(
                f"RETAIND_SOCKET is {len(os.fsencode(chosen))} bytes long",
                why=f"this system allows {limit}",
                fix="set it to a shorter path",
            )
        return chosen
    candidates = [state / SOCKET_NAME, _shared_socket(environ, state)]
    # A state folder of one's own choice means a second daemon: it must not share a socket.
    shares = platform != "darwin" and not environ.get("RETAIND_STATE_DIR")
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    if shares and runtime.startswith("/") and _is_ours(Path(runtime)):
        candidates.insert(0, Path(runtime) / "retaind" / SOCKET_NAME)
    return next(path for path in candidates if len(os.fsencode(path)) <= limit)


def _shared_socket(environ: Mapping[str, str], state: Path) -> Path:
    folder = Path(SHARED_TEMPORARY) / f"retaind-{os.geteuid()}"
    if not environ.get("RETAIND_STATE_DIR"):
        return folder / SOCKET_NAME
    import zlib

    return folder / f"ctl-{zlib.crc32(os.fsencode(state)):08x}.sock"


def _is_ours(folder: Path) -> bool:
    try:
        found = folder.stat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
