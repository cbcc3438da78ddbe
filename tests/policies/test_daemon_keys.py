"""The keys by which the daemon watches, logs and tells results, and the environment that wins over all."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.process import Home, home, wait_until
from policies.transcripts import answer, prompt, settings, write

SAID = [prompt(1, "look at the copper mine"), answer(2, "The copper mine is deep.")]


def captured(place: Home, name: str = "s.jsonl") -> Any:
    """Wait until a transcript is captured, without asking for it."""
    return wait_until(
        lambda: place.sessions().get(name, {}).get("captured_bytes"), f"{name} is captured"
    )


@pytest.mark.parametrize(("mode", "state"), [("auto", "watching"), ("scan", "scanning")])
def test_changes_are_noticed_in_the_way_that_is_asked_for(
    mode: str, state: str, tmp_path: Path
) -> None:
    with home(tmp_path) as place:
        settings(place, f'[watch]\nmode = "{mode}"\nscan_interval_s = 0.2')
        place.start()
        wait_until(lambda: place.status()["watch"]["state"] == state, f"it is {state}")
        write(place, "s.jsonl", *SAID)

        captured(place)


def test_scans_come_as_often_as_asked_for_also_after_a_reload(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        settings(place, 'watch.mode = "scan"\nwatch.scan_interval_s = 3600')
        place.start()
        wait_until(lambda: place.status()["watch"]["scans"] == 1, "the first scan")
        write(place, "s.jsonl", *SAID)
        settings(place, 'watch.mode = "scan"\nwatch.scan_interval_s = 0.1')
        assert place.sessions() == {}, "nothing tells of the file"

        place.ask("POST", "/v1/reload")
        captured(place)
        scans = place.status()["watch"]["scans"]
        wait_until(lambda: place.status()["watch"]["scans"] > scans + 3, "more scans")


def test_other_roots_are_watched_also_those_of_a_reload(tmp_path: Path) -> None:
    roots = [tmp_path / "one", tmp_path / "two"]
    with home(tmp_path / "home") as place:
        settings(place, f'roots.claude_code = ["{roots[0]}"]')
        for root, name in zip(roots, ("one.jsonl", "two.jsonl"), strict=True):
            write(place, name, *SAID, folder=root / "projects" / "-lab")
        place.start()
        place.flush()
        assert set(place.sessions()) == {"one.jsonl"}

        settings(place, f'roots.claude_code = ["{roots[0]}", "{roots[1]}"]')
        assert place.ask("POST", "/v1/reload")["after_restart"] == []
        place.flush()
        assert set(place.sessions()) == {"one.jsonl", "two.jsonl"}


def hook(folder: Path, name: str) -> tuple[Path, str]:
    """Return a file, and the setting of a hook that appends what it is given to that file."""
    out = folder / name
    script = folder / f"{name}.py"
    script.write_text(f"import sys\nopen({str(out)!r}, 'a').write(sys.stdin.read())\n")
    return out, f"hooks.post_retain = {json.dumps([sys.executable, str(script)])}"


def told(out: Path) -> Sequence[Any]:
    """Return the results that a hook has been given."""
    return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


def test_each_result_is_told_to_the_hook_that_is_set(tmp_path: Path) -> None:
    first, setting = hook(tmp_path, "first")
    second, other = hook(tmp_path, "second")
    with home(tmp_path / "home") as place:
        settings(place, setting)
        write(place, "s.jsonl", *SAID)
        place.start()
        place.flush()
        wait_until(lambda: told(first), "the first hook is told")
        settings(place, other)
        assert place.ask("POST", "/v1/reload")["after_restart"] == []
        write(place, "t.jsonl", prompt(9, "look at the tin mine", "t"))
        place.flush()
        wait_until(lambda: told(second), "the second hook is told")

    (result,) = told(first)
    assert (result["memory"], result["session_id"], result["success"]) == ("local", "s", True)
    assert [one["session_id"] for one in told(second)] == ["t"]
    assert "copper" not in first.read_text(), "ids, sizes and counts, never content"


@pytest.mark.parametrize(("level", "is_logged"), [("info", True), ("error", False)])
def test_as_much_is_logged_as_asked_for(level: str, *, is_logged: bool, tmp_path: Path) -> None:
    with home(tmp_path) as place:
        settings(place, f'log.level = "{level}"')
        place.start()
        place.stop()

        assert ('"ready"' in place.log.read_text()) is is_logged


def test_the_environment_wins_over_the_file_and_its_origin_is_told(tmp_path: Path) -> None:
    variables = {
        "RETAIND_WATCH_MODE": "scan",
        "RETAIND_WATCH_SCAN_INTERVAL_S": "0.2",
        "RETAIND_EXCLUDE_PROJECTS": "/home/dev/secret,/home/dev/private",
        "RETAIND_PROJECTS": '{"/home/dev/counted": "metadata"}',
        "RETAIND_RECALL_CONTEXT_TURNS": "7",
    }
    with home(tmp_path, **variables) as place:
        settings(
            place,
            """
            [watch]
            mode = "auto"
            scan_interval_s = 3600
            [exclude]
            projects = ["/home/dev/lab"]
            [recall]
            context_turns = 2
            max_tokens = 99
            """,
        )
        write(place, "s.jsonl", *SAID)
        for name in ("secret", "private", "counted"):
            write(place, f"{name}.jsonl", prompt(5, "hello", name, cwd=f"/home/dev/{name}"))
        place.start()
        place.flush()
        rows = place.sessions()
        shown = place.json("config")

        assert place.status()["watch"]["state"] == "scanning"
        assert rows["s.jsonl"]["state"] == "idle", "the file's rule is replaced, not added to"
        assert [rows[f"{name}.jsonl"]["mode"] for name in ("secret", "private", "counted")] == [
            "off",
            "off",
            "metadata",
        ]
        assert shown["recall.context_turns"] == {
            "value": 7,
            "origin": "RETAIND_RECALL_CONTEXT_TURNS",
        }
        assert shown["recall.max_tokens"]["origin"] == f"{place.config}:9"
        assert shown["recall.roles"]["origin"] == "default"


def test_a_configuration_that_cannot_be_used_changes_nothing(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        settings(place, 'exclude.projects = ["/home/dev/secret"]')
        place.start()
        settings(place, 'exclude.project = ["/home/dev/lab"]')
        refused = place.cli("reload")
        write(place, "s.jsonl", *SAID)
        write(place, "secret.jsonl", prompt(5, "hello", cwd="/home/dev/secret"))
        place.flush()

        assert refused.returncode == 78
        assert b"exclude.projects" in refused.stderr, "the near key is named"
        assert place.sessions()["s.jsonl"]["state"] == "idle"
        assert place.sessions()["secret.jsonl"]["state"] == "excluded"
