"""A fresh home folder, and install.sh run in it as its owner would, with no service manager near."""

import contextlib
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
BASE_PYTHON = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
TRANSCRIPT = ".claude/projects/-work/0f5c2f0e-5d0c-4b3c-9a43-3d1f4e2b7a10.jsonl"
LINE = {
    "type": "user",
    "uuid": "6e3b1f0a-0000-4000-8000-000000000001",
    "sessionId": "0f5c2f0e-5d0c-4b3c-9a43-3d1f4e2b7a10",
    "cwd": "/work",
    "timestamp": "2026-01-02T03:04:05.000Z",
    "message": {"role": "user", "content": "the quick brown fox"},
}
NO_MANAGER = "#!/bin/sh\necho offline\nexit 1\n"
# Where this machine's pip finds packages, whatever HOME is.
PIP = {
    name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_"))
}


class Home:
    """One user: a home folder, a PATH with programs of the test's own first, and what is installed."""

    def __init__(self, folder: Path, checkout: Path = REPOSITORY) -> None:
        self.checkout = checkout
        self.path = folder / "home"
        self.programs = folder / "programs"
        self.share = self.path / ".local/share/retaind"
        self.bin = self.path / ".local/bin"
        self.state = self.path / ".local/state/retaind"
        self.path.mkdir()
        self.programs.mkdir()
        self.program("systemctl", NO_MANAGER)
        self.program("loginctl", NO_MANAGER)
        usual = Path.home()
        self.environ = {
            **PIP,
            "HOME": str(self.path),
            "PATH": f"{self.programs}:{os.environ['PATH']}",
            "PIP_CONFIG_FILE": PIP.get("PIP_CONFIG_FILE", str(usual / ".config/pip/pip.conf")),
            "PIP_CACHE_DIR": PIP.get("PIP_CACHE_DIR", str(usual / ".cache/pip")),
        }

    def program(self, name: str, text: str) -> None:
        """Put a program before all others on PATH."""
        path = self.programs / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    def install(
        self,
        *options: str,
        checkout: Path | None = None,
        python: Path = BASE_PYTHON,
        **environ: str,
    ) -> subprocess.CompletedProcess[str]:
        """Run a checkout's install.sh with this Python, and return how it ended."""
        script = (checkout or self.checkout) / "install.sh"
        return self.run(script, "--python", str(python), *options, **environ)

    def run(self, *argv: str | Path, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            argv,
            env=self.environ | environ,
            cwd=self.path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def retaind(self, *words: str) -> Any:
        """Ask the installed command for facts; nothing where it does not answer."""
        told = self.run(self.bin / "retaind", *words, "--json")
        return json.loads(told.stdout) if told.returncode == 0 else None

    def daemon(self) -> int | None:
        """Return the process of the daemon that answers, if one does."""
        if not (self.bin / "retaind").exists():
            return None
        status = self.retaind("status")
        return int(status["pid"]) if status else None

    def running(self) -> list[int]:
        """Return the processes that run from this home."""
        return [pid for pid, words in _processes() if os.fsencode(self.share) in words]

    def digest(self, *folders: Path) -> str:
        """Return a hash over every name, mode, content and time below `folders`."""
        found = hashlib.sha256()
        for folder in folders or (self.path,):
            for path in sorted(folder.rglob("*")):
                about = path.lstat()
                found.update(f"{path} {about.st_mode:o}\0".encode())
                if path.is_symlink():
                    found.update(str(path.readlink()).encode())
                elif path.is_file():
                    found.update(str(about.st_mtime_ns).encode() + path.read_bytes())
        return found.hexdigest()

    def names(self) -> list[str]:
        """Return the installed versions' folders."""
        return sorted(path.name for path in (self.share / "versions").iterdir())


def _processes() -> Iterator[tuple[int, bytes]]:
    if not Path("/proc/self/cmdline").exists():
        listed = subprocess.run(["ps", "-axo", "pid=,command="], capture_output=True, check=True)
        yield from ((int(line.split()[0]), line) for line in listed.stdout.splitlines())
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            yield int(entry.parent.name), entry.read_bytes()


def copy_checkout(folder: Path) -> Path:
    """Copy what installing needs: for a test to change, and lest an editor changes it meanwhile."""
    folder.mkdir(exist_ok=True)
    for name in ("daemon", "service"):
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(REPOSITORY / name, folder / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE", "install.sh"):
        shutil.copy2(REPOSITORY / name, folder / name)
    return folder


def python_without(folder: Path, *names: str) -> Path:
    """Build an interpreter whose library lacks some parts, as distributions package them apart."""
    library = Path(sys.base_prefix) / "lib"
    version = BASE_PYTHON.name
    python = folder / "bin" / version
    python.parent.mkdir(parents=True)
    shutil.copy2(BASE_PYTHON.resolve(), python)
    (folder / "lib" / version).mkdir(parents=True)
    for entry in (*library.iterdir(), *(library / version).iterdir()):
        if entry.name not in {version, *names}:
            (folder / "lib" / entry.relative_to(library)).symlink_to(entry)
    return python
