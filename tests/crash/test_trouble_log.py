"""A trouble that lasts is logged when it begins and when it ends, not at each new try."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.process import Home, wait_until
from harness.rig import lines


@pytest.fixture(name="small")
def _small(home: Home) -> Iterator[Path]:
    """Give the state folder a file system of 6 MB."""
    home.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=6m,mode=700", "tmpfs", str(home.state)]
    if os.geteuid() != 0 or subprocess.run(mount, check=False).returncode != 0:
        pytest.skip("a small file system can be mounted by root only")
    yield home.state
    subprocess.run(["umount", "-l", home.state], check=True)


def test_a_full_disk_is_logged_once_when_it_begins_and_once_when_it_ends(
    home: Home, small: Path
) -> None:
    (home.project / "a.jsonl").write_bytes(lines(1, 9))
    home.start()
    home.flush()
    with (small / "filler").open("wb", buffering=0) as file:
        while _written(file.fileno()):
            pass
    big = b"".join(os.urandom(400).hex().encode() + b"\n" for _ in range(2000))
    (home.project / "b.jsonl").write_bytes(big)
    wait_until(lambda: home.status()["last_error"], "it is said")
    for _ in range(3):  # each of them tries again
        home.ask("POST", "/v1/flush", {"timeout_s": 5})
    (small / "filler").unlink()
    home.flush()
    wait_until(lambda: home.status()["state"] == "running", "it is over")

    logged = home.log.read_text()
    assert home.stop() == 0
    assert logged.count("trouble_began") == 1
    assert logged.count("trouble_ended") == 1


def _written(descriptor: int) -> int:
    try:
        return os.write(descriptor, b"x" * 4096)
    except OSError:
        return 0
