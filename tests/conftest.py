"""What holds for every test: homes whose daemons are forked, so that hundreds of starts fit into a run."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.process import Home
from harness.zygote import Zygote


def pytest_configure() -> None:
    """Let Ctrl-C end what the tests start, also where they run behind a shell that ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(name="zygote", scope="session")
def _zygote() -> Iterator[Zygote]:
    with Zygote() as zygote:
        yield zygote


@pytest.fixture(name="home")
def _home(tmp_path: Path, zygote: Zygote) -> Iterator[Home]:
    home = Home(tmp_path, zygote=zygote)
    yield home
    home.clean_up()
