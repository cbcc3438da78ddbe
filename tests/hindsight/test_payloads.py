"""Documents as they are sent: ids, metadata, and the same document in two halves."""

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retaind.core.facts import SessionFacts
from retaind.core.messages import Draft, Message
from retaind.core.policy import RetainPolicy
from retaind.core.render import render
from retaind.memory.hindsight import body, operation_id
from retaind.memory.hindsight.documents import held
from retaind.runtime.payload import Made, Origin, decode, encode_spans, halves, make

ORIGIN = Origin(SessionFacts("claude_code", "s1", "lab", "/lab", "bank"), "session", "9-ab")
NOW = "2026-11-01T00:00:00Z"
WORDS = st.lists(st.text('abc \n"é', min_size=1, max_size=20), min_size=1, max_size=12)


def message(text: str, start: int, end: int, timestamp: str = "") -> Message:
    return Message("user", text, (), timestamp, "", start, end, 0, False, "")


def document(texts: list[str], form: str = "text", context: tuple[str, ...] = ()) -> Made:
    messages = tuple(message(text, 10 * at, 10 * at + 10) for at, text in enumerate(texts))
    policy = RetainPolicy(format=form)  # type: ignore[arg-type]  # one of the three, by the test
    before = tuple(message(text, 0, 0) for text in context)
    draft = Draft(0, 10 * len(texts), messages, before)
    return make(draft, render(draft, policy), raw(len(texts)), ORIGIN, policy, NOW)


def raw(messages: int) -> bytes:
    return bytes(range(10)) * messages


def down_to_single(made: Made, whole: bytes) -> list[Made]:
    parts = halves(made, "s1", whole[made.start : made.end])
    return [one for part in parts for one in down_to_single(part, whole)] if parts else [made]


@given(texts=WORDS, form=st.sampled_from(["text", "json", "jsonl"]))
def test_halves_say_together_what_the_whole_says(texts: list[str], form: str) -> None:
    made = document(texts, form)

    parts = down_to_single(made, raw(len(texts)))

    assert [part.payload.content for part in parts] == [
        document([text], form).payload.content for text in texts
    ]
    assert [(part.start, part.end) for part in parts] == [
        (10 * at, 10 * at + 10) for at in range(len(texts))
    ]
    assert sum(part.records for part in parts) == made.records == len(texts)


@pytest.mark.parametrize("form", ["text", "json", "jsonl"])
def test_a_half_leaves_the_context_of_the_whole_out(form: str) -> None:
    made = document(["one"], form, context=("before",))

    (bare,) = halves(made, "s1", raw(1))

    assert bare.payload.content == document(["one"], form).payload.content
    assert halves(bare, "s1", raw(1)) == ()


@given(texts=WORDS)
def test_a_stored_document_is_read_back_as_it_was(texts: list[str]) -> None:
    made = document(texts)

    assert decode(made.payload.encode(), encode_spans(made.spans), made.start, made.end) == made


def test_a_document_is_named_by_session_start_and_raw_bytes() -> None:
    made = document(["one", "two"])

    assert made.payload.document_id == f"s1@0-{hashlib.sha256(raw(2)).hexdigest()[:12]}"


def test_metadata_carries_head_range_and_hash_as_texts() -> None:
    found = document(["one", "two"]).payload

    assert found.metadata["stream_head"] == "9-ab"
    assert found.metadata["range"] == "0-20"
    whole = hashlib.sha256(found.content.encode()).hexdigest()
    assert found.metadata["payload_sha256"] == whole[:16]
    assert found.metadata["message_count"] == "2"
    assert all(isinstance(value, str) for value in found.metadata.values())
    assert found.tags == ("s1",)


def test_the_time_of_a_document_is_the_first_that_is_one() -> None:
    times = ["", "yesterday", "2026-10-01T08:00:00.000Z", "2026-10-02T08:00:00Z"]
    messages = tuple(message("x", at, at + 1, time) for at, time in enumerate(times))
    draft = Draft(0, 4, messages)

    made = make(draft, render(draft, RetainPolicy()), b"abcd", ORIGIN, RetainPolicy(), NOW)

    assert made.payload.timestamp == "2026-10-01T08:00:00.000Z"


def test_an_operation_is_another_one_in_each_respect() -> None:
    base = ("http://a", "bank", "doc", "hash", 1)
    others = [("http://b", *base[1:]), ("http://a", "other", *base[2:]), (*base[:4], 2)]

    assert operation_id(*base) == operation_id(*base)
    assert len({operation_id(*one) for one in [base, *others]}) == 4


def test_a_request_holds_one_item_and_asks_for_no_wait() -> None:
    item = document(["one"]).payload.encode()

    sent = json.loads(body(item, "id"))

    assert sent["async"] is True
    assert sent["operation_id"] == "id"
    assert sent["items"] == [json.loads(item)]


@pytest.mark.parametrize(
    "listed",
    [
        {},
        {"id": None},
        {"id": "other@0-abc", "document_metadata": {"range": "0-5"}},
        {"id": "s1@0-abc"},
        {"id": "s1@0-abc", "document_metadata": {"range": "3-5"}},
        {"id": "s1@0-abc", "document_metadata": {"range": "0-0"}},
        {"id": "s1@zero-abc", "document_metadata": {"range": "0-5"}},
        {"id": "s1", "document_metadata": {"range": "0-5"}},
    ],
)
def test_a_listed_document_that_is_no_window_is_nothing_to_go_by(listed: dict[str, object]) -> None:
    assert held("s1", listed) is None
