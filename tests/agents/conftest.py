"""The agent's program, once for all tests; and for each test a lab of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from agents.claude import installed_program
from agents.lab import Lab, running_lab


@pytest.fixture(name="program", scope="session")
def _program() -> Path:
    return installed_program()


@pytest.fixture(name="lab")
def _lab(tmp_path: Path, program: Path) -> Iterator[Lab]:
    with running_lab(tmp_path, program, tmp_path / ".claude") as lab:
        yield lab
