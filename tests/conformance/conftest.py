"""Homes whose daemons are forked, so that hundreds of starts fit into a test run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.process import Home
from harness.zygote import Zygote


@pytest.fixture(name="zygote", scope="session")
def _zygote() -> Iterator[Zygote]:
    with Zygote() as zygote:
        yield zygote


@pytest.fixture(name="home")
def _home(tmp_path: Path, zygote: Zygote) -> Iterator[Home]:
    home = Home(tmp_path, zygote=zygote)
    yield home
    home.clean_up()
