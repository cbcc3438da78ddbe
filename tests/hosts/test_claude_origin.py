"""What the first bytes tell: where a session was started, and whether a memory tool started it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.claude_lines import HOST, assistant, line, user
from retaind.hosts.port import Peek

QUEUED = b'{"type":"queue-operation","operation":"enqueue","content":"hello"}\n'
MODE = b'{"type":"mode","mode":"normal"}\n'
SUMMARISER = "Context: This summary will be shown in a list to help users and Claude choose which"
OBSERVER = "You are a Claude-Mem, a specialized observer tool for creating searchable memory"


def test_the_first_cwd_is_the_sessions() -> None:
    head = QUEUED + user("hello", cwd="/first") + b"\n" + user("more", cwd="/second") + b"\n"

    assert HOST.peek(head) == Peek("/first", memory_tool=False, decided=True, session_id="s-1")


@pytest.mark.parametrize("head", [b"", MODE, QUEUED + MODE, b'{"type":"user","mess', b"junk\n"])
def test_nothing_is_decided_before_a_cwd_is_seen(head: bytes) -> None:
    assert HOST.peek(head) == Peek(None, memory_tool=False, decided=False)


def test_a_cwd_without_a_conversation_leaves_the_origin_open() -> None:
    head = line("system", subtype="informational", cwd="/w") + b"\n"

    assert HOST.peek(head) == Peek("/w", memory_tool=False, decided=False, session_id="s-1")


def test_a_conversation_without_a_cwd_leaves_the_folder_open() -> None:
    head = b'{"role":"user","content":"hello"}\n'

    assert HOST.peek(head) == Peek(None, memory_tool=False, decided=False)


def test_a_sub_agent_that_begins_with_an_answer_is_decided() -> None:
    head = assistant({"type": "text", "text": "Ready."}) + b"\n"

    assert HOST.peek(head) == Peek(
        "/home/dev/work", memory_tool=False, decided=True, session_id="s-1"
    )


def test_the_cwd_is_found_before_the_end_of_a_first_line_that_is_not_seen() -> None:
    head = user("x" * 100_000, cwd='/odd "name"\\n')[: 64 * 1024]

    assert HOST.peek(head).cwd == '/odd "name"\\n'


def test_a_cwd_that_is_only_spoken_of_is_none() -> None:
    head = user('{"cwd":"/not/this"} ' * 9000, cwd="/this")[:60_000]

    assert HOST.peek(head).cwd == "/this"
    assert HOST.peek(b'{"content":"' + head[300:]).cwd is None


@pytest.mark.parametrize("cwd", [5, None, ["/w"]])
def test_a_cwd_that_is_no_text_is_none(cwd: object) -> None:
    assert HOST.peek(user("hello", cwd=cwd) + b"\n").cwd is None


def test_an_odd_record_still_tells_its_cwd() -> None:
    assert HOST.peek(user("hello", timestamp=17, cwd="/w") + b"\n").cwd == "/w"


def test_a_record_glued_to_a_torn_one_still_tells_its_cwd() -> None:
    assert HOST.peek(b'{"type":"user","mess' + user("hello", cwd="/w") + b"\n").cwd == "/w"


@pytest.mark.parametrize(
    "cwd",
    [
        "/home/dev/.claude-mem/observer-sessions",
        "/home/dev/.hindsight",
        "/home/dev/.local/share/episodic-memory/run",
        "/home/dev/.config/superpowers/conversation-archive",
    ],
)
def test_a_session_in_a_memory_tools_data_is_the_tools_own(cwd: str) -> None:
    assert HOST.peek(user("hello", cwd=cwd) + b"\n") == Peek(
        cwd, memory_tool=True, decided=True, session_id="s-1"
    )


@pytest.mark.parametrize(
    "cwd", ["/home/dev/src/claude-mem", "/home/dev/hindsight", "/home/dev/.hindsight-notes"]
)
def test_working_on_a_memory_tool_is_work(cwd: str) -> None:
    assert not HOST.peek(user("hello", cwd=cwd) + b"\n").memory_tool


@pytest.mark.parametrize("opening", [SUMMARISER, OBSERVER])
@pytest.mark.parametrize("entrypoint", ["sdk-cli", "sdk-ts", None])
def test_a_session_that_a_memory_tool_opens_is_the_tools_own(
    opening: str, entrypoint: str | None
) -> None:
    prompts: list[object] = [f"\n{opening} …", [{"type": "text", "text": opening}]]
    for prompt in prompts:
        peek = HOST.peek(QUEUED + user(prompt, entrypoint=entrypoint) + b"\n")

        assert peek == Peek("/home/dev/work", memory_tool=True, decided=True, session_id="s-1")


def test_a_long_opening_is_known_by_its_beginning() -> None:
    head = user(SUMMARISER + "x" * 100_000, entrypoint="sdk-cli")[: 64 * 1024]

    assert HOST.peek(head).memory_tool


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(user(OBSERVER, entrypoint="cli") + b"\n", id="typed at the terminal"),
        pytest.param(user(f"What is '{OBSERVER}'?", entrypoint="sdk-cli") + b"\n", id="quoted"),
        pytest.param(
            user("hello", entrypoint="sdk-cli")
            + b"\n"
            + user(OBSERVER, entrypoint="sdk-cli")
            + b"\n",
            id="not the first prompt",
        ),
        pytest.param(user(OBSERVER + "x" * 90_000, entrypoint="cli")[:65_536], id="long, typed"),
    ],
)
def test_a_person_may_use_the_same_words(head: bytes) -> None:
    assert not HOST.peek(head).memory_tool


@given(st.binary(max_size=200))
def test_any_bytes_have_an_answer(head: bytes) -> None:
    peek = HOST.peek(head)

    if peek.cwd is not None:
        peek.cwd.encode()


def test_the_session_that_the_records_name_is_told() -> None:
    cut = user("x" * 100_000, sessionId="s-7")[: 64 * 1024]
    spoken_of = line("summary", summary='"sessionId":"no"', data={"sessionId": "no"}, sessionId=7)

    assert HOST.peek(QUEUED + user("hello", sessionId="s-8") + b"\n").session_id == "s-8"
    assert HOST.peek(cut).session_id == "s-7"
    assert HOST.peek(spoken_of + b"\n" + user("hello") + b"\n").session_id == "s-1"
    assert HOST.peek(QUEUED + MODE).session_id is None
