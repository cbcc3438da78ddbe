"""Lines that are no JSON object: what can be read is read, the rest is counted, and no byte is skipped."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.claude_lines import HOST, assistant, line, user
from retaind.core.conversation import conversational_text
from retaind.core.policy import RetainPolicy
from retaind.core.records import Fate, Record, record_key

POLICY = RetainPolicy()
PROMPT = user("hello", uuid="u-1")
ANSWER = assistant({"type": "text", "text": "Hi."})
MODE = line("mode", mode="normal")


def assert_covers(start: int, data: bytes, records: tuple[Record, ...]) -> None:
    at = start
    for record in records:
        assert record.start == at
        assert record.end > at
        at = record.end
    if records or data.strip(b" \t\r\v\f").removeprefix(b"\xef\xbb\xbf"):
        assert at == start + len(data) + 1


def seen(data: bytes) -> list[tuple[Fate, str]]:
    records = HOST.parse(7, data)
    assert_covers(7, data, records)
    return [(record.fate, record.reason or record.kind) for record in records]


def texts(data: bytes) -> list[str]:
    return [conversational_text(record, POLICY) for record in HOST.parse(0, data)]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(
            PROMPT + ANSWER,
            [(Fate.CONVERSATION, "user"), (Fate.CONVERSATION, "assistant")],
            id="two records glued",
        ),
        pytest.param(
            ANSWER[:120] + PROMPT,
            [(Fate.CORRUPT, "truncated"), (Fate.CONVERSATION, "user")],
            id="a torn record and a whole one",
        ),
        pytest.param(
            b'{"type":"user","mess' + MODE,
            [(Fate.CORRUPT, "truncated"), (Fate.TRANSPORT, "transport")],
            id="a stub and a whole record",
        ),
        pytest.param(
            bytes(4096) + PROMPT,
            [(Fate.CORRUPT, "nul"), (Fate.CONVERSATION, "user")],
            id="a hole and a record",
        ),
        pytest.param(PROMPT[:-2], [(Fate.CORRUPT, "truncated")], id="a record cut off"),
        pytest.param(b'{"a":1', [(Fate.CORRUPT, "truncated")], id="a writer that crashed"),
        pytest.param(b"42", [(Fate.CORRUPT, "not_object")], id="a number"),
        pytest.param(b"[1]", [(Fate.CORRUPT, "not_object")], id="a list"),
        pytest.param(b"oops", [(Fate.CORRUPT, "not_json")], id="words"),
        pytest.param(b"\xfe\xff", [(Fate.CORRUPT, "not_utf8")], id="binary"),
        pytest.param(
            b'{"type":' + b"[" * 9999 + b"]" * 9999 + b"}",
            [(Fate.CORRUPT, "too_deep")],
            id="nested too deep",
        ),
        pytest.param(b"\xef\xbb\xbf" + PROMPT + b"\r", [(Fate.CONVERSATION, "user")], id="BOM, CR"),
        pytest.param(b"\t " + PROMPT + b" \t", [(Fate.CONVERSATION, "user")], id="blanks around"),
    ],
)
def test_each_record_and_each_broken_stretch_is_told(
    data: bytes, expected: list[tuple[Fate, str]]
) -> None:
    assert seen(data) == expected


@pytest.mark.parametrize("data", [b"", b"  ", b"\r", b"\t\r"])
def test_a_blank_line_has_no_records(data: bytes) -> None:
    assert HOST.parse(0, data) == ()


@pytest.mark.parametrize("cut", range(1, len(ANSWER), 7))
def test_a_prompt_after_a_torn_record_is_never_lost(cut: int) -> None:
    records = HOST.parse(0, ANSWER[:cut] + PROMPT)

    assert conversational_text(records[-1], POLICY) == "hello"
    assert records[-1].key == HOST.parse(0, PROMPT)[0].key


def test_odd_separators_in_a_text_are_text() -> None:
    text = "a\u2028b\u2029c\x85d\ufeffe"

    assert texts(json.dumps({"role": "user", "content": text}, ensure_ascii=False).encode()) == [
        text
    ]


def test_half_a_surrogate_pair_becomes_a_replacement_character_and_is_told() -> None:
    (record,) = HOST.parse(0, user("cut \ud83d here"))

    assert record.content == "cut \ufffd here"
    assert record.lossy
    assert record.key == record_key("u-1", "user", "cut \ufffd here")


def test_half_a_surrogate_pair_in_what_nobody_reads_costs_nothing_else() -> None:
    (record,) = HOST.parse(0, user("hello", toolUseResult={"stdout": "cut \ude00"}))

    assert record.content == "hello"


def test_a_nul_in_a_text_is_kept_out_of_what_was_said() -> None:
    assert texts(user("a\0b")) == ["ab"]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(PROMPT.replace(b"hello", b"hel\xfflo"), id="in the text"),
        pytest.param(
            user("hel\ufffdlo", toolUseResult="?", timestamp=5).replace(b"?", b"\xff"), id="in an odd record"
        ),
        pytest.param(
            user([{"type": "text", "text": "hel\ufffdlo"}, {"type": "tool_result", "content": "??"}])
            .replace(b"??", b"\xc3\x28"),
            id="in a tool's result",
        ),
    ],
)  # fmt: skip
def test_invalid_utf8_is_replaced_and_told(data: bytes) -> None:
    (record,) = HOST.parse(0, data)

    assert record.fate is Fate.CONVERSATION
    assert conversational_text(record, POLICY) == "hel\ufffdlo"
    assert record.lossy


def test_what_is_sound_is_not_called_lossy() -> None:
    assert not any(record.lossy for record in HOST.parse(0, user("naïve \U0001f600") + PROMPT))


def test_a_line_of_twenty_megabytes_is_one_record() -> None:
    data = user([{"type": "tool_result", "content": "x" * 20_000_000}])

    assert seen(data) == [(Fate.CONVERSATION, "user")]


fragments = st.sampled_from(
    [
        PROMPT,
        ANSWER,
        MODE,
        ANSWER[:99],
        b"{}",
        b"\0\0",
        b" ",
        b"}",
        b'{"',
        b'"',
        b"\xff",
        b"\\ud83d",
    ]
)


@given(st.lists(fragments | st.binary(max_size=6), max_size=8), st.integers(0, 2**50))
def test_records_cover_any_line_without_a_gap_or_overlap(parts: list[bytes], start: int) -> None:
    data = b"".join(parts).replace(b"\n", b"")

    records = HOST.parse(start, data)

    assert_covers(start, data, records)
    for record in records:
        conversational_text(record, POLICY).encode()
        assert 0 <= record.key < 2**63
