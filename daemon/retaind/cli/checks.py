"""What `doctor` looks at. Each check only reads, and works with and without a running daemon."""

import os
import shlex
import shutil
import sqlite3
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retaind import __version__
from retaind.cli import client, context
from retaind.cli.check import Check
from retaind.cli.locking import is_locked
from retaind.cli.output import counted, number, short_path, size
from retaind.errors import ConfigError, NotRunning, RetaindError
from retaind.paths import Paths, control_socket, socket_limit
from retaind.runtime.tokenizing import counter
from retaind.runtime.unreadable import PERMISSION

if TYPE_CHECKING:
    from retaind.config import Settings

_LEAST_FREE_BYTES = 500_000_000
_FEW_WATCHES = 8192
PRIVATE_MODE = 0o600
_WATCHES = Path("/proc/sys/fs/inotify/max_user_watches")


def all_checks(paths: Paths) -> Iterator[Check]:
    """Look at everything, one thing after another."""
    yield Check("python", "ok", f"{sys.version.split()[0]} at {short_path(sys.executable)}")
    yield _configuration(paths)
    yield from _state(paths)
    yield from _service()
    status = _status(paths)
    yield from _daemon(paths, status)
    yield from _server(status)
    yield from _roots()
    yield from _agents()
    if sys.platform == "linux":
        yield _watches()
    yield _privacy()


def _configuration(paths: Paths) -> Check:
    try:
        counter(context.settings().metering.tokenizer)
    except ConfigError as error:
        return Check("configuration", "fail", error.what, error.fix)
    exists = paths.config_file.exists()
    return Check(
        "configuration", "ok", short_path(str(paths.config_file)) if exists else "no file: defaults"
    )


def _state(paths: Paths) -> Iterator[Check]:
    folder = short_path(str(paths.state_dir))
    try:
        found = paths.state_dir.stat()
    except FileNotFoundError:
        yield Check("state", "warn", f"{folder} does not exist yet", "retaind start")
        return
    except OSError as error:
        yield Check("state", "fail", f"{folder}: {error.strerror}", "set RETAIND_STATE_DIR")
        return
    mode = stat.S_IMODE(found.st_mode)
    if found.st_uid != os.geteuid() or mode & 0o077:
        yield Check("state", "fail", f"{folder} has mode {mode:04o}", f"chmod 700 {folder}")
    else:
        yield Check("state", "ok", f"{folder}, private")
    free = shutil.disk_usage(paths.state_dir).free
    low = free < _LEAST_FREE_BYTES
    yield Check(
        "disk", "warn" if low else "ok", f"{size(free)} free", "free some space" if low else ""
    )
    if paths.database.exists():
        yield _database(paths)


def _database(paths: Paths) -> Check:
    try:
        with context.reader() as connection:
            answer = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    except (RetaindError, sqlite3.Error) as error:
        return Check("database", "fail", str(error), "retaind restart sets it aside and rebuilds")
    if answer != "ok":
        return Check(
            "database", "fail", "it is damaged", "retaind restart sets it aside and rebuilds"
        )
    return Check("database", "ok", f"{size(_database_bytes(paths.database))}, sound")


def _database_bytes(database: Path) -> int:
    """Return the size of the database with its log, in which the newest of it may lie."""
    total = database.stat().st_size
    with suppress(FileNotFoundError):
        total += database.with_name(f"{database.name}-wal").stat().st_size
    return total


def _service() -> Iterator[Check]:
    import retaind_service

    manager = retaind_service.manager()
    if manager.kind == "none":
        yield Check("service", "warn", "no service manager: it will not start by itself",
                    "run `retaind start` when you log in")  # fmt: skip
        return
    if not manager.installed():
        yield Check("service", "warn", f"not installed in {manager.kind}", "./install.sh")
        return
    found = manager.state()
    restarts = f", restarted {found.restarts} times" if found.restarts else ""
    healthy = found.activity in {"running", "starting"}
    yield Check(
        "service",
        "ok" if healthy else "warn",
        f"{manager.kind}: {found.activity}{restarts}",
        "" if healthy else "retaind start; retaind logs",
    )
    if not found.enabled:
        yield Check("service", "warn", "not started at login", "./install.sh")


def _daemon(paths: Paths, status: dict[str, Any] | None) -> Iterator[Check]:
    try:
        version = str(client.root(paths)["version"])
    except NotRunning:
        stuck = is_locked(paths)
        detail = "a process holds the lock, but does not answer" if stuck else "not running"
        yield Check(
            "daemon",
            "fail" if stuck else "warn",
            detail,
            "retaind restart" if stuck else "retaind start",
        )
        return
    except RetaindError as error:
        yield Check("daemon", "fail", error.what, "retaind logs; then retaind restart")
        return
    same = version == __version__
    yield Check(
        "daemon",
        "ok" if same else "warn",
        f"answers, version {version}" + ("" if same else f", but this command is {__version__}"),
        "" if same else "retaind restart",
    )
    yield _socket(control_socket(paths))
    if status and (trouble := status.get("last_error")):
        yield Check("daemon", "warn", str(trouble), _fix(status))


def _fix(status: dict[str, Any]) -> str:
    """Say what helps against the trouble that a status tells of."""
    closed = (status.get("watch") or {}).get("unreadable") or ()
    for one in closed:
        if one["why"] == PERMISSION:
            return (
                f"let the user who runs retaind read it: chmod -R u+rX {shlex.quote(one['path'])}"
            )
    return "retaind logs"


def _server(status: dict[str, Any] | None) -> Iterator[Check]:
    from retaind.cli.server_check import server_checks

    hindsight = _settings().hindsight
    return server_checks(hindsight.url if hindsight.enabled else None, status)


def _status(paths: Paths) -> dict[str, Any] | None:
    """Return what the daemon says of itself; None where none answers."""
    try:
        found: dict[str, Any] = client.get(paths, "status")
    except RetaindError:
        return None
    return found


def _socket(path: Path) -> Check:
    mode = stat.S_IMODE(path.stat().st_mode)
    length = len(os.fsencode(path))
    if mode != PRIVATE_MODE:
        return Check("socket", "fail", f"{path} has mode {mode:04o}", "retaind restart")
    return Check("socket", "ok", f"{short_path(str(path))}, {length} of {socket_limit()} bytes")


def _roots() -> Iterator[Check]:
    from retaind.runtime.roots import TRANSCRIPTS

    for root in _watched():
        name = short_path(str(root))
        try:
            count = sum(1 for _ in os.scandir(root / TRANSCRIPTS))
        except FileNotFoundError:
            yield Check("root", "ok", f"{name} has no transcripts yet; it is waited for")
        except OSError as error:
            yield Check("root", "fail", f"{name}: {error.strerror}",
                        f"let {sys.executable} read it")  # fmt: skip
        else:
            yield Check("root", "ok", f"{name}, {counted(count, 'project')}")


def _agents() -> Iterator[Check]:
    from retaind.cli.agent_checks import agent_checks

    return agent_checks(_watched(), sends_to_hindsight=_settings().hindsight.enabled)


def _watched() -> tuple[Path, ...]:
    from retaind.runtime.reported import reported_folders
    from retaind.runtime.roots import claude_roots

    told = reported_folders(context.paths().state_dir)
    home = Path(os.path.expanduser("~"))
    return claude_roots(home, os.environ, _settings().roots.claude_code, told)


def _settings() -> "Settings":
    """Return the settings in force; a broken configuration, which has its own line, gives the defaults."""
    from retaind.config import Settings

    try:
        return context.settings()
    except ConfigError:
        return Settings()


def _watches() -> Check:
    try:
        limit = int(_WATCHES.read_text())
    except (OSError, ValueError):
        return Check("watcher", "warn", "the limit of inotify watches is unknown")
    if limit < _FEW_WATCHES:
        return Check(
            "watcher",
            "warn",
            f"only {number(limit)} inotify watches are allowed; scans go on without",
            "sudo sysctl fs.inotify.max_user_watches=65536",
        )
    return Check("watcher", "ok", f"up to {number(limit)} inotify watches are allowed")


def _privacy() -> Check:
    return Check(
        "privacy",
        "ok",
        "the vault keeps exact bytes, secrets included; what is searched or sent is redacted",
    )
