"""install.sh where a real systemd user manager answers: the service it leaves behind, and takes away."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from install.machine import HOME, PYTHON, UserManager, user_manager
from install.user_home import BASE_PYTHON, PIP, Home, copy_checkout

UNIT = HOME / ".config/systemd/user/retaind.service"
SHARE = HOME / ".local/share/retaind"

pytestmark = pytest.mark.timeout(300)


class Account:
    """The account inside, a checkout it installs from, and the wheels that the checkout needs."""

    def __init__(self, machine: UserManager, checkout: Path, wheels: Path) -> None:
        self.machine = machine
        self.checkout = checkout
        self._options = ("--python", str(BASE_PYTHON), "--offline", str(wheels))

    def install(
        self, *options: str, checkout: Path | None = None, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        script = (checkout or self.checkout) / "install.sh"
        return self.machine.run(script, *self._options, *options, check=False, **environ)

    def status(self) -> Any:
        told = self.machine.run(PYTHON, "-I", "-m", "retaind", "status", "--json")
        return json.loads(told.stdout)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Prepare a checkout, one whose daemon ends at once, and the wheels, as --help says."""
    folder = tmp_path_factory.mktemp("folders")
    found = {name: folder / name for name in ("checkout", "dead", "wheels")}
    copy_checkout(found["checkout"])
    dead = copy_checkout(found["dead"])
    with (dead / "daemon/retaind/runtime/daemon.py").open("a", encoding="utf-8") as module:
        module.write("\n\ndef main(*_: object) -> int:\n    return 1\n")
    home = Home(tmp_path_factory.mktemp("outside"))
    download = ("-m", "pip", "download", "-q", "-d", found["wheels"], found["checkout"])
    done = home.run(BASE_PYTHON, *download, "hatchling>=1.25", **PIP)
    assert done.returncode == 0, done.stderr
    return found


@pytest.fixture(scope="module")
def account(folders: dict[str, Path]) -> Iterator[Account]:
    """Install for an account that exists in private namespaces only."""
    with user_manager(*folders.values()) as machine:
        account = Account(machine, folders["checkout"], folders["wheels"])
        machine.write(HOME / "claude one/projects/-work/nothing.jsonl", "")
        done = account.install(CLAUDE_CONFIG_DIR=f"{HOME}/claude one")
        assert done.returncode == 0, (done.stdout, done.stderr)
        assert "is running: watching" in done.stdout
        yield account


def test_the_service_runs_from_the_installed_environment_and_is_enabled(account: Account) -> None:
    assert account.machine.show("ActiveState") == "active"
    assert account.machine.show("UnitFileState") == "enabled"
    assert account.machine.show("FragmentPath") == str(UNIT)
    assert account.status()["pid"] == account.machine.pid()
    command = account.machine.run("cat", f"/proc/{account.machine.pid()}/cmdline").stdout
    assert command.split("\0")[:5] == [str(PYTHON), "-I", "-m", "retaind", "run"]


def test_a_machine_that_cannot_let_it_linger_is_a_warning(account: Account) -> None:
    done = account.install()

    assert done.returncode == 0
    assert "warning: retaind will stop when you log out. WHY: " in done.stderr
    assert "FIX: sudo loginctl enable-linger" in done.stderr
    assert account.install("--no-linger").stderr == ""


def test_installing_again_changes_nothing_and_restarts_nothing(account: Account) -> None:
    before = account.machine.pid()

    done = account.install("--no-linger")

    assert "already installed: nothing changed" in done.stdout
    assert account.machine.pid() == before


def test_the_folder_recorded_first_survives_an_installation_from_a_bare_shell(
    account: Account,
) -> None:
    account.install("--no-linger")

    roots = {root["path"] for root in account.status()["watch"]["roots"]}

    assert f"{HOME}/claude one" in {root.removesuffix("/projects") for root in roots}


def test_a_new_folder_reaches_the_service_by_installing_again(account: Account) -> None:
    before = account.machine.pid()
    account.machine.run("mkdir", "-p", HOME / "two/projects")

    done = account.install("--no-linger", CLAUDE_CONFIG_DIR=f"{HOME}/two")

    assert done.returncode == 0, done.stderr
    assert "its service was brought up to date" in done.stdout
    assert account.machine.pid() != before
    roots = {root["path"] for root in account.status()["watch"]["roots"]}
    assert f"{HOME}/two" in {root.removesuffix("/projects") for root in roots}


def test_a_unit_edited_by_hand_is_replaced_and_kept_beside(account: Account) -> None:
    account.machine.run("sh", "-c", f"echo '# mine' >>{UNIT}")

    done = account.install("--no-linger")

    assert done.returncode == 0
    assert "had been edited and was replaced" in done.stderr
    assert "# mine" in account.machine.run("cat", f"{UNIT}.bak").stdout
    assert "# mine" not in account.machine.run("cat", UNIT).stdout
    account.machine.run("rm", f"{UNIT}.bak")


def test_a_version_that_does_not_start_is_taken_back_with_its_unit(
    account: Account, folders: dict[str, Path]
) -> None:
    current = account.machine.run("readlink", SHARE / "current").stdout
    unit = account.machine.run("cat", UNIT).stdout

    done = account.install("--no-linger", checkout=folders["dead"], RETAIND_LOG_LEVEL="debug")

    assert done.returncode == 1
    assert "error: " in done.stderr
    assert account.machine.run("readlink", SHARE / "current").stdout == current
    assert account.machine.run("cat", UNIT).stdout == unit
    assert account.machine.show("ActiveState") == "active"
    assert account.status()["pid"] == account.machine.pid()


def test_uninstalling_takes_the_service_and_the_lingering_away_and_leaves_the_data(
    account: Account,
) -> None:
    programs = HOME / "programs"
    account.machine.write(programs / "loginctl", f"#!/bin/sh\necho $* >>{programs}/calls\n")
    account.machine.run("chmod", "755", programs / "loginctl")
    path = f"{programs}:/usr/local/bin:/usr/bin:/bin"
    began = account.install(PATH=path)
    assert (began.returncode, began.stderr) == (0, "")
    account.install("--no-linger", PATH=path)

    done = account.install("--uninstall", PATH=path)

    assert (done.returncode, done.stderr) == (0, "")
    calls = account.machine.run("cat", programs / "calls").stdout.splitlines()
    assert [words.split()[-1] for words in calls] == ["enable-linger", "disable-linger"]
    assert account.machine.show("LoadState") == "not-found"
    left = account.machine.run("find", HOME, "-name", "retaind*").stdout.split()
    assert left == [f"{HOME}/.local/state/retaind", f"{HOME}/.local/state/retaind/retaind.db"]
