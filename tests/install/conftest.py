"""The homes that the installer's tests work in."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from install.user_home import LINE, TRANSCRIPT, Home, copy_checkout


@pytest.fixture
def fresh(tmp_path: Path) -> Home:
    """A home in which nothing has happened yet."""
    return Home(tmp_path)


@pytest.fixture(scope="session")
def used(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home with one transcript, in which tests install; it is emptied at the end."""
    checkout = copy_checkout(tmp_path_factory.mktemp("checkout"))
    home = Home(tmp_path_factory.mktemp("used"), checkout)
    transcript = home.path / TRANSCRIPT
    transcript.parent.mkdir(parents=True)
    transcript.write_text(json.dumps(LINE) + "\n", encoding="utf-8")
    yield home
    home.install("--uninstall", "--purge")
    assert home.running() == []


@pytest.fixture
def installed(used: Home) -> Home:
    """The used home with retaind installed and running, whatever the test before left there."""
    if used.daemon() is None:
        done = used.install()
        assert done.returncode == 0, (done.stdout, done.stderr)
    return used
