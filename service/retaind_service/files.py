"""Placing a file of ours where the user may also have edited it."""

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

from retaind_service.port import Installed, ServiceError


def sha256(content: bytes) -> str:
    """Return the hash by which the manifest knows a file's content."""
    return hashlib.sha256(content).hexdigest()


def place(
    path: Path, content: bytes, *, mode: int = 0o644, known_sha256: str | None = None
) -> Installed:
    """Write `content` to `path` by way of a temporary file, only if it differs.

    A file with other content than ours, and other than what was installed last (`known_sha256`), was
    edited by the user: it is kept beside as `.bak`. Raises ServiceError when it cannot be written.
    """
    try:
        old = path.read_bytes() if path.exists() else None
        if old == content:
            return Installed(path, changed=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        backup = None
        if old is not None and sha256(old) != known_sha256:
            backup = path.with_name(path.name + ".bak")
            _write(backup, old, mode)
        _write(path, content, mode)
    except OSError as error:
        raise ServiceError(
            f"cannot write {path}",
            why=error.strerror or str(error),
            fix=f"make {error.filename or path.parent} writable for you, then run install.sh again",
        ) from error
    return Installed(path, changed=True, backup=backup)


def _write(path: Path, content: bytes, mode: int) -> None:
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
