"""What a checkout would install, told apart from what is installed by its content."""

import hashlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from retaind_service.port import ServiceError

_PACKAGES = ("daemon/retaind", "service/retaind_service")
_VERSION_FILE = "daemon/retaind/__init__.py"
_VERSION = re.compile(r'^__version__ = "([0-9A-Za-z.+!-]+)"$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Checkout:
    """`version` as the sources state it; `sha256` over the sources and the kind of interpreter."""

    version: str
    sha256: str


def read(folder: Path) -> Checkout:
    """Read the checkout in `folder`; raises ServiceError when it is none."""
    digest = hashlib.sha256()
    digest.update(f"{sys.implementation.cache_tag} {sys.base_prefix}\0".encode())
    try:
        found = _VERSION.search((folder / _VERSION_FILE).read_text(encoding="utf-8"))
        for path in _sources(folder):
            content = path.read_bytes()
            digest.update(f"{path.relative_to(folder)}\0{len(content)}\0".encode())
            digest.update(content)
    except OSError as error:
        raise _no_checkout(folder, f"{error.filename}: {error.strerror}") from error
    if found is None:
        raise _no_checkout(folder, f"{_VERSION_FILE} states no version")
    return Checkout(found[1], digest.hexdigest())


def _sources(folder: Path) -> Iterator[Path]:
    yield folder / "pyproject.toml"
    for package in _PACKAGES:
        for path in sorted((folder / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def _no_checkout(folder: Path, why: str) -> ServiceError:
    return ServiceError(
        f"{folder} is no checkout of retaind",
        why=why,
        fix="run the install.sh that lies in a complete checkout",
    )
