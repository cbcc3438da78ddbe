"""Secrets in a conversation reach the vault, and nothing else: no file, answer, log line or event."""

import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from http.client import HTTPResponse
from pathlib import Path
from typing import NamedTuple

import pytest

from harness.planted import FORMS, mark, pem, sample
from harness.process import Home, _UnixConnection, home, wait_until
from policies.traces import VAULT, traces
from policies.transcripts import answer, call, documents, local, prompt, result, settings, write
from retaind.core.redact import redact


class Planted(NamedTuple):
    """A text with a secret in it."""

    kind: str
    text: str
    secret: str


def _planted() -> list[Planted]:
    """Make one secret of each form; chance can make what looks like a name, so look for one that is none."""
    found = []
    for kind, form in FORMS:
        chance = random.Random(form)
        while True:
            text, secret = sample(form, chance)
            if redact(text).kinds == {kind: 1} == redact(json.dumps([text])).kinds:
                break
        found.append(Planted(kind, text, secret))
    key = pem(random.Random(5), "PRIVATE KEY", 3)
    found.append(Planted("private-key", key, key.splitlines()[2]))
    return found


PLANTED = _planted()
PLACES = 5


def said(number: int, text: str) -> bytes:
    """Put a text where people, the agent or its tools say something."""
    if number % PLACES == 0:
        return prompt(number, f"look: {text}")
    if number % PLACES == 1:
        return prompt(number, [{"type": "text", "text": f"look: {text}"}])
    if number % PLACES == 2:
        return answer(number, f"I see {text}")
    if number % PLACES == 3:
        return answer(number, call("Bash", f"t{number}", command=f"echo {text}"))
    return prompt(number, [result(f"t{number - 1}", f"it says {text}")])


def escaped(line: bytes, secret: str) -> bytes:
    """Write a secret as escapes: the same text, but bytes in which nobody finds it."""
    inside = json.dumps(secret)[1:-1].encode()
    return line.replace(inside, b"".join(b"\\u%04x" % ord(sign) for sign in secret))


class Lived(NamedTuple):
    """A daemon that has retained all of it, and what it told."""

    place: Home
    told: str


@pytest.fixture(name="lived", scope="module")
def _lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lived]:
    folder = tmp_path_factory.mktemp("secrets")
    hooked = folder / "hooked"
    script = folder / "hook.py"
    script.write_text(f"import sys\nopen({str(hooked)!r}, 'a').write(sys.stdin.read())\n")
    with home(folder / "home") as place:
        settings(
            place,
            f"""
            log.level = "debug"
            retain.tools = "full"
            hooks.post_retain = {json.dumps([sys.executable, str(script)])}
            """,
        )
        place.start()
        connection = _UnixConnection(place.socket)
        connection.request("GET", "/v1/events")
        events = connection.getresponse()
        lines = [said(n, one.text) for n, one in enumerate(PLANTED)]
        write(place, "s.jsonl", *map(escaped, lines, [one.secret for one in PLANTED]))
        place.cli("retain", "-", "--document-id", "note", stdin=PLANTED[0].text.encode())
        place.flush()
        told = _next_result(events)
        wait_until(hooked.exists, "the hook has been called")
        connection.close()
        yield Lived(place, told + hooked.read_text())


def _next_result(events: HTTPResponse) -> str:
    """Read events up to a result, and return them."""
    read = ""
    while '"retained"' not in read:
        read += events.readline().decode()
    return read


def secrets_in(text: str) -> list[str]:
    return [f"{one.kind}: {one.text}" for one in PLANTED if one.secret in text]


def test_every_secret_was_said_and_taken_out(lived: Lived) -> None:
    text = "\n".join(documents(lived.place))

    assert secrets_in(text) == []
    for one in PLANTED:
        assert mark(one.kind) in text
    assert text.count("[redacted:") == len(PLANTED) + 1, "each once, and the one of the note"


def test_no_value_of_the_database_but_the_vaults_has_one(lived: Lived) -> None:
    left = {
        one.text: found
        for one in PLANTED
        if (found := [place for place in traces(lived.place, one.secret) if place != VAULT])
    }
    assert {text: places for text, places in left.items() if text != PLANTED[0].text} == {}


def test_no_file_of_the_state_has_one(lived: Lived) -> None:
    files = [path for path in lived.place.state.rglob("*") if path.is_file()]
    assert len(files) > 1
    data = b"\n".join(path.read_bytes() for path in files)

    noted = PLANTED[0].secret  # the note's own bytes are in the vault as they were given
    assert [
        one.text for one in PLANTED if one.secret.encode() in data and one.secret != noted
    ] == []


@pytest.mark.parametrize("form", ["text", "md", "jsonl"])
def test_a_conversation_is_shown_without_them(form: str, lived: Lived) -> None:
    shown = lived.place.cli("show", "s", "--format", form, "--tools", "full").stdout.decode()

    assert secrets_in(shown) == []
    assert shown.count("[redacted:") == len(PLANTED)
    assert secrets_in(lived.place.cli("show", "note").stdout.decode()) == []


def test_the_exact_bytes_are_shown_when_they_are_asked_for(lived: Lived) -> None:
    path = lived.place.project / "s.jsonl"

    assert lived.place.cli("show", "s", "--format", "raw").stdout == path.read_bytes()
    assert lived.place.restored("note").decode() == PLANTED[0].text


def test_searching_for_one_finds_nothing(lived: Lived) -> None:
    from urllib.parse import quote

    for one in PLANTED[::3]:
        words = max(re.findall(r"[A-Za-z0-9]+", one.secret), key=len)
        found = lived.place.ask("GET", f"/v1/search?q={quote(words)}")
        assert found["results"] == [], one.text
    assert secrets_in(json.dumps(lived.place.ask("GET", "/v1/search?q=redacted&limit=1000"))) == []


def test_what_is_recalled_has_none(lived: Lived) -> None:
    asked = {"session_id": "s", "turns": 500, "prompt": f"again: {PLANTED[3].text}"}
    recalled = lived.place.ask("POST", "/v1/recall", asked)
    foreign = lived.place.ask("POST", "/v1/recall", {"prompt": "look I see it says echo redacted"})

    assert secrets_in(json.dumps([recalled, foreign])) == []
    assert "[redacted:" in recalled["query"]
    assert foreign["results"]


def test_neither_log_nor_events_nor_results_have_one(lived: Lived) -> None:
    told = lived.told + lived.place.log.read_text()

    assert '"retained"' in told
    assert secrets_in(told) == []
    assert secrets_in(lived.place.cli("status", "--json").stdout.decode()) == []
    assert secrets_in(lived.place.cli("sessions", "--json").stdout.decode()) == []
    assert secrets_in(lived.place.cli("verify", "--json").stdout.decode()) == []


def test_they_are_counted_by_kind(lived: Lived) -> None:
    expected = Counter(one.kind for one in PLANTED)
    rows = {row["session_id"]: row for row in lived.place.ask("GET", "/v1/sessions")}

    assert local(rows["s"])["redacted"] == expected
    assert local(rows["note"])["redacted"] == {PLANTED[0].kind: 1}
    assert lived.place.status()["memories"]["local"]["redacted"] == expected + Counter(
        [PLANTED[0].kind]
    )


def test_a_secret_that_a_cap_would_cut_in_two_is_taken_out_whole(tmp_path: Path) -> None:
    one = PLANTED[3]
    with home(tmp_path) as place:
        settings(place, 'retain.tools = "full"\nretain.tool_result_chars = 100')
        lines = [
            prompt(n, [result("t", " " * n + "x" * (70 + n) + f" {one.text} more")])
            for n in range(0, 40, 3)
        ]
        write(place, "s.jsonl", *lines)
        place.start()
        place.flush()

        text = "\n".join(documents(place))
        assert one.secret[:12] not in text
        assert "[cut, " in text


def test_text_that_is_no_text_is_counted(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        broken = prompt(1, "caf\u00e9 copper").replace("\u00e9".encode(), b"\xe9")
        write(place, "s.jsonl", broken, prompt(2, "caf\u00e9 tin"), answer(3, "both are there"))
        write(place, "t.jsonl", prompt(4, "all is well", "t"))
        place.start()
        place.flush()
        rows = place.sessions()

        assert local(rows["s.jsonl"])["lossy"] == 1
        assert local(rows["t.jsonl"])["lossy"] == 0
        assert place.status()["memories"]["local"]["lossy"] == 1
        assert place.restored("s") == (place.project / "s.jsonl").read_bytes()
        assert "caf\ufffd copper" in "\n".join(documents(place))
