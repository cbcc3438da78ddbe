"""Exclusion: what is excluded leaves no byte, in whatever order files come, and however late a rule is."""

import json
import os
from pathlib import Path

import pytest

from harness.process import Home, home, running_daemon, wait_until
from policies.traces import VAULT, traces
from policies.transcripts import answer, append, local, prompt, record, settings, write

SECRET_CWD = "/home/dev/secret"
WORD = "xylographic"


def session(name: str, cwd: str, word: str = WORD) -> list[bytes]:
    return [
        record("mode", 1, name, cwd=None, uuid=None),
        prompt(2, f"tell me of the {word} press", name, cwd=cwd),
        answer(3, f"the {word} press is old", session=name, cwd=cwd),
    ]


def populate(place: Home, cwd: str) -> dict[str, Path]:
    """Write a session with all that may belong to it."""
    below = place.project / "boss"
    files = {
        "nested": write(place, "agent-1.jsonl", *session("boss", cwd), folder=below / "subagents"),
        "spilled": write(place, "out.txt", WORD.encode(), folder=below / "tool-results"),
        "flat": write(place, "agent-0a0b0c0d.jsonl", *session("boss", "/elsewhere")),
        "meta": write(place, "agent-0a0b0c0d.meta.json", json.dumps({"about": WORD}).encode()),
        "session": write(place, "boss.jsonl", *session("boss", cwd)),
    }
    history = json.dumps({"display": WORD, "project": cwd, "sessionId": "boss"}).encode() + b"\n"
    files["history"] = place.claude / "history.jsonl"
    files["history"].write_bytes(history)
    return files


RULES = {
    "paths": 'exclude.paths = ["~/.claude/projects/*/boss.jsonl"]',
    "folder": f'exclude.projects = ["{SECRET_CWD}"]',
    "folder above": 'exclude.projects = ["/home/dev/"]',
    "glob": 'exclude.projects = ["/home/*/sec*"]',
    "name": 'exclude.projects = ["secret"]',
    "mode": f'[projects."{SECRET_CWD}"]\nmode = "off"',
    "longest folder": f'[projects]\n"/home" = "full"\n"{SECRET_CWD}" = "off"',
}


@pytest.mark.parametrize("rule", RULES)
def test_what_belongs_to_an_excluded_session_leaves_no_byte(rule: str, tmp_path: Path) -> None:
    with home(tmp_path) as place:
        settings(place, RULES[rule])
        files = populate(place, SECRET_CWD)
        write(place, "open.jsonl", *session("open", "/work", "lithographic"))
        place.start()
        place.flush()
        for path in (files["session"], files["nested"], files["flat"]):
            append(path, answer(9, f"more of the {WORD} kind", cwd="/work"))
        place.flush()
        rows = place.sessions()

        assert traces(place, WORD) == []
        assert traces(place, "lithographic") != []
        assert place.found(WORD) == []
        for name in ("boss.jsonl", "agent-1.jsonl", "agent-0a0b0c0d.jsonl"):
            assert rows[name]["state"] == "excluded"
            assert rows[name]["captured_bytes"] == 0
            assert rows[name]["size_bytes"] > 0
        assert rows["open.jsonl"]["state"] == "idle"
        assert place.cli("verify").returncode == 0


def test_a_link_in_a_rule_leads_to_what_it_means(tmp_path: Path) -> None:
    (tmp_path / "real" / "secret").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with home(tmp_path) as place:
        settings(place, f'exclude.projects = ["{tmp_path}/link/secret"]')
        write(place, "boss.jsonl", *session("boss", f"{tmp_path}/real/secret/deep"))
        place.start()
        place.flush()

        assert traces(place, WORD) == []


def test_the_folder_of_a_path_rule_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".claude").symlink_to(tmp_path / "elsewhere")
    with home(tmp_path / "home") as place:
        settings(place, 'exclude.paths = ["~/.claude/projects/*/boss.jsonl"]')
        write(place, "boss.jsonl", *session("boss", "/work"))
        place.start()
        place.flush()

        assert traces(place, WORD) == []


def test_only_lengths_and_counts_are_kept_of_a_metadata_session(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        settings(place, f'[projects."{SECRET_CWD}"]\nmode = "metadata"')
        files = populate(place, SECRET_CWD)
        place.start()
        place.flush()
        append(files["session"], answer(9, f"more of the {WORD} kind"))
        place.flush()
        row = place.sessions()["boss.jsonl"]

        assert traces(place, WORD) == []
        assert row["captured_bytes"] == row["size_bytes"] == files["session"].stat().st_size
        assert local(row)["dropped"] == {"metadata": 4}
        assert local(row)["pending_bytes"] == 0
        assert place.sessions()["agent-1.jsonl"]["mode"] == "metadata"
        assert place.cli("verify").returncode == 0
        assert place.cli("restore", "boss").returncode == 74


def test_the_count_of_a_metadata_session_survives_a_crash(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        settings(place, f'[projects]\n"{SECRET_CWD}" = "metadata"\n[memory.local]\nidle_s = 3600')
        write(place, "boss.jsonl", *session("boss", SECRET_CWD))
        place.start(RETAIND_FAILPOINT="capture.committed", wait=False)
        place.wait_for_exit()
        place.start()
        place.flush()

        assert local(place.sessions()["boss.jsonl"])["dropped"] == {"metadata": 3}


def test_nothing_is_kept_before_the_folder_is_known(tmp_path: Path) -> None:
    lines = session("boss", SECRET_CWD)
    queued = record("queue-operation", 1, "boss", cwd=None, content=f"the {WORD} press")
    with home(tmp_path) as place:
        settings(place, RULES["folder"])
        hidden = write(place, "boss.jsonl", lines[0], queued)
        shown = write(place, "open.jsonl", lines[0], queued)
        place.start()
        place.flush()
        assert traces(place, WORD) == []
        row = place.sessions()["open.jsonl"]
        assert (row["mode"], row["state"], row["captured_bytes"]) == ("held", "pending", 0)
        assert place.cli("verify").returncode == 0

        append(hidden, *lines[1:])
        append(shown, prompt(2, "hello", cwd="/work"))
        place.flush()

        rows = place.sessions()
        assert rows["boss.jsonl"]["captured_bytes"] == 0
        assert rows["open.jsonl"]["captured_bytes"] == shown.stat().st_size
        assert traces(place, WORD) == [VAULT], "the open session's own queue"


def test_a_folder_that_is_named_late_is_found(tmp_path: Path) -> None:
    late = json.dumps(
        {
            "message": {"role": "user", "content": f"{WORD} " * 20_000},
            "type": "user",
            "cwd": SECRET_CWD,
            "sessionId": "boss",
            "uuid": "u-1",
        }
    ).encode()
    with home(tmp_path) as place:
        settings(place, RULES["folder"])
        write(place, "boss.jsonl", late + b"\n")
        place.start()
        place.flush()

        assert traces(place, WORD) == []
        assert place.sessions()["boss.jsonl"]["state"] == "excluded"


@pytest.mark.parametrize(
    ("cwd", "opening"),
    [
        ("/home/dev/.claude-mem/observer-sessions", "hello"),
        ("/work", "You are a Claude-Mem, a specialized observer tool for creating memory"),
    ],
)
def test_a_memory_tools_own_sessions_are_not_remembered(
    cwd: str, opening: str, tmp_path: Path
) -> None:
    with running_daemon(tmp_path) as place:
        written = prompt(2, opening, cwd=cwd, entrypoint="sdk-cli")
        path = write(place, "boss.jsonl", written, answer(3, f"the {WORD} press", cwd=cwd))
        spilled = place.project / "boss" / "tool-results"
        write(place, "out.txt", WORD.encode(), folder=spilled)
        place.flush()
        append(path, prompt(4, f"more about the {WORD} press", cwd="/work", entrypoint="cli"))
        place.flush()

        assert traces(place, WORD) == []
        assert place.sessions()["boss.jsonl"]["state"] == "excluded"


@pytest.mark.parametrize("by", ["reload", "restart"])
@pytest.mark.parametrize("rule", ["paths", "folder", "mode"])
def test_a_rule_that_is_added_later_holds_from_then_on(rule: str, by: str, tmp_path: Path) -> None:
    with running_daemon(tmp_path) as place:
        files = populate(place, SECRET_CWD)
        place.flush()
        kept = {name: files[name].read_bytes() for name in ("session", "nested", "flat")}
        settings(place, RULES[rule])
        if by == "restart":
            place.stop()
            place.start()
        else:
            reloaded = place.ask("POST", "/v1/reload")
            assert reloaded["changed"]
            assert reloaded["after_restart"] == []
        for name in kept:
            append(files[name], answer(9, "the typographic press"))
        with files["history"].open("ab") as history:
            history.write(b'{"display":"typographic"}\n')
        write(place, "late.txt", b"typographic", folder=files["spilled"].parent)
        place.flush()

        assert traces(place, "typographic") == []
        for name, content in kept.items():
            row = place.sessions()[files[name].name]
            assert row["state"] == "excluded"
            assert place.restored(row["id"]) == content, "what was kept before stays"


def test_what_waits_when_a_rule_comes_is_not_retained(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        settings(place, "[memory.local]\nidle_s = 3600\nmax_behind_s = 3600")
        write(place, "boss.jsonl", *session("boss", SECRET_CWD))
        place.start()
        captured = len(b"".join(session("boss", SECRET_CWD)))
        wait_until(
            lambda: place.sessions().get("boss.jsonl", {}).get("captured_bytes") == captured,
            "the session is captured",
        )
        settings(place, RULES["folder"])
        place.ask("POST", "/v1/reload")
        place.flush()
        row = place.sessions()["boss.jsonl"]

        assert traces(place, WORD) == [VAULT]
        assert local(row)["dropped"] == {"excluded": 3}
        assert place.status()["pending_bytes"] == 0


def test_an_excluded_path_with_odd_bytes_is_excluded(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        settings(place, 'exclude.paths = ["*/odd*"]')
        place.project.mkdir(parents=True, exist_ok=True)
        path = os.path.join(os.fsencode(place.project), b"odd\xff.jsonl")
        with open(path, "wb") as file:
            file.write(b"".join(session("odd", "/work")))
        place.start()
        place.flush()

        assert traces(place, WORD) == []
        assert len(place.sessions()) == 1
