"""Reading verbs, with the daemon stopped."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import SECRET, SESSION, TRANSCRIPT
from harness.process import Home
from harness.rig import lines


def test_sessions_lists_every_transcript(kept: Home) -> None:
    rows = {row["session_id"]: row for row in kept.json("sessions")}

    assert len(rows) == 2
    row = rows[SESSION]
    assert row["captured_bytes"] == row["size_bytes"] == len(TRANSCRIPT)
    assert row["memories"]["local"]["pending_bytes"] == 0
    assert (row["messages"], row["turns"], row["state"]) == (3, 2, "idle")


def test_sessions_is_a_table_for_people(kept: Home) -> None:
    shown = kept.cli("sessions").stdout.decode().splitlines()

    assert shown[0].split() == ["id", "project", "kept", "pending", "messages", "active", "state"]
    assert len(shown) == 4


def test_a_session_is_found_by_its_beginning(kept: Home) -> None:
    assert [row["session_id"] for row in kept.json("sessions", SESSION[:8])] == [SESSION]


def test_show_prints_what_was_said_without_secrets_or_commands_to_the_terminal(kept: Home) -> None:
    shown = kept.cli("show", SESSION).stdout.decode()

    assert "; times are UTC" in shown.splitlines()[0]
    assert "user · 2026-02-03 10:00:01" in shown
    assert "By the river" in shown
    assert SECRET not in shown
    assert "\x1b" not in shown


def test_show_as_markdown_and_as_lines_of_json(kept: Home) -> None:
    markdown = kept.cli("show", SESSION, "--format", "md").stdout.decode()
    lines = kept.cli("show", SESSION, "--format", "jsonl").stdout.decode().splitlines()

    assert "## Assistant · 2026-02-03 10:00:02\n\nBy the river" in markdown
    assert [json.loads(line)["role"] for line in lines] == ["user", "assistant", "user"]
    assert SECRET not in markdown + "".join(lines)


def test_recall_answers_from_what_was_kept_and_says_so(kept: Home) -> None:
    done = kept.cli("recall", "where does the heron nest", "--session", "unheard-of")
    asked = kept.json("recall", "where does the heron nest")

    assert b"By the river" in done.stdout
    assert b"retaind is not running" in done.stderr
    assert b"no session is called that" in done.stderr
    assert "By the river" in asked["block"]
    assert (asked["memory"], asked["results"][0]["session_id"]) == ("local", SESSION)


def test_recall_from_a_server_needs_the_daemon(kept: Home) -> None:
    kept.config.write_text("[memory.hindsight]\nurl = 'http://127.0.0.1:1'\n")
    try:
        done = kept.cli("recall", "heron", "--memory", "hindsight")
        local = kept.json("recall", "heron")["memory"]
    finally:
        kept.config.unlink()

    assert done.returncode == 3
    assert b"FIX: retaind start" in done.stderr
    assert local == "local"


def test_show_raw_and_restore_give_the_exact_bytes(kept: Home, tmp_path: Path) -> None:
    output = tmp_path / "restored"

    assert kept.cli("show", SESSION, "--format", "raw").stdout == TRANSCRIPT
    assert kept.cli("restore", SESSION).stdout == TRANSCRIPT
    done = kept.cli("restore", SESSION, "-o", str(output))
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr.decode() == f"wrote {len(TRANSCRIPT)} B to {output}\n"
    assert output.read_bytes() == TRANSCRIPT
    assert output.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["restored"]


def test_restore_never_replaces_a_file_unless_it_is_forced(kept: Home, tmp_path: Path) -> None:
    output = tmp_path / "precious"
    output.write_text("mine")

    done = kept.cli("restore", SESSION, "-o", str(output))
    assert done.returncode == 2
    assert b"--force" in done.stderr
    assert output.read_text() == "mine"

    assert kept.cli("restore", SESSION, "-o", str(output), "--force").returncode == 0
    assert output.read_bytes() == TRANSCRIPT


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--generation", "9"], b"there is no generation 9. WHY: there is only 1."),
        (["--attachment", "x"], b"there is no attachment"),
    ],
)
def test_restore_of_what_is_not_there_says_so(
    kept: Home, arguments: list[str], words: bytes
) -> None:
    done = kept.cli("restore", SESSION, *arguments)

    assert done.returncode == 1
    assert words in done.stderr
    assert b"FIX: leave --" in done.stderr


def test_restore_into_a_folder_that_is_not_there_says_what_to_do(
    kept: Home, tmp_path: Path
) -> None:
    done = kept.cli("restore", SESSION, "-o", str(tmp_path / "none" / "x"))

    assert done.returncode == 74
    assert b"FIX: name a file in a folder that exists" in done.stderr


def test_restore_of_a_session_that_is_kept_without_its_bytes_says_so(place: Home) -> None:
    place.config.write_text('[projects."/work/app"]\nmode = "metadata"\n')
    place.start()
    (place.project / f"{SESSION}.jsonl").write_bytes(TRANSCRIPT)
    place.flush()

    done = place.cli("restore", SESSION)

    assert (done.returncode, done.stdout) == (74, b"")
    assert b"does not hold this session's bytes" in done.stderr
    assert b'mode = "metadata"' in done.stderr


def test_restore_does_not_write_bytes_to_a_terminal(kept: Home) -> None:
    leader, follower = os.openpty()
    done = subprocess.run(
        [sys.executable, "-I", "-m", "retaind", "restore", SESSION],
        env=kept.environ,
        stdout=follower,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(follower)
    os.close(leader)

    assert done.returncode == 2
    assert b"-o FILE" in done.stderr


def test_search_finds_what_was_said_and_keeps_to_its_filters(kept: Home) -> None:
    results = kept.json("search", "heron")["results"]

    assert [result["session_id"] for result in results] == [SESSION]
    assert {"text", "session_id", "host", "project", "timestamp", "score"} <= set(results[0])
    assert kept.json("search", "heron", "--role", "assistant")["results"] == []
    assert kept.json("search", "heron", "--since", "2027-01-01")["results"] == []
    assert kept.json("search", "heron", "--host", "claude_code", "--until", "2027-01-01")["results"]
    assert kept.cli("search", "unheard-of").stdout == b"nothing found\n"
    assert b"heron" in kept.cli("search", "heron").stdout


@pytest.mark.parametrize("arguments", [[], ["--deep"], [SESSION], [SESSION, "--deep"]])
def test_verify_agrees(kept: Home, arguments: list[str]) -> None:
    done = kept.cli("verify", *arguments, "--json")

    assert done.returncode == 0
    assert json.loads(done.stdout)["ok"] is True
    assert b"agree" in kept.cli("verify", *arguments).stdout


def test_verify_names_what_differs(kept: Home) -> None:
    path = kept.project / f"{SESSION}.jsonl"
    try:
        path.write_bytes(TRANSCRIPT + b"{}\n")
        done = kept.cli("verify")
    finally:
        path.write_bytes(TRANSCRIPT)

    assert done.returncode == 1
    assert b"3 bytes are not captured yet" in done.stdout


def test_verify_of_a_running_daemon_waits_for_what_is_on_its_way(place: Home) -> None:
    place.environ["RETAIND_WATCH_MODE"] = "scan"
    place.start()
    path = place.project / f"{SESSION}.jsonl"
    path.write_bytes(TRANSCRIPT)
    place.flush()
    path.write_bytes(TRANSCRIPT + TRANSCRIPT.replace(b"heron", b"stork"))

    assert place.cli("verify").returncode == 0


def test_config_shows_values_and_origins_but_no_token(place: Home) -> None:
    place.config.write_text("[memory.hindsight]\nurl = 'http://h'\ntoken = 's3cret'\n")
    place.environ["RETAIND_WATCH_MODE"] = "scan"

    shown = place.cli("config").stdout.decode()
    facts = place.json("config")

    assert 'watch.mode = "scan"  # RETAIND_WATCH_MODE' in shown
    assert facts["memory.hindsight.url"] == {"value": "http://h", "origin": f"{place.config}:2"}
    assert facts["watch.scan_interval_s"]["origin"] == "default"
    assert "s3cret" not in shown + json.dumps(facts)
    assert place.cli("config", "watch").stdout.count(b"\n") == 3
    assert place.cli("config", "nope").returncode == 2


def test_what_config_prints_can_be_pasted_into_the_file(place: Home) -> None:
    place.config.write_text(
        '[projects."~/a b"]\nmode = "off"\n[bank.directory_map]\n"/w" = "work"\n'
        "[recall.min_scores]\nsemantic = 0.5\n"
    )
    shown = place.cli("config").stdout.decode()
    facts = place.json("config")

    place.config.write_text(shown)

    assert "retain.metadata = {}\n" in shown
    assert "# recall.tag_groups is not set\n" in shown
    again = place.json("config")
    assert {k: v["value"] for k, v in again.items()} == {k: v["value"] for k, v in facts.items()}


def test_doctor_works_without_a_daemon(kept: Home) -> None:
    done = kept.cli("doctor")

    assert done.returncode == 0
    assert b"ok    database" in done.stdout
    assert b"fix: retaind start" in done.stdout


def test_doctor_fails_for_a_state_that_others_can_read(place: Home) -> None:
    place.state.mkdir(mode=0o755)

    done = place.cli("doctor")

    assert done.returncode == 1
    assert b"chmod 700" in done.stdout


def test_selftest_passes(place: Home) -> None:
    done = place.cli("selftest")

    assert done.returncode == 0, done.stdout.decode()
    assert done.stdout.count(b"ok    ") == 5


def test_doctor_counts_the_log_of_the_database_too(kept: Home) -> None:
    database = kept.state / "retaind.db"
    log = database.with_name("retaind.db-wal")
    before = database.stat().st_size
    was = log.read_bytes() if log.exists() else None
    log.write_bytes(b"\0" * 9_000_000)  # no frame of it is valid: SQLite passes over it

    checks = {check["name"]: check["detail"] for check in kept.json("doctor")["checks"]}

    log.unlink(missing_ok=True) if was is None else log.write_bytes(was)
    assert checks["database"].startswith(f"{(before + 9_000_000) / 1e6:.1f} MB")


def test_verify_counts_what_earlier_generations_hold_too(place: Home) -> None:
    path = place.project / "s.jsonl"
    path.write_bytes(lines(1, 40))
    place.start()
    place.flush()
    path.write_bytes(lines(41, 42))
    place.flush()
    kept = len(lines(1, 40)) + len(lines(41, 42))

    (row,) = place.json("verify")["sessions"]
    assert (row["kept_bytes"], row["vault_bytes"]) == (kept, len(lines(41, 42)))
    assert (
        f"1 session of 1 agrees; {kept / 1000:.1f} kB in the vault"
        in place.cli("verify").stdout.decode()
    )
