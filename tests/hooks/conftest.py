"""A home with conversations that the daemon has retained, and the program of the agent that is driven."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agents.claude import installed_program
from agents.lab import running_lab
from harness.process import Home, home, running_daemon
from hooks.events import HERON, WEIR, Hooked, said
from hooks.hooked_lab import HookedLab


@pytest.fixture(name="place")
def _place(tmp_path: Path) -> Iterator[Home]:
    with home(tmp_path) as place:
        yield place


@pytest.fixture(name="hooked")
def _hooked(tmp_path: Path) -> Iterator[Hooked]:
    with _remembering(tmp_path) as hooked:
        yield hooked


@pytest.fixture(name="shared", scope="module")
def _shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hooked]:
    """One for all tests that only ask; what a session was given is remembered from test to test."""
    with _remembering(tmp_path_factory.mktemp("shared")) as hooked:
        tests = said(
            "t", "run the tests again", "The tests are good, I commit the bread of the day."
        )
        hooked.write("44444444-0000-4000-8000-000000000004", tests)
        hooked.home.flush()
        yield hooked


@contextmanager
def _remembering(folder: Path) -> Iterator[Hooked]:
    with running_daemon(folder) as place:
        hooked = Hooked(place)
        hooked.write(HERON, said(HERON, "Where does the heron nest?", "By the old weir."))
        hooked.write(
            WEIR, said(WEIR, "Who mends the weir?", "The miller mends the weir.", cwd="/work/mill")
        )
        place.flush()
        yield hooked


@pytest.fixture(name="program", scope="session")
def _program() -> Path:
    return installed_program()


@pytest.fixture(name="lab")
def _lab(tmp_path: Path, program: Path) -> Iterator[HookedLab]:
    with running_lab(tmp_path, program, tmp_path / ".claude") as lab:
        yield HookedLab.of(lab)
