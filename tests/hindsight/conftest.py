"""The two servers, and homes whose daemon delivers to one of them without long waits."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from harness.process import Home, home
from hindsight.fake_hindsight import FakeHindsight, fake_hindsight
from hindsight.real_hindsight import SCRIPT, CannotStart, RealHindsight, real_hindsight

Place = Callable[..., AbstractContextManager[Home]]


@pytest.fixture(name="real", scope="session")
def _real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealHindsight]:
    if not SCRIPT.is_file():
        pytest.skip("the script that starts a real Hindsight server is not on this machine")
    try:
        with real_hindsight(tmp_path_factory.mktemp("hindsight")) as server:
            yield server
    except CannotStart as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"no real Hindsight server: {error}")


@pytest.fixture(name="fake")
def _fake() -> Iterator[FakeHindsight]:
    with fake_hindsight() as fake:
        yield fake


@pytest.fixture(name="place")
def _place(tmp_path: Path, fake: FakeHindsight) -> Iterator[Home]:
    """A home that delivers to the fake, with nothing started yet."""
    with home(tmp_path, **delivering(fake.url)) as place:
        yield place


def delivering(url: str, **more: str) -> dict[str, str]:
    """Return the settings with which a daemon delivers at once, and waits for nothing long."""
    settings = {
        "url": url,
        "idle_s": "0.05",
        "max_behind_s": "0.5",
        "poll_s": "0.05",
        "request_timeout_s": "5",
        **more,
    }
    return {f"RETAIND_MEMORY_HINDSIGHT_{name.upper()}": value for name, value in settings.items()}
