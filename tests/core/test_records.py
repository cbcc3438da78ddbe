"""Records: the key that is the same in two files, and text that can be stored."""

import sqlite3

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retaind.core.records import Block, raw_value, record_key, storable

blocks = st.builds(
    Block,
    type=st.sampled_from(["text", "tool_use", "tool_result", "thinking"]),
    text=st.text(st.characters(exclude_categories=["Cs"])),
    id=st.sampled_from(["", "t1", "t2"]),
)
contents = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"])),
    st.lists(blocks, max_size=3).map(tuple),
)


def test_a_key_is_the_same_in_every_version() -> None:
    content = (Block("text", 'né "x"'), Block("tool_use", id="t", input=msgspec.Raw(b'{"a": 1}')))

    assert record_key("u-1", "user", "hello") == 3345904211639979635
    assert record_key("u-1", "assistant", content) == 5777217796001753500


def test_a_string_has_the_key_of_its_one_text_block() -> None:
    assert record_key("u", "user", "hello") == record_key("u", "user", (Block("text", "hello"),))


@pytest.mark.parametrize(
    ("uuid", "role", "content"),
    [
        ("other", "user", "hello"),
        ("u", "assistant", "hello"),
        ("u", "user", "hello "),
        ("u", "user", (Block("text", "hello"), Block("image"))),
        ("u", "user", (Block("tool_result", content=msgspec.Raw(b'"hello"')),)),
        ("u", "user", ()),
    ],
)
def test_another_uuid_role_or_content_has_another_key(
    uuid: str, role: str, content: str | tuple[Block, ...]
) -> None:
    assert record_key(uuid, role, content) != record_key("u", "user", "hello")


def test_results_with_other_content_have_other_keys() -> None:
    one = Block("tool_result", tool_use_id="t", content=msgspec.Raw(b'"a"'))
    two = Block("tool_result", tool_use_id="t", content=msgspec.Raw(b'"b"'))

    assert record_key("u", "user", (one,)) != record_key("u", "user", (two,))


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), contents)
def test_a_key_is_positive_and_fits_sqlite(uuid: str, content: str | tuple[Block, ...]) -> None:
    assert 0 < record_key(uuid, "user", content) < 2**63


def test_without_a_uuid_there_is_no_key() -> None:
    assert record_key("", "user", "hello") == 0


@given(st.text(st.characters()))
def test_storable_text_goes_through_encoders_and_sqlite(text: str) -> None:
    stored = storable(text)

    assert stored.encode().decode() == stored
    assert "\0" not in stored
    with sqlite3.connect(":memory:") as connection:
        assert connection.execute("SELECT ?", (stored,)).fetchone() == (stored,)
    connection.close()


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("plain", "plain"),
        ("naïve 😀", "naïve 😀"),
        ("a\0b", "ab"),
        ("a\ud83db", "a\ufffdb"),
        ("\ude00", "\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\ufeffkept", "\ufeffkept"),
    ],
)
def test_storable_changes_only_what_cannot_be_stored(text: str, stored: str) -> None:
    assert storable(text) == stored


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        (b"", None),
        (b'{"a":[1]}', {"a": [1]}),
        (b'"\\ud83d"', "\ud83d"),
        (b'"a\xffb"', "a\ufffdb"),
        (b'"a\tb"', "a\tb"),
        (b'{"a":', None),
        (b"[" * 100_000, None),
        (b"1" * 10_000, None),
    ],
)
def test_undecoded_json_is_read_whatever_it_holds(raw: bytes, value: object) -> None:
    assert raw_value(msgspec.Raw(raw)) == value
