"""The Unix socket itself: a private place, no live socket taken over, no other user served."""

import os
import socket
import stat
import struct
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
from anyio.abc import ByteStream, SocketAttribute, SocketListener

from retaind.errors import AlreadyRunning, StateUnwritable
from retaind.paths import private_dir

_ANSWER_S = 2.0


@asynccontextmanager
async def listen(path: Path, state_dir: Path) -> AsyncIterator[SocketListener]:
    """Listen at `path`; the caller holds the lock on the state directory.

    A socket that nobody listens on is replaced, and on exit ours is removed, unless it was replaced. It
    appears under its name only once it listens: who finds it is never refused.
    Raises AlreadyRunning if somebody answers there, and StateUnwritable if the place is not safe.
    """
    _check_folder(path.parent, state_dir)
    await anyio.to_thread.run_sync(_remove_stale, path)
    unready = path.with_name(path.name[:-1] + "~")  # as long as the name: a longer one may not fit
    try:
        listener = await anyio.create_unix_listener(unready, mode=0o600)
        os.rename(unready, path)
    except OSError as error:
        raise StateUnwritable(
            f"the control socket {path} cannot be made",
            why=error.strerror or str(error),
            fix="set RETAIND_SOCKET to a path in a folder of yours",
        ) from error
    ours = _identity(path)
    try:
        async with listener:
            yield listener
    finally:
        _remove_ours(path, ours)


def peer_uid(stream: ByteStream) -> int | None:
    """Return the user at the other end, as the kernel says; None if it does not."""
    peer = stream.extra(SocketAttribute.raw_socket)  # noqa: S610 - anyio's extra, not Django's
    try:
        if sys.platform == "darwin":
            # LOCAL_PEERCRED gives a struct xucred, which starts with a version and the uid.
            return int(struct.unpack_from("=II", peer.getsockopt(0, 0x001, 76))[1])
        credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return int(struct.unpack("=iII", credentials)[1])
    except OSError:
        return None


def may_ask(uid: int | None) -> bool:
    """Say whether a user may use this daemon: its own, and root."""
    return uid is not None and uid in {0, os.geteuid()}


def _check_folder(folder: Path, state_dir: Path) -> None:
    """Refuse a folder where somebody else could put a socket in the place of ours."""
    if folder == state_dir or not os.path.lexists(folder):
        private_dir(folder, symlink_ok=folder == state_dir)
        return
    found = folder.lstat()
    fault = ""
    if not stat.S_ISDIR(found.st_mode):
        fault = "it is a symbolic link" if stat.S_ISLNK(found.st_mode) else "it is not a folder"
    elif found.st_uid != os.geteuid():
        fault = f"it belongs to user {found.st_uid}"
    elif found.st_mode & 0o022:
        fault = f"others may write in it (mode {stat.S_IMODE(found.st_mode):04o})"
    if fault:
        raise StateUnwritable(
            f"the control socket cannot be in {folder}",
            why=fault,
            fix=f"chmod 700 {folder}, or set RETAIND_SOCKET elsewhere",
        )


def _remove_stale(path: Path) -> None:
    if not os.path.lexists(path):
        return
    if not stat.S_ISSOCK(path.lstat().st_mode):
        raise StateUnwritable(
            f"{path} is in the way of the control socket",
            why="it is not a socket",
            fix=f"move {path} away",
        )
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_ANSWER_S)
        try:
            probe.connect(os.fspath(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
        except OSError:
            pass  # busy or not ours to ask: alive, as far as anyone can tell
    raise AlreadyRunning(
        f"another daemon listens on {path}",
        why="it has another state directory",
        fix="stop it, or set RETAIND_SOCKET to another path",
    )


def _remove_ours(path: Path, ours: tuple[int, int] | None) -> None:
    if ours is not None and _identity(path) == ours:
        with suppress(OSError):
            path.unlink()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
