"""Framing and salvage: which bytes are a line, and what a broken line still gives."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from retaind.core.lines import Piece, frame, is_utf8, salvage

RECORD = b'{"type":"user","uuid":"u-1","message":{"role":"user","content":"hi {x}"}}'
OTHER = b'{"type":"mode","m":{"n":[{"o":1}]}}'
TORN = b'{"parentUuid":null,"message":{"content":[{"type":"text","text":"cut he'


def found(line: bytes, start: int = 0) -> list[tuple[int, int, str]]:
    return [(piece.start, piece.end, piece.reason) for piece in salvage(start, line)]


def records(line: bytes) -> list[object]:
    return [json.loads(piece.data) for piece in salvage(0, line) if not piece.reason]


def assert_covers(line: bytes, start: int, pieces: list[Piece]) -> None:
    at = start
    for piece in pieces:
        assert piece.start == at
        assert piece.end > piece.start
        at = piece.end
    assert at == start + len(line)


def test_only_a_newline_byte_ends_a_line() -> None:
    odd = "a\u2028b\u2029c\x85d\x0be\x0cf\rg\0h".encode()

    lines, rest = frame(odd + b"\n" + odd, 0)

    assert lines == [(0, odd)]
    assert rest == len(odd) + 1


def test_lines_carry_absolute_offsets_across_the_sizes_of_32_bits() -> None:
    start = 2**32 - 3

    lines, rest = frame(b"ab\n\ncd\nef", start)

    assert lines == [(start, b"ab"), (start + 3, b""), (start + 4, b"cd")]
    assert rest == start + 7


@pytest.mark.parametrize("data", [b"", b"no newline yet"])
def test_without_a_newline_everything_is_the_unfinished_rest(data: bytes) -> None:
    assert frame(data, 7) == ([], 7)


@given(
    st.lists(st.binary(max_size=8).map(lambda b: b.replace(b"\n", b"")), max_size=8), st.binary()
)
def test_lines_and_rest_are_the_bytes_again(whole: list[bytes], tail: bytes) -> None:
    tail = tail.replace(b"\n", b"")
    data = b"".join(line + b"\n" for line in whole) + tail

    lines, rest = frame(data, 100)

    assert [line for _, line in lines] == whole
    assert data[rest - 100 :] == tail
    assert all(data[at - 100 : at - 100 + len(line)] == line for at, line in lines)


def test_two_records_on_one_line_are_both_found() -> None:
    assert found(RECORD + OTHER, 10) == [
        (10, 10 + len(RECORD), ""),
        (10 + len(RECORD), 10 + len(RECORD + OTHER), ""),
    ]


def test_a_record_glued_to_a_torn_one_is_found_and_the_torn_one_named() -> None:
    assert found(TORN + OTHER) == [
        (0, len(TORN), "truncated"),
        (len(TORN), len(TORN + OTHER), ""),
    ]


@pytest.mark.parametrize("cut", range(1, len(RECORD)))
def test_a_record_is_found_wherever_the_one_before_it_was_cut(cut: int) -> None:
    line = RECORD[:cut] + OTHER

    assert records(line)[-1] == json.loads(OTHER)
    assert found(line)[-1] == (cut, len(line), "")


@pytest.mark.parametrize("cut", [cut for cut in range(2, len(OTHER)) if OTHER[cut - 1] != ord("}")])
def test_a_record_before_a_torn_one_is_found(cut: int) -> None:
    line = RECORD + OTHER[:cut]

    assert found(line) == [(0, len(RECORD), ""), (len(RECORD), len(line), "truncated")]


def test_a_record_before_junk_is_found() -> None:
    line = RECORD + b" 5,oops"

    assert found(line) == [(0, len(RECORD) + 1, ""), (len(RECORD) + 1, len(line), "not_json")]


def test_what_lies_inside_a_torn_record_is_no_record() -> None:
    line = b'{"type":"user","message":{"role":"user","content":"hi"},"toolUseResult":{"stdout":"x'

    assert found(line) == [(0, len(line), "truncated")]


def test_an_object_right_before_the_cut_looks_like_a_glued_record() -> None:
    line = b'{"type":"user","message":{"content":"hi"}'

    assert records(line) == [{"content": "hi"}]


def test_a_string_that_looks_like_glue_does_not_cut_a_record() -> None:
    line = b'{"text":"}{","more":1}' + OTHER

    assert records(line) == [{"text": "}{", "more": 1}, json.loads(OTHER)]


def test_runs_of_nuls_are_pieces_of_their_own_around_records() -> None:
    line = b"\0\0\0" + RECORD + b"\0\0" + OTHER + b"\0"

    assert [reason for *_, reason in found(line)] == ["nul", "", "nul", "", "nul"]


def test_a_hole_between_a_torn_record_and_a_whole_one_is_named() -> None:
    line = TORN + bytes(1000) + OTHER

    assert found(line) == [
        (0, len(TORN), "truncated"),
        (len(TORN), len(TORN) + 1000, "nul"),
        (len(TORN) + 1000, len(line), ""),
    ]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"  \t\r", "blank"),
        (b"\0 \0", "nul"),
        (b"42", "not_object"),
        (b'["a"]', "not_object"),
        (b'"massive"', "not_object"),
        (b"some log line", "not_json"),
        (b"\x93\xfe\xff binary", "not_utf8"),
        (b'{"a":1', "truncated"),
        (b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}", "too_deep"),
        (b"[" * 5000 + b"]" * 5000, "too_deep"),
    ],
)
def test_bytes_without_a_record_are_named(line: bytes, reason: str) -> None:
    assert found(line) == [(0, len(line), reason)]


def test_blanks_and_a_byte_order_mark_go_with_their_record() -> None:
    line = b"\xef\xbb\xbf " + RECORD + b" \r"

    assert found(line) == [(0, len(line), "")]


@pytest.mark.parametrize(
    ("inside", "text"),
    [
        (b"a\xffb", "a\ufffdb"),
        (b"a\x00b\x01c", "a b c"),
        (b"half \\ud83d pair", "half \ufffd pair"),
        (b"half \\ude00\\ud83d pair", "half \ufffd\ufffd pair"),
        (b"whole \\ud83d\\ude00 pair", "whole \U0001f600 pair"),
        (b"escaped \\\\ud83d\\ude00", "escaped \\ud83d\ufffd"),
        (b"escaped \\\\ud83d alone", "escaped \\ud83d alone"),
    ],
)
def test_what_is_no_text_is_replaced_where_one_can_see_it(inside: bytes, text: str) -> None:
    assert records(b'{"text":"' + inside + b'"}') == [{"text": text}]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"a":' * 200_000, id="nested"),
        pytest.param(
            b'{"a":' * 900 + b'"' + b"x" * 1_000_000 + b"}", id="nested before a long text"
        ),
        pytest.param(b'{"' * 500_000, id="starts"),
        pytest.param(b'}{"' * 400_000, id="glue"),
        pytest.param(b'{"a":1}' * 150_000, id="tiny records"),
        pytest.param(b"a\0" * 500_000, id="nuls"),
        pytest.param(b"\\" * 1_000_000 + b"\\ud83d", id="backslashes"),
        pytest.param(b'{"a":[' * 200_000 + b"}", id="brackets"),
    ],
)
@pytest.mark.timeout(20)
def test_a_hostile_line_costs_little_and_is_covered(line: bytes) -> None:
    pieces = list(salvage(0, line))

    assert_covers(line, 0, pieces)
    assert len(pieces) < 5000


fragments = st.sampled_from(
    [
        RECORD,
        OTHER,
        TORN,
        b"{}",
        b"\0\0",
        b" ",
        b"}",
        b'{"',
        b'"',
        b"\xff",
        b"\\ud83d",
        b"\xef\xbb\xbf",
    ]
)


@given(st.lists(st.one_of(fragments, st.binary(max_size=6)), max_size=8), st.integers(0, 2**40))
@example([b"\xef\xbb\xbf", b"\0", b"{}"], 0)
def test_the_pieces_cover_any_line_and_records_decode(parts: list[bytes], start: int) -> None:
    line = b"".join(parts).replace(b"\n", b"")

    pieces = list(salvage(start, line))

    assert_covers(line, start, pieces)
    for piece in pieces:
        assert bool(piece.data) is (piece.reason == "")
        if piece.data:
            assert isinstance(json.loads(piece.data), dict)


@given(st.binary())
def test_utf8_is_what_decodes(data: bytes) -> None:
    try:
        data.decode()
    except UnicodeDecodeError:
        assert not is_utf8(data)
    else:
        assert is_utf8(data)
