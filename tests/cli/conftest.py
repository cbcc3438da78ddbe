"""A home for each test, and one whose daemon has kept two conversations and stopped."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.process import Home, home, running_daemon

SESSION = "11111111-2222-4333-8444-555555555555"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def line(role: str, text: str, number: int) -> bytes:
    record = {
        "type": role,
        "uuid": f"00000000-0000-4000-8000-{number:012}",
        "sessionId": SESSION,
        "cwd": "/work/app",
        "timestamp": f"2026-02-03T10:00:{number:02}.000Z",
        "message": {"role": role, "content": text},
    }
    return json.dumps(record).encode() + b"\n"


TRANSCRIPT = (
    line("user", "Where is the heron? \x1b[31mred", 1)
    + line("assistant", f"By the river, with {SECRET}.", 2)
    + line("user", "And the otter?", 3)
)


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Iterator[Home]:
    with home(tmp_path) as place:
        yield place
        place.cli("stop")


@pytest.fixture(name="kept", scope="module")
def _kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with running_daemon(tmp_path_factory.mktemp("kept")) as place:
        (place.project / f"{SESSION}.jsonl").write_bytes(TRANSCRIPT)
        (place.project / "22222222-0000-4000-8000-000000000000.jsonl").write_bytes(b"")
        place.flush()
        assert place.stop() == 0
        yield place
