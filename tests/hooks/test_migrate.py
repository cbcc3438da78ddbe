"""`retaind migrate hindsight-plugin`: its settings become ours, and what is set already stays."""

import json
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from harness.process import Home, running_daemon
from hooks.events import HERON, WEIR, Hooked, said

PLUGIN = {
    "hindsightApiUrl": "http://127.0.0.1:8888",
    "hindsightApiToken": "hush",
    "recallMaxTokens": 512,
    "recallBudget": None,
    "retainMode": "chunked",
    "retainEveryNTurns": 5,
    "retainToolCalls": True,
    "retainMission": "Keep\nfacts",
    "directoryBankMap": {'/work/a "b"': "bank"},
    "recallMinScores": {"final": 0.3},
    "bankId": "mine",
    "bankMission": "",
}
TAKEN = {
    "memory.hindsight.url": "http://127.0.0.1:8888",
    "memory.hindsight.token": "(set, not shown)",
    "memory.hindsight.mode": "chunked",
    "memory.hindsight.every_n_turns": 5,
    "recall.max_tokens": 512,
    "recall.memory": "hindsight",
    "recall.min_scores": [["final", 0.3]],
    "retain.tools": "full",
    "retain.format": "json",
    "bank.id": "mine",
    "bank.retain_mission": "Keep\nfacts",
    "bank.directory_map": [['/work/a "b"', "bank"]],
}


def plugin_settings(place: Home, settings: object) -> Path:
    folder = place.folder / ".hindsight"
    folder.mkdir(exist_ok=True)
    path = folder / "claude-code.json"
    path.write_text(settings if isinstance(settings, str) else json.dumps(settings))
    return path


def migrate(place: Home, *options: str) -> str:
    finished = place.cli("migrate", "hindsight-plugin", *options)
    assert finished.returncode == 0, finished.stderr.decode()
    return finished.stdout.decode()


def in_force(place: Home) -> dict[str, Any]:
    return {key: one["value"] for key, one in place.json("config").items()}


def changed(place: Home) -> dict[str, Any]:
    return {
        key: one["value"] for key, one in place.json("config").items() if one["origin"] != "default"
    }


def test_its_settings_become_ours(place: Home) -> None:
    plugin_settings(place, PLUGIN)

    said_ = migrate(place)

    assert changed(place) == TAKEN
    assert "hush" not in said_
    assert stat.S_IMODE(place.config.stat().st_mode) == 0o600


def test_a_dry_run_changes_nothing(place: Home) -> None:
    plugin_settings(place, PLUGIN)

    said_ = migrate(place, "--dry-run")

    assert 'would write: bank.id = "mine"' in said_
    assert "hush" not in said_
    assert not place.config.exists()


def test_what_is_set_already_stays_with_its_comments_and_is_kept_beside(place: Home) -> None:
    before = "# mine\n[recall] # ours\nmax_tokens = 700\n\n[memory.hindsight]\nidle_s = 9.0\n"
    place.config.write_text(before)
    plugin_settings(place, PLUGIN)

    migrate(place)
    migrate(place)

    text = place.config.read_text()
    assert [line for line in before.splitlines() if line not in text.splitlines()] == []
    assert changed(place) == {**TAKEN, "recall.max_tokens": 700, "memory.hindsight.idle_s": 9.0}
    assert Path(f"{place.config}.before-migrate").read_text() == before


@pytest.mark.parametrize("before", ["recall = { max_tokens = 700 }\n", "recall.max_tokens = 700\n"])
def test_a_file_that_cannot_be_added_to_is_left_alone(place: Home, before: str) -> None:
    place.config.write_text(before)
    plugin_settings(place, PLUGIN)

    finished = place.cli("migrate", "hindsight-plugin")

    assert finished.returncode == 78
    assert b"recall.context_turns" not in finished.stderr
    assert b'bank.id = "mine"' in finished.stderr
    assert place.config.read_text() == before


def test_the_environment_wins_over_the_users_file_and_that_over_the_plugins(place: Home) -> None:
    shipped = place.claude / "plugins" / "cache" / "market" / "hindsight-memory" / "0.7.5"
    shipped.mkdir(parents=True)
    values = {"bankId": "shipped", "agentName": "shipped", "recallMaxTokens": 1}
    (shipped / "settings.json").write_text(json.dumps(values))
    plugin_settings(
        place, {"agentName": "file", "recallMaxTokens": 2, "hindsightApiUrl": "http://h"}
    )
    place.environ |= {"HINDSIGHT_RECALL_MAX_TOKENS": "3", "HINDSIGHT_USER_ID": "me"}

    migrate(place)

    found = in_force(place)
    assert (found["bank.id"], found["bank.agent_name"]) == ("shipped", "file")
    assert (found["recall.max_tokens"], found["bank.user"]) == (3, "me")


def test_what_does_not_fit_is_named_and_left_out(place: Home) -> None:
    plugin_settings(place, {**PLUGIN, "recallBudget": "weird", "autoRetain": False})

    said_ = migrate(place)

    assert "recallBudget is left out" in said_
    assert "autoRetain is off" in said_
    assert in_force(place)["recall.budget"] == "mid"


def test_settings_that_do_not_fit_together_are_refused(place: Home) -> None:
    plugin_settings(place, {**PLUGIN, "retainOverlapTurns": 9})

    finished = place.cli("migrate", "hindsight-plugin")

    assert finished.returncode == 78
    assert b"overlap_turns" in finished.stderr
    assert not place.config.exists()


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_file_that_is_no_json_object_gives_nothing(place: Home, text: str) -> None:
    plugin_settings(place, text)

    assert place.cli("migrate", "hindsight-plugin").returncode == 1
    assert not place.config.exists()


def test_without_the_plugin_there_is_nothing_to_take_over(place: Home) -> None:
    finished = place.cli("migrate", "hindsight-plugin")

    assert finished.returncode == 1
    assert b"no settings of the Hindsight plugin" in finished.stderr


def test_doctor_names_the_command_but_nothing_is_taken_over_unasked(place: Home) -> None:
    plugin_settings(place, PLUGIN)

    assert b"retaind migrate hindsight-plugin takes them over" in place.cli("doctor").stdout
    assert changed(place) == {}


def test_doctor_says_when_both_retain_the_same_sessions(place: Home) -> None:
    settings = place.claude / "settings.json"
    settings.write_text('{"enabledPlugins": {"hindsight-memory@market": true}}')
    assert b"both retain" not in place.cli("doctor").stdout

    place.config.write_text('[memory.hindsight]\nurl = "http://127.0.0.1:9"\n')
    assert b"both retain the same sessions" in place.cli("doctor").stdout

    settings.write_text('{"enabledPlugins": {"hindsight-memory@market": false}}')
    assert b"both retain" not in place.cli("doctor").stdout


def test_what_the_plugin_sent_is_compared_message_by_message(tmp_path: Path) -> None:
    sent = (
        "[role: user]\nWhere does the heron nest?\n[user:end]\n\n"
        "[role: assistant]\nBy the old weir.\n[assistant:end]"
    )
    documents = {
        HERON: sent,
        f"{WEIR}-c2": json.dumps([{"role": "user", "content": [{"type": "text", "text": "Who?"}]}]),
        f"{HERON}@0-abc": "[role: user]\nours, by its id\n[user:end]",
    }
    with _server("mine", documents) as url, running_daemon(tmp_path) as place:
        hooked = Hooked(place)
        hooked.write(HERON, said(HERON, "Where does the  heron nest?", "By the old weir."))
        hooked.write(WEIR, said(WEIR, "Who mends the weir?"))
        place.flush()
        plugin_settings(place, {"hindsightApiUrl": url, "bankId": "mine"})

        finished = place.cli("migrate", "hindsight-plugin", "--dry-run", "--compare")

    printed = finished.stdout.decode()
    assert finished.returncode == 1
    assert f"{HERON}: 2 messages of the plugin's, 2 the same here" in printed
    assert f"{WEIR}: 1 message of the plugin's, 0 the same here" in printed
    assert "compared 2 sessions; 1 message differ" in printed
    assert "heron" not in printed


@contextmanager
def _server(bank: str, documents: dict[str, str]) -> Iterator[str]:
    """A Hindsight server as far as it lists documents and tells their text."""

    class Exchange(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Print nothing: a test's output is for failures."""

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            above, found, name = parts.path.rpartition("/documents")
            answer: Any = None
            if found and above == f"/v1/default/banks/{bank}":
                if name:
                    answer = {"original_text": documents[unquote(name[1:])]}
                else:
                    wanted = parse_qs(parts.query)["q"][0]
                    answer = {"items": [{"id": one} for one in documents if wanted in one]}
            data = json.dumps(answer or {}).encode()
            self.send_response(200 if answer is not None else 404)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Exchange)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
