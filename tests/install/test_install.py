"""install.sh as people run it: with the real checkout, real packages and a real daemon."""

import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

import retaind
from install.machine import eventually
from install.user_home import (
    BASE_PYTHON,
    REPOSITORY,
    TRANSCRIPT,
    Home,
    copy_checkout,
    python_without,
)

VERSION = retaind.__version__
FORM = re.compile(r"(error|warning): [^\n]+?\. WHY: [^\n]+\. FIX: [^\n]+")
pytestmark = pytest.mark.timeout(300)


# ---- before anything is done


def test_a_dry_run_prints_each_step_and_touches_nothing(fresh: Home) -> None:
    before = fresh.digest(), fresh.digest(REPOSITORY / "daemon", REPOSITORY / "service")

    done = fresh.install("--dry-run")

    assert done.returncode == 0, done.stderr
    assert (fresh.digest(), fresh.digest(REPOSITORY / "daemon", REPOSITORY / "service")) == before
    steps = done.stdout.splitlines()
    assert all(step.startswith("would ") for step in steps)
    for wanted in (f"versions/{VERSION}", "current", "start", ".local/bin/retaind", "manifest"):
        assert any(wanted in step for step in steps), wanted


@pytest.mark.parametrize(
    "options",
    [("--nonsense",), ("--purge",), ("--prefix",), ("--offline=",), ("extra",), ("--extra", "x")],
)
def test_wrong_usage_ends_with_2_and_points_to_the_help(fresh: Home, options: tuple[str]) -> None:
    done = fresh.run(REPOSITORY / "install.sh", *options)

    assert done.returncode == 2
    assert FORM.fullmatch(done.stderr.strip())
    assert list(fresh.path.iterdir()) == []


def test_help_names_every_option(fresh: Home) -> None:
    done = fresh.run(REPOSITORY / "install.sh", "--help")

    script = (REPOSITORY / "install.sh").read_text(encoding="utf-8")
    known = set(
        re.findall(r"--[a-z-]+", script.partition("parse_options()")[2].partition("esac")[0])
    )
    assert done.returncode == 0
    assert known <= set(re.findall(r"--[a-z-]+", done.stdout))


def test_all_that_is_missing_is_said_together(fresh: Home) -> None:
    (fresh.path / ".local").write_bytes(b"")

    done = fresh.install("--offline", str(fresh.path / "none"), RETAIND_SOCKET="/" + "x" * 200)

    problems = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert done.returncode == 3
    assert len(problems) >= 3
    assert all(FORM.fullmatch(problem) for problem in problems)
    assert (fresh.path / ".local").read_bytes() == b""


def test_a_python_that_is_too_old_is_refused(fresh: Home) -> None:
    fresh.program("oldpython", "#!/bin/sh\nexit 0\n")

    done = fresh.install(python=fresh.programs / "oldpython")

    assert done.returncode == 3
    assert "is no CPython 3.11 or newer" in done.stderr


def test_without_any_way_to_install_packages_the_one_command_that_helps_is_named(
    fresh: Home, tmp_path: Path
) -> None:
    python = python_without(
        tmp_path / "python", "ensurepip", "site-packages", "dist-packages", "python3"
    )
    path = f"{fresh.programs}:/usr/bin:/bin"

    done = fresh.install(python=python, PATH=path)

    if shutil.which("uv", path=path):
        assert "no way to install packages" not in done.stderr
    else:
        assert done.returncode == 3
        assert "no way to install packages" in done.stderr
        assert "-venv" in done.stderr


def test_sudo_with_the_home_of_another_user_is_refused(fresh: Home) -> None:
    fresh.program("id", "#!/bin/sh\necho 0\n")
    if os.geteuid() == 0:
        os.chown(fresh.path, 12345, 12345)

    refused = fresh.install("--dry-run", SUDO_USER="ada")
    allowed = fresh.install("--dry-run", "--allow-root", SUDO_USER="ada")

    assert refused.returncode == 3
    assert FORM.fullmatch(refused.stderr.strip())
    assert "without sudo" in refused.stderr
    assert allowed.returncode == 0
    assert allowed.stderr.startswith("warning: installing for root. WHY: ")


def test_a_second_installation_at_the_same_time_is_refused(fresh: Home) -> None:
    busy = fresh.share / ".installing"
    busy.mkdir(parents=True)
    (busy / "pid").write_text(str(os.getpid()), encoding="utf-8")

    done = fresh.install()

    assert done.returncode == 1
    assert "another installation is under way" in done.stderr
    assert [path.name for path in fresh.share.iterdir()] == [".installing"]


def test_an_interrupted_installation_leaves_no_version_behind(fresh: Home) -> None:
    with subprocess.Popen(
        [REPOSITORY / "install.sh", "--python", BASE_PYTHON],
        env=fresh.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        begun = fresh.share / "versions" / VERSION / "pyvenv.cfg"
        eventually(begun.exists, "the environment is begun")
        os.killpg(process.pid, signal.SIGINT)
        process.communicate()

    assert process.returncode == 130
    assert fresh.names() == []
    assert not (fresh.share / "current").exists()
    assert not (fresh.share / ".installing").exists()


# ---- installed


def test_it_runs_at_once_and_says_what_it_found_and_what_to_try(used: Home) -> None:
    used.install("--uninstall", "--purge")

    done = used.install()

    assert done.returncode == 0, done.stderr
    assert f"retaind {VERSION} is running: watching 1 root, 1 session" in done.stdout
    assert 'export PATH="' in done.stdout
    assert "retaind sessions" in done.stdout
    assert "retaind search" in done.stdout
    assert len(done.stdout.splitlines()) < 10
    assert used.daemon() in used.running()
    (session,) = used.retaind("sessions")
    assert session["captured_bytes"] == (used.path / TRANSCRIPT).stat().st_size


def test_what_is_installed_lies_in_its_places(installed: Home) -> None:
    manifest = json.loads((installed.share / "manifest.json").read_text(encoding="utf-8"))

    assert (installed.bin / "retaind").readlink() == installed.share / "current/bin/retaind"
    assert str((installed.share / "current").readlink()) in {
        f"versions/{n}" for n in installed.names()
    }
    assert manifest["version"] == VERSION
    assert manifest["state_dir"] == str(installed.state)
    assert {entry["path"] for entry in manifest["files"]} == {
        str(installed.bin / "retaind"),
        str(installed.share / "current"),
        str(installed.share / "install.sh"),
    }
    assert not (installed.path / ".profile").exists()


def test_the_packages_are_compiled(installed: Home) -> None:
    compiled = list((installed.share / "current").rglob("retaind/__pycache__/errors.*.pyc"))

    assert len(compiled) == 1


def test_no_path_hint_where_the_command_is_found(installed: Home) -> None:
    path = f"{installed.bin}:{installed.environ['PATH']}"

    done = installed.install(PATH=path)

    assert "export PATH" not in done.stdout


def test_installing_the_same_again_changes_nothing(installed: Home) -> None:
    installed.install()
    before = installed.digest(installed.share, installed.bin), installed.daemon()

    done = installed.install()

    assert done.returncode == 0
    assert "already installed: nothing changed" in done.stdout
    assert (installed.digest(installed.share, installed.bin), installed.daemon()) == before


def test_installing_again_starts_a_daemon_that_does_not_run(installed: Home) -> None:
    assert installed.run(installed.bin / "retaind", "stop").returncode == 0
    assert installed.daemon() is None

    done = installed.install("-q")

    assert (done.returncode, done.stdout) == (0, "")
    assert installed.daemon() in installed.running()


def test_a_command_of_somebody_else_is_left_alone(installed: Home) -> None:
    link = installed.bin / "retaind"
    link.unlink()
    link.write_text("#!/bin/sh\n", encoding="utf-8")
    try:
        done = installed.install()

        assert done.returncode == 0
        assert f"warning: {link} is not ours and was left alone" in done.stderr
        assert link.read_text(encoding="utf-8") == "#!/bin/sh\n"
    finally:
        link.unlink()
        assert installed.install().returncode == 0


# ---- failing


def test_a_version_that_fails_its_self_test_never_replaces_one_that_works(
    installed: Home, tmp_path: Path
) -> None:
    before = installed.names(), installed.daemon(), (installed.share / "current").readlink()
    broken = copy_checkout(tmp_path)
    (broken / "daemon/retaind/db.py").write_text("this is no Python\n", encoding="utf-8")

    done = installed.install(checkout=broken)

    assert done.returncode == 1
    assert "error: the new version fails its self-test. WHY: " in done.stderr
    assert done.stderr.endswith("the earlier version still runs\n")
    after = installed.names(), installed.daemon(), (installed.share / "current").readlink()
    assert after == before


def test_a_version_that_does_not_start_is_taken_back(installed: Home, tmp_path: Path) -> None:
    before = installed.names(), (installed.share / "current").readlink()
    dead = copy_checkout(tmp_path)
    with (dead / "daemon/retaind/runtime/daemon.py").open("a", encoding="utf-8") as module:
        module.write("\n\ndef main(*_: object) -> int:\n    return 1\n")

    done = installed.install(checkout=dead)

    assert done.returncode == 1
    assert "error: " in done.stderr
    assert "undoing the installation" in done.stderr
    assert done.stderr.endswith("the earlier version runs again\n")
    assert (installed.names(), (installed.share / "current").readlink()) == before
    assert installed.daemon() in installed.running()


def test_a_broken_environment_is_replaced(installed: Home) -> None:
    broken = (installed.share / "current").resolve()
    shutil.rmtree(broken / "lib")

    done = installed.install()

    assert done.returncode == 0, done.stderr
    assert (installed.share / "current").resolve() != broken
    assert installed.daemon() in installed.running()


def test_a_changed_checkout_of_the_same_version_is_installed(
    installed: Home, tmp_path: Path
) -> None:
    before = installed.daemon(), (installed.share / "current").resolve()
    changed = copy_checkout(tmp_path)
    with (changed / "daemon/retaind/errors.py").open("a", encoding="utf-8") as module:
        module.write("\n# changed\n")

    done = installed.install(checkout=changed)

    assert done.returncode == 0, done.stderr
    now = (installed.share / "current").resolve()
    assert now != before[1]
    assert next(now.rglob("retaind/errors.py")).read_text("utf-8").endswith("# changed\n")
    assert installed.daemon() in installed.running()
    assert installed.daemon() != before[0]


@pytest.mark.parametrize("lacking", [("ensurepip",), ("site-packages", "dist-packages", "python3")])
def test_either_ensurepip_or_a_pip_is_enough(
    fresh: Home, tmp_path: Path, lacking: tuple[str, ...]
) -> None:
    python = python_without(tmp_path / "python", *lacking)

    done = fresh.install("--no-start", python=python)

    assert done.returncode == 0, done.stderr
    assert "installed and not started" in done.stdout
    assert "Try next" not in done.stdout
    assert fresh.running() == []
    found = fresh.run(fresh.share / "current/bin/python", "-I", "-m", "retaind", "selftest")
    assert found.returncode == 0


def test_an_extra_is_added_by_the_copy_alone_and_stays_at_the_next_installation(
    installed: Home,
) -> None:
    python = installed.share / "current/bin/python"
    asked = [str(python), "-I", "-c", "import toktok"]
    assert installed.install().returncode == 0  # whatever another test has left there
    assert subprocess.run(asked, capture_output=True, check=False).returncode != 0

    done = installed.run(installed.share / "install.sh", "--extra", "cl100k")
    assert done.returncode == 0, done.stderr
    assert subprocess.run(asked, capture_output=True, check=False).returncode == 0

    again = installed.install("--extra", "cl100k")
    assert "retaind has what it needs for: cl100k\n" in again.stdout
    assert "nothing else changed" in again.stdout

    shutil.rmtree((installed.share / "current").resolve() / "lib")
    assert installed.install().returncode == 0
    assert subprocess.run(asked, capture_output=True, check=False).returncode == 0


# ---- removing


def test_a_dry_run_of_uninstalling_touches_nothing(installed: Home) -> None:
    daemon, before = installed.daemon(), installed.digest(installed.share, installed.bin)

    done = installed.install("--uninstall", "--purge", "--dry-run")

    assert done.returncode == 0
    assert all(step.startswith("would ") for step in done.stdout.splitlines())
    assert (installed.daemon(), installed.digest(installed.share, installed.bin)) == (
        daemon,
        before,
    )


def test_uninstalling_keeps_the_data_and_needs_no_environment_nor_checkout(installed: Home) -> None:
    shutil.rmtree((installed.share / "current").resolve() / "lib")
    (installed.share / "manifest.json").write_text("{ half", encoding="utf-8")

    done = installed.run(installed.share / "install.sh", "--uninstall")

    assert done.returncode == 0, done.stderr
    assert installed.running() == []
    assert not installed.share.exists()
    assert not (installed.bin / "retaind").is_symlink()
    assert (installed.state / "retaind.db").exists()
    assert str(installed.state) in done.stdout


def test_purging_takes_the_data_too_and_no_transcript(fresh: Home) -> None:
    transcript = fresh.path / TRANSCRIPT
    for path in (
        transcript,
        fresh.state / "retaind.db",
        fresh.path / ".config/retaind/config.toml",
    ):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"")

    fresh.install("--uninstall", "--purge")

    assert not fresh.state.exists()
    assert not (fresh.path / ".config/retaind").exists()
    assert transcript.exists()


def test_uninstalling_nothing_is_fine(fresh: Home) -> None:
    done = fresh.install("--uninstall")
    dry = fresh.install("--uninstall", "--purge", "--dry-run")

    assert done.returncode == 0
    assert done.stdout == dry.stdout == f"retaind is not installed in {fresh.share}\n"
    assert list(fresh.path.iterdir()) == []


def test_purging_a_state_folder_of_ones_own_choice_takes_only_what_is_ours(fresh: Home) -> None:
    chosen = fresh.path / "documents"
    chosen.mkdir()
    ours = ("retaind.db", "retaind.db-wal", "lock", "tombstones.jsonl", "reported_roots.json")
    for name in (*ours, "letter.txt"):
        (chosen / name).write_bytes(b"")

    done = fresh.install("--uninstall", "--purge", RETAIND_STATE_DIR=str(chosen))

    assert [path.name for path in chosen.iterdir()] == ["letter.txt"]
    assert (
        f"what retaind had kept in {chosen} is removed; the other files there stay" in done.stdout
    )
    assert "all that" not in done.stdout


def test_purging_where_nothing_was_kept_claims_nothing(fresh: Home) -> None:
    done = fresh.install("--uninstall", "--purge")

    assert (done.returncode, done.stdout) == (0, f"retaind is not installed in {fresh.share}\n")


def test_a_process_that_is_not_ours_survives_a_stale_lock(fresh: Home) -> None:
    fresh.state.mkdir(parents=True)
    with subprocess.Popen(["sleep", "60"]) as other:
        holder = {"pid": other.pid, "started": 1.0, "socket": "/x", "version": "0"}
        (fresh.state / "lock").write_text(json.dumps(holder), encoding="utf-8")

        fresh.install("--uninstall")

        assert other.poll() is None
        other.kill()


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_the_script_is_plain_sh(shell: str) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"there is no {shell}")
    command = [found, "-n", str(REPOSITORY / "install.sh")]

    told = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (told.returncode, told.stderr) == (0, "")


def test_shellcheck_has_nothing_to_say() -> None:
    if shutil.which("shellcheck") is None:
        pytest.skip("shellcheck is not installed")
    scripts = [REPOSITORY / "install.sh", REPOSITORY / "tests/service/user_manager.sh"]

    told = subprocess.run(["shellcheck", *scripts], capture_output=True, text=True, check=False)

    assert told.stdout == ""
