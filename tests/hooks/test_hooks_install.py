"""`retaind hooks`: Claude Code's settings are merged, never replaced, and come back as they were."""

import json
import os
import shlex
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.process import Home
from retaind.cli.event import EVENTS

THEIRS: dict[str, Any] = {
    "zeta": {"deep": [1, 2.5, None, "ü"]},
    "hooks": {
        "Stop": [
            {"matcher": "", "hooks": [{"type": "command", "command": "say done", "timeout": 3}]}
        ],
        "Notification": [{"hooks": [{"type": "command", "command": "retaind hook Stop"}]}],
    },
    "model": "opus",
    "alpha": True,
}


def settings_file(place: Home, config: Path | None = None) -> Path:
    return (config or place.claude) / "settings.json"


def written(path: Path) -> Any:
    return json.loads(path.read_text())


def run(place: Home, verb: str, *configs: Path) -> str:
    named = [part for config in configs for part in ("--config-dir", str(config))]
    finished = place.cli("hooks", verb, *named)
    assert finished.returncode == 0, finished.stderr.decode()
    return finished.stdout.decode()


def test_everything_else_stays_in_its_place_and_ours_is_added(place: Home) -> None:
    path = settings_file(place)
    path.write_text(json.dumps(THEIRS, indent=4, ensure_ascii=False))

    run(place, "install")

    found = written(path)
    assert list(found) == list(THEIRS)
    assert list(found["hooks"])[:2] == ["Stop", "Notification"]
    assert found["hooks"]["Stop"][0] == THEIRS["hooks"]["Stop"][0]
    assert {**found, "hooks": None} == {**THEIRS, "hooks": None}
    assert set(found["hooks"]) == {*EVENTS, "Notification"}
    assert '    "model"' in path.read_text()


def test_the_command_is_absolute_and_can_be_run(place: Home) -> None:
    run(place, "install")

    (group,) = written(settings_file(place))["hooks"]["UserPromptSubmit"]
    (entry,) = group["hooks"]
    words = shlex.split(entry["command"])
    assert words == [sys.executable, "-I", "-m", "retaind", "hook", "UserPromptSubmit"]
    assert os.path.isabs(words[0])
    assert isinstance(entry["timeout"], int)


def test_the_agent_waits_only_where_it_must(place: Home) -> None:
    run(place, "install")

    hooks = written(settings_file(place))["hooks"]
    waits = {event for event in EVENTS if not hooks[event][0]["hooks"][0].get("async")}
    assert waits == {"SessionStart", "UserPromptSubmit"}


def test_installing_twice_changes_nothing(place: Home) -> None:
    run(place, "install")
    once = settings_file(place).read_bytes(), settings_file(place).stat().st_mtime_ns

    assert "already" in run(place, "install")

    assert (settings_file(place).read_bytes(), settings_file(place).stat().st_mtime_ns) == once


def test_uninstalling_removes_exactly_ours(place: Home) -> None:
    path = settings_file(place)
    path.write_text(json.dumps(THEIRS, indent=4, ensure_ascii=False) + "\n")
    before = path.read_bytes()

    run(place, "install")
    assert path.read_bytes() != before
    run(place, "uninstall")

    assert path.read_bytes() == before
    assert "there are none" in run(place, "uninstall")


def test_a_hook_of_the_users_in_the_same_group_stays(place: Home) -> None:
    run(place, "install")
    path = settings_file(place)
    settings = written(path)
    mine = {"type": "command", "command": "say bye"}
    settings["hooks"]["SessionEnd"][0]["hooks"].append(mine)
    path.write_text(json.dumps(settings))

    run(place, "uninstall")

    assert written(path) == {"hooks": {"SessionEnd": [{"hooks": [mine]}]}}


def test_the_file_as_it_was_is_kept_once(place: Home) -> None:
    path = settings_file(place)
    path.write_text('{"model": "opus"}')

    run(place, "install")
    run(place, "uninstall")
    run(place, "install")

    assert Path(f"{path}.before-retaind").read_text() == '{"model": "opus"}'


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_the_files_mode_stays_and_a_new_one_is_private(place: Home, mode: int) -> None:
    path = settings_file(place)
    path.write_text("{}")
    path.chmod(mode)

    run(place, "install")

    assert stat.S_IMODE(path.stat().st_mode) == mode
    other = place.folder / "other"
    other.mkdir()
    run(place, "install", other)
    assert stat.S_IMODE(settings_file(place, other).stat().st_mode) == 0o600


def test_a_link_is_followed_and_stays_a_link(place: Home) -> None:
    real = place.folder / "dotfiles.json"
    real.write_text("{}")
    settings_file(place).symlink_to(real)

    run(place, "install")

    assert settings_file(place).is_symlink()
    assert "hooks" in written(real)


def test_every_folder_of_claude_code_is_meant(place: Home) -> None:
    (place.folder / ".claude-work" / "projects").mkdir(parents=True)

    said = run(place, "install")

    assert said.count("settings.json: installed") == 2
    assert written(settings_file(place, place.folder / ".claude-work"))["hooks"]


@pytest.mark.parametrize(
    ("text", "place_of"),
    [
        (b'{\n  "a": 1,\n}', ":3:1"),
        (b'{\n  // why\n  "a": 1}', ":2:3"),
        (b'{"a": 1, "a": 2}', '"a" is there twice'),
        (b"[]", "no JSON object"),
        (b'{"hooks": []}', '"hooks" is no object'),
        (b'{"hooks": {"Stop": {}}}', '"Stop" is no list'),
        (b'{\n"a": "\xff"}', ":2:"),
    ],
)
@pytest.mark.parametrize("verb", ["install", "uninstall"])
def test_what_is_broken_is_refused_with_its_place_and_a_fix(
    place: Home, verb: str, text: bytes, place_of: str
) -> None:
    path = settings_file(place)
    path.write_bytes(text)

    finished = place.cli("hooks", verb)

    said = finished.stderr.decode()
    assert finished.returncode == 78
    assert str(path) in said
    assert place_of in said
    assert "FIX:" in said
    assert path.read_bytes() == text
    assert os.listdir(place.claude) == sorted(os.listdir(place.claude))


def test_an_older_command_is_replaced(place: Home) -> None:
    run(place, "install")
    path = settings_file(place)
    path.write_text(path.read_text().replace(sys.executable, "/old/place/python"))
    assert place.json("hooks", "status")["hooks"][0]["state"] == "outdated"

    run(place, "install")

    assert "/old/place" not in path.read_text()
    assert place.json("hooks", "status")["hooks"][0]["state"] == "installed"


def test_status_tells_none_some_and_all(place: Home) -> None:
    assert place.cli("hooks", "status").returncode == 1
    run(place, "install")
    assert place.cli("hooks", "status").returncode == 0
    path = settings_file(place)
    settings = written(path)
    del settings["hooks"]["Stop"]
    path.write_text(json.dumps(settings | {"disableAllHooks": True}))

    (row,) = place.json("hooks", "status")["hooks"]

    assert row["state"] == "partly"
    assert row["all_hooks_disabled"] is True
    assert b"disableAllHooks" in place.cli("hooks", "status").stdout


def test_without_claude_code_it_says_so(tmp_path: Path) -> None:
    place = Home(tmp_path)
    place.project.rmdir()
    place.project.parent.rmdir()
    place.claude.rmdir()

    finished = place.cli("hooks", "install")

    assert finished.returncode == 1
    assert b"no folder of Claude Code" in finished.stderr


def test_an_installation_is_meant_by_its_link_that_stays(place: Home, tmp_path: Path) -> None:
    share = tmp_path / "share"
    version = share / "versions" / "1.0"
    (version / "bin").mkdir(parents=True)
    (version / "bin" / "python").symlink_to(sys.executable)
    (version / "pyvenv.cfg").write_text(Path(sys.prefix, "pyvenv.cfg").read_text())
    (version / "lib").symlink_to(Path(sys.prefix, "lib"))
    (share / "current").symlink_to("versions/1.0")

    python = version / "bin" / "python"
    arguments = [str(python), "-I", "-m", "retaind", "hooks", "install"]
    assert os.spawnve(os.P_WAIT, python, arguments, place.environ) == 0

    assert f"{share}/current/bin/python -I -m" in settings_file(place).read_text()


def test_doctor_says_how_the_hooks_are(place: Home) -> None:
    assert b"hooks: none" in place.cli("doctor").stdout
    run(place, "install")
    assert b"hooks: installed" in place.cli("doctor").stdout
    settings_file(place).write_text("{")
    assert b"warn  hooks:" in place.cli("doctor").stdout


def test_a_file_that_was_not_there_is_not_there_afterwards(place: Home) -> None:
    path = settings_file(place)
    path.unlink(missing_ok=True)

    run(place, "install")
    run(place, "uninstall")

    assert not path.exists()
    assert not Path(f"{path}.before-retaind").exists()


def test_settings_that_say_again_what_they_said_get_their_bytes_back(place: Home) -> None:
    path = settings_file(place)
    path.write_text('{"model":   "opus"}')

    run(place, "install")
    run(place, "uninstall")

    assert path.read_text() == '{"model":   "opus"}'
    assert not Path(f"{path}.before-retaind").exists()


def test_the_copy_stays_where_the_settings_have_changed_since(place: Home) -> None:
    path = settings_file(place)
    path.write_text('{"model": "opus"}')

    run(place, "install")
    path.write_text(json.dumps({**written(path), "model": "other"}))
    run(place, "uninstall")

    assert written(path) == {"model": "other"}
    assert written(Path(f"{path}.before-retaind")) == {"model": "opus"}


def test_a_folder_that_is_not_there_is_named_and_not_made(place: Home) -> None:
    nowhere = place.folder / "nowhere"
    done = place.cli("hooks", "install", "--config-dir", str(nowhere))

    assert done.returncode == 2
    assert str(nowhere) in done.stderr.decode()
    assert not nowhere.exists()
