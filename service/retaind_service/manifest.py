"""The record of what an installation placed, so that exactly this can be taken away again.

It is JSON with one path a line, so that a shell can also read it when no Python is left.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from retaind_service.files import place, sha256
from retaind_service.port import Kind, ServiceError


@dataclass(frozen=True, slots=True)
class Manifest:
    """`files` maps a path to the hash of its content, or to "" for a link.

    `checkout_sha256` tells what was installed; `linger` is True only where the installer set it.
    `extras` are the names of what was installed beyond the necessary, with commas between them.
    """

    version: str
    checkout_sha256: str
    python: Path
    manager: Kind
    linger: bool
    state_dir: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[Path, str] = field(default_factory=dict)
    extras: str = ""


def load(path: Path) -> Manifest | None:
    """Read the manifest; None where there is none, or none that makes sense."""
    try:
        raw = json.loads(path.read_bytes())
        return Manifest(
            version=str(raw["version"]),
            checkout_sha256=str(raw["checkout_sha256"]),
            python=Path(raw["python"]),
            manager=raw["manager"],
            linger=bool(raw["linger"]),
            state_dir=Path(raw["state_dir"]),
            environment={str(name): str(value) for name, value in raw["environment"].items()},
            files={Path(entry["path"]): str(entry["sha256"]) for entry in raw["files"]},
            extras=str(raw.get("extras", "")),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def save(path: Path, manifest: Manifest) -> bool:
    """Write the manifest, and return whether that changed anything. Raises ServiceError."""
    facts = {
        "version": manifest.version,
        "checkout_sha256": manifest.checkout_sha256,
        "python": str(manifest.python),
        "manager": manifest.manager,
        "linger": manifest.linger,
        "extras": manifest.extras,
        "state_dir": str(manifest.state_dir),
        "environment": dict(manifest.environment),
    }
    entries = [{"path": str(file), "sha256": digest} for file, digest in manifest.files.items()]
    head = json.dumps(facts, indent=2, ensure_ascii=False).removesuffix("\n}")
    lines = ",\n".join(f"    {json.dumps(entry, ensure_ascii=False)}" for entry in entries)
    text = f'{head},\n  "files": [\n{lines}\n  ]\n}}\n'
    return place(path, text.encode(), mode=0o600, known_sha256=_hash_of(path)).changed


def hashes(files: tuple[Path, ...]) -> dict[Path, str]:
    """Return the entry of each of `files` for a manifest; raises ServiceError if one is missing."""
    return {file: "" if file.is_symlink() else _hash_of(file) or _missing(file) for file in files}


def _hash_of(path: Path) -> str | None:
    try:
        return sha256(path.read_bytes())
    except OSError:
        return None


def _missing(path: Path) -> str:
    raise ServiceError(f"{path} is gone", why="it was just installed", fix="./install.sh")
