"""Each key of `retain` and `redact`, set in the file, from a transcript to what the memory holds."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.process import Home, home
from policies.transcripts import (
    answer,
    call,
    documents,
    local,
    prompt,
    result,
    settings,
    write,
)

LONG = "z" * 5000
SECRET = "gh" + "p_" + "Kq3" * 12

TRANSCRIPT = [
    prompt(1, "look at the copper mine"),
    answer(2, "Looking.", call("Read", "t1", file_path="/mine/map.txt", note=LONG)),
    prompt(3, [result("t1", "shaft seven " + LONG)]),
    answer(4, "Shaft seven is flooded."),
    prompt(5, "<command-name>/status</command-name>"),
    prompt(6, "ok"),
    answer(7, call("mcp__notes__search", "t2", query="drainage")),
    prompt(8, [result("t2", "remembered drainage")]),
    answer(9, call("mcp__chat__reply", "t3", text="told the chat")),
]


class Retained:
    """What came of the transcript under some settings."""

    def __init__(self, place: Home) -> None:
        (row,) = place.sessions().values()
        self.row = row
        self.text = "\n".join(documents(place))
        self.retained = local(row)["retained"]
        self.dropped = local(row)["dropped"]


Under = Callable[..., Retained]


@pytest.fixture(name="under")
def _under(tmp_path: Path) -> Under:
    def run(text: str, *lines: bytes, **environ: str) -> Retained:
        with home(tmp_path, **environ) as place:
            settings(place, text)
            write(place, "s.jsonl", *(lines or TRANSCRIPT))
            place.start()
            place.flush()
            found = Retained(place)
            account = local(found.row)
            assert account["retained"] + sum(account["dropped"].values()) == 9 or lines
            return found

    return run


def test_by_default_what_was_said_and_which_tools_were_used_is_retained(under: Under) -> None:
    found = under("")

    assert found.text.startswith("[role: user]\nlook at the copper mine\n[user:end]\n\n")
    assert "> Read /mine/map.txt" in found.text
    assert LONG[:100] not in found.text
    assert "told the chat" in found.text
    assert found.dropped == {"tool_result": 1, "empty": 1, "memory_tool": 2}
    assert found.retained == 5


# format


@pytest.mark.parametrize(
    ("form", "read"),
    [
        ("json", json.loads),
        ("jsonl", lambda text: [json.loads(line) for line in text.splitlines()]),
    ],
    ids=["json", "jsonl"],
)
def test_documents_have_the_form_that_is_asked_for(
    form: str, read: Callable[[str], Any], under: Under
) -> None:
    messages = read(under(f'retain.format = "{form}"').text)

    assert [one["role"] for one in messages] == ["user", *["assistant"] * 2, "user", "assistant"]
    assert "copper mine" in json.dumps(messages[0])


# tools


def test_no_tools_means_words_alone(under: Under) -> None:
    found = under('retain.tools = "none"')

    assert "Read" not in found.text
    assert "told the chat" in found.text, "said to a person, though through a tool"
    assert found.dropped == {"tool_result": 1, "empty": 1, "memory_tool": 2}


def test_all_of_tools_is_capped_visibly(under: Under) -> None:
    found = under(
        'retain.tools = "full"\nretain.tool_input_chars = 60\nretain.tool_result_chars = 40'
    )

    assert '> Read {"file_path":"/mine/map.txt","note":"z' in found.text
    assert "< shaft seven z" in found.text
    assert found.text.count("… [cut, ") == 2
    assert f"… [cut, {len('shaft seven ' + LONG)} characters in all]" in found.text
    assert "z" * 61 not in found.text
    assert found.dropped == {"empty": 1, "memory_tool": 2}


def test_the_caps_are_two_thousand_characters_by_default(under: Under) -> None:
    found = under('retain.tools = "full"')

    assert "z" * 1900 in found.text
    assert "z" * 2001 not in found.text


def test_words_decide_which_tools_are_a_memorys_own(under: Under) -> None:
    found = under('retain.operational_words = ["reply"]')

    assert "told the chat" not in found.text
    assert "mcp__notes__search" in found.text
    assert found.dropped == {"tool_result": 2, "empty": 1, "memory_tool": 1}


# roles, lengths, wrappers


@pytest.mark.parametrize(
    ("role", "kept", "lost"), [("user", "copper", "flooded"), ("assistant", "flooded", "copper")]
)
def test_only_the_roles_that_are_asked_for_are_retained(
    role: str, kept: str, lost: str, under: Under
) -> None:
    found = under(f'retain.roles = ["{role}"]')

    assert kept in found.text
    assert lost not in found.text
    assert found.dropped["role"] > 0


def test_short_messages_may_be_left_out(under: Under) -> None:
    found = under("retain.min_chars = 3")

    assert found.dropped["too_short"] == 1
    assert "\nok\n" not in found.text


def test_the_hosts_own_commands_may_count_as_conversation(under: Under) -> None:
    found = under("retain.harness_wrappers = true")

    assert "/status" in found.text
    assert "empty" not in found.dropped
    assert found.row["turns"] == 3


def test_by_default_a_command_starts_no_turn(under: Under) -> None:
    assert under("").row["turns"] == 2


# labels


def test_context_tags_and_metadata_go_with_what_is_found(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        settings(
            place,
            """
            [retain]
            context = "mining notes"
            tags = ["in:{project}", "by:{user_id}", "empty:{bank_id}", "plain", "{session_id}"]
            metadata = { where = "{project}/{session_id}", host = "cannot be set" }
            [bank]
            user = "ada"
            """,
        )
        write(place, "s.jsonl", *TRANSCRIPT)
        write(place, "t.jsonl", prompt(50, "another copper mine", "t", cwd="/elsewhere/tin"))
        place.start()
        place.flush()
        (hit,) = place.json("search", "copper", "--session", "s")["results"]

        assert hit["context"] == "mining notes"
        assert hit["tags"] == ["in:lab", "by:ada", "plain", "s"]
        assert hit["metadata"]["where"] == "lab/s"
        assert hit["metadata"]["host"] == "claude_code"
        assert hit["metadata"]["message_count"] == "5"
        tagged = place.json("search", "copper", "--tag", "in:tin")["results"]
        assert [one["session_id"] for one in tagged] == ["t"]


def test_the_session_is_the_tag_by_default(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        write(place, "s.jsonl", *TRANSCRIPT)
        place.start()
        place.flush()
        (hit,) = place.json("search", "copper")["results"]

        assert (hit["tags"], hit["context"]) == (["s"], "claude-code")


# redaction


def test_secrets_are_kept_where_the_user_switched_redaction_off(tmp_path: Path) -> None:
    line = prompt(1, f"the token is {SECRET} today")
    for off in (False, True):
        with home(tmp_path / str(off)) as place:
            settings(place, "redact.enabled = false" if off else "")
            write(place, "s.jsonl", line, answer(2, "noted"))
            place.start()
            place.flush()

            shown = place.cli("show", "s").stdout.decode()
            recalled = place.json("recall", f"today {SECRET}")
            assert (SECRET in "\n".join(documents(place))) is off
            assert (SECRET in shown) is off
            assert (SECRET in recalled["query"]) is off
            assert local(place.sessions()["s.jsonl"])["redacted"] == (
                {} if off else {"github-token": 1}
            )


# the environment


def test_the_environment_wins_over_the_file(under: Under) -> None:
    found = under(
        'retain.format = "jsonl"\nretain.tools = "full"',
        RETAIND_RETAIN_FORMAT="text",
        RETAIND_RETAIN_ROLES="assistant",
    )

    assert found.text.startswith("[role: assistant]")
    assert "< shaft seven" not in found.text, "results are what a user's record brings"
    assert '> Read {"file_path"' in found.text, "what the environment does not name stays"
