"""Paths: where files and the socket are, and which folders are refused."""

import os
import re
from pathlib import Path

import pytest

from retaind.errors import ConfigError, StateUnwritable
from retaind.paths import (
    Holder,
    control_socket,
    find_paths,
    private_dir,
    read_holder,
    write_holder,
)

UID = os.geteuid()


def test_linux_paths_are_those_of_platformdirs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    platformdirs = pytest.importorskip("platformdirs.unix")
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    theirs = platformdirs.Unix("retaind", appauthor=False)

    ours = find_paths({"HOME": str(tmp_path)}, "linux")

    assert ours.state_dir == Path(theirs.user_state_dir)
    assert ours.config_file.parent == Path(theirs.user_config_dir)
    assert ours.log_dir == Path(theirs.user_log_dir)


def test_xdg_variables_move_the_folders(tmp_path: Path) -> None:
    paths = find_paths(
        {
            "HOME": "/home/x",
            "XDG_STATE_HOME": str(tmp_path / "s"),
            "XDG_CONFIG_HOME": "relative/is/ignored",
        },
        "linux",
    )

    assert paths.database == tmp_path / "s/retaind/retaind.db"
    assert paths.config_file == Path("/home/x/.config/retaind/config.toml")


def test_macos_paths() -> None:
    paths = find_paths({"HOME": "/Users/x"}, "darwin")

    assert paths.state_dir == Path("/Users/x/Library/Application Support/retaind")
    assert paths.socket == paths.state_dir / "ctl.sock"
    assert paths.log_dir == Path("/Users/x/Library/Logs/retaind")


def test_overrides_win() -> None:
    paths = find_paths(
        {
            "HOME": "/home/x",
            "RETAIND_STATE_DIR": "/s",
            "RETAIND_CONFIG_FILE": "/c.toml",
            "RETAIND_SOCKET": "/r/a.sock",
        }
    )

    assert (paths.state_dir, paths.lock) == (Path("/s"), Path("/s/lock"))
    assert paths.config_file == Path("/c.toml")
    assert paths.socket == Path("/r/a.sock")


@pytest.mark.parametrize("name", ["RETAIND_STATE_DIR", "RETAIND_CONFIG_FILE", "RETAIND_SOCKET"])
def test_a_relative_override_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        find_paths({"HOME": "/home/x", name: "relative"})


def test_the_socket_is_in_the_runtime_folder_when_that_is_ours(tmp_path: Path) -> None:
    environ = {"HOME": "/home/x", "XDG_RUNTIME_DIR": str(tmp_path)}

    assert find_paths(environ, "linux").socket == tmp_path / "retaind/ctl.sock"


def test_the_socket_is_in_the_state_folder_without_a_runtime_folder() -> None:
    environ = {"HOME": "/home/x", "XDG_RUNTIME_DIR": "/run/user/does-not-exist"}
    paths = find_paths(environ, "linux")

    assert paths.socket == paths.state_dir / "ctl.sock"


def test_a_second_daemon_with_its_own_state_has_its_own_socket(tmp_path: Path) -> None:
    environ = {"HOME": "/h", "XDG_RUNTIME_DIR": str(tmp_path), "RETAIND_STATE_DIR": "/s"}

    assert find_paths(environ, "linux").socket == Path("/s/ctl.sock")


@pytest.mark.parametrize(("platform", "limit"), [("linux", 107), ("darwin", 103)])
def test_a_socket_path_may_be_as_long_as_the_system_allows(platform: str, limit: int) -> None:
    room = limit - len("/ctl.sock")
    fits, too_long = "/" + "d" * (room - 1), "/" + "d" * room

    assert find_paths({"RETAIND_STATE_DIR": fits}, platform).socket == Path(fits) / "ctl.sock"
    moved = find_paths({"RETAIND_STATE_DIR": too_long}, platform).socket
    assert re.fullmatch(rf"/tmp/retaind-{UID}/ctl-[0-9a-f]{{8}}\.sock", str(moved))


def test_length_is_counted_in_bytes_not_characters() -> None:
    wide = "/" + "é" * 60

    assert str(find_paths({"RETAIND_STATE_DIR": wide}).socket).startswith("/tmp/")


def test_a_long_home_moves_the_socket_to_the_shared_folder() -> None:
    socket = find_paths({"HOME": "/" + "h" * 120}, "linux").socket

    assert socket == Path(f"/tmp/retaind-{UID}/ctl.sock")


def test_a_socket_override_that_is_too_long_is_refused() -> None:
    with pytest.raises(ConfigError, match="bytes long"):
        find_paths({"RETAIND_SOCKET": "/" + "s" * 107}, "linux")


def test_the_cli_goes_where_the_daemon_said_it_listens(tmp_path: Path) -> None:
    paths = find_paths({"RETAIND_STATE_DIR": str(tmp_path)})
    holder = Holder(pid=7, socket=Path("/elsewhere/ctl.sock"), started=1.5, version="0.1.0")
    assert control_socket(paths) == paths.socket

    with paths.lock.open("w+b") as lock:
        lock.write(b"x" * 500)
        lock.flush()
        write_holder(lock.fileno(), holder)

    assert read_holder(paths.lock) == holder
    assert control_socket(paths) == Path("/elsewhere/ctl.sock")


@pytest.mark.parametrize("content", [b"", b"\xff", b"[]", b"{}", b'{"pid": "x"}', b"123"])
def test_a_lock_without_a_holder_is_no_error(tmp_path: Path, content: bytes) -> None:
    lock = tmp_path / "lock"
    lock.write_bytes(content)

    assert read_holder(lock) is None


def test_a_private_folder_is_made_with_its_parents(tmp_path: Path) -> None:
    private_dir(tmp_path / "a/b")

    assert (tmp_path / "a/b").stat().st_mode & 0o777 == 0o700


def test_a_folder_of_ours_that_others_can_read_is_made_private(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir(mode=0o755)

    private_dir(folder)

    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_shared_folder_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)

    with pytest.raises(StateUnwritable, match="shared") as raised:
        private_dir(folder)

    assert raised.value.fix == f"chmod 700 {folder}"
    assert folder.stat().st_mode & 0o7777 == 0o1777


def test_a_symbolic_link_is_refused_unless_links_are_fine(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to("real")

    with pytest.raises(StateUnwritable, match="symbolic link") as raised:
        private_dir(link)
    assert "RETAIND_STATE_DIR" in raised.value.fix
    assert "remove" not in raised.value.fix
    private_dir(link, symlink_ok=True)


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StateUnwritable):
        private_dir(tmp_path / "file")


@pytest.mark.skipif(UID != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)

    with pytest.raises(StateUnwritable, match="12345"):
        private_dir(folder)
