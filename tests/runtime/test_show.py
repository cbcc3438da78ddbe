"""Conversations and exact bytes, read back from a real vault."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from retaind.core.policy import RetainPolicy
from retaind.db import open_readonly
from retaind.errors import NotFound, StateError
from retaind.hosts import HOSTS
from retaind.runtime.catalog import Session, load
from retaind.runtime.show import (
    choose_attachment,
    choose_generation,
    exact,
    messages,
    text,
)
from runtime.vaulted import Vaulted

POLICY = RetainPolicy()
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def line(role: str, said: str, number: int) -> bytes:
    record = {
        "type": role,
        "uuid": f"00000000-0000-4000-8000-{number:012}",
        "timestamp": "2026-02-03T10:00:00.000Z",
        "message": {"role": role, "content": said},
    }
    return json.dumps(record).encode() + b"\n"


TALK = line("user", "Where is the heron?", 1) + line("assistant", f"Take {SECRET}.", 2)


@pytest.fixture(name="state")
def _state(tmp_path: Path) -> Iterator[Vaulted]:
    vaulted = Vaulted(tmp_path)
    yield vaulted
    vaulted.database.close()


@pytest.fixture(name="reader")
def _reader(state: Vaulted) -> Iterator[sqlite3.Connection]:
    connection = open_readonly(state.database.path)
    yield connection
    connection.close()


def said(reader: sqlite3.Connection, one: Session, policy: RetainPolicy = POLICY) -> list[str]:
    found = messages(reader, one, one.current, HOSTS["claude_code"], policy)
    return [f"{message.role}: {message.text}" for message in found]


@pytest.mark.parametrize("block_bytes", [7, 100, 100_000])
def test_a_conversation_reads_the_same_however_its_bytes_are_stored(
    state: Vaulted, reader: sqlite3.Connection, block_bytes: int
) -> None:
    state.keep("s1.jsonl", TALK, block_bytes=block_bytes)

    (one,) = load(reader)

    assert said(reader, one) == [
        "user: Where is the heron?",
        "assistant: Take [redacted:github-token].",
    ]


def test_secrets_are_shown_only_where_the_user_turned_redaction_off(
    state: Vaulted, reader: sqlite3.Connection
) -> None:
    state.keep("s1.jsonl", TALK)

    (one,) = load(reader)

    assert said(reader, one, RetainPolicy(redact=False))[1] == f"assistant: Take {SECRET}."


def test_the_last_line_is_shown_before_its_newline_comes(
    state: Vaulted, reader: sqlite3.Connection
) -> None:
    state.keep("s1.jsonl", TALK[:-1])

    (one,) = load(reader)

    assert len(said(reader, one)) == 2


def test_a_torn_line_does_not_hide_the_others(state: Vaulted, reader: sqlite3.Connection) -> None:
    state.keep("s1.jsonl", b'{"type":"user","mess\n\0\0\0\n' + TALK)

    (one,) = load(reader)

    assert len(said(reader, one)) == 2


def test_each_generation_is_given_back_exactly(state: Vaulted, reader: sqlite3.Connection) -> None:
    opened = state.keep("s1.jsonl", TALK, block_bytes=11)
    state.rewrite(opened, b"\xff\x00 anything\n")

    (one,) = load(reader)

    assert b"".join(exact(reader, choose_generation(one, 1))) == TALK
    assert b"".join(exact(reader, choose_generation(one, None))) == b"\xff\x00 anything\n"
    with pytest.raises(NotFound, match="no generation 3"):
        choose_generation(one, 3)


def test_pruned_bytes_are_an_error_and_not_a_gap(
    state: Vaulted, reader: sqlite3.Connection
) -> None:
    opened = state.keep("s1.jsonl", TALK, block_bytes=50)
    state.run(
        "UPDATE block SET data = NULL WHERE generation_id = ? AND start = 50",
        (opened.generation_id,),
    )

    (one,) = load(reader)

    with pytest.raises(StateError, match="no longer holds the bytes after 50"):
        b"".join(exact(reader, one.current))


def test_attachments_are_found_by_name_and_id(state: Vaulted, reader: sqlite3.Connection) -> None:
    state.keep("s1.jsonl", TALK)
    part = state.keep("result.txt", b"12345", kind="attachment", owner="s1")

    (one,) = load(reader)

    for name in ("result.txt", part.public_id):
        found = choose_attachment(one, name)
        assert b"".join(exact(reader, found.current)) == b"12345"
    with pytest.raises(NotFound, match="no attachment"):
        choose_attachment(one, "other.txt")


def test_a_text_of_the_users_own_is_shown_without_its_secrets(
    state: Vaulted, reader: sqlite3.Connection
) -> None:
    state.keep("note.txt", f"remember {SECRET}".encode(), kind="manual")

    (one,) = load(reader)

    assert text(reader, one.current, POLICY) == "remember [redacted:github-token]"
