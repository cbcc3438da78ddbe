"""Lines that are JSON objects but not of the shape that anybody expects: only what is odd is lost."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hosts.claude_lines import HOST, assistant, line, one, user
from retaind.core.conversation import conversational_text, starts_turn
from retaind.core.policy import RetainPolicy
from retaind.core.records import Fate

POLICY = RetainPolicy()
ODD: list[object] = [None, 5, 1.5, True, "odd", [], [1, "a", None], {"a": {"b": []}}]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize(
    "field",
    ["uuid", "timestamp", "cwd", "isSidechain", "isMeta", "isCompactSummary", "subtype", "role",
     "content", "attachment", "isApiErrorMessage", "toolUseResult", "sessionId", "origin"],
)  # fmt: skip
def test_an_optional_field_of_an_odd_type_does_not_cost_the_record(field: str, odd: object) -> None:
    if field.startswith("is") and odd is True:
        odd = 1
    record = one(user("hi", **{field: odd}))

    assert conversational_text(record, POLICY) == "hi"
    assert starts_turn(record, POLICY)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("field", ["id", "model", "usage", "stop_reason"])
def test_an_odd_field_of_a_message_does_not_cost_the_message(field: str, odd: object) -> None:
    record = one(assistant({"type": "text", "text": "hi"}, **{field: odd}))

    assert conversational_text(record, POLICY) == "hi"


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_block_does_not_cost_the_blocks_beside_it(odd: object) -> None:
    fields = {"text": odd, "is_error": odd, "id": odd}
    record = one(user([odd, {"type": "text", **fields}, {"type": "text", "text": "hi"}]))

    assert conversational_text(record, POLICY).endswith("hi")


@pytest.mark.parametrize("content", [None, 5, {"type": "text", "text": "hi"}, ["bare", "strings"]])
def test_content_that_is_neither_text_nor_blocks_says_nothing(content: object) -> None:
    record = one(user(content))

    assert record.fate is Fate.CONVERSATION
    assert conversational_text(record, POLICY) == ""
    assert record.key > 0


@pytest.mark.parametrize("message", [None, "odd", 5, []])
def test_a_message_that_is_no_object_says_nothing(message: object) -> None:
    record = one(line("user", message=message))

    assert (record.fate, record.content) == (Fate.CONVERSATION, ())


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "text", "role", "content", "message", "id", "prompt", "x"]),
            inner,
        )
    ),
    max_leaves=8,
)
fields = st.sampled_from(
    [
        "type",
        "subtype",
        "uuid",
        "message",
        "attachment",
        "role",
        "content",
        "cwd",
        "isMeta",
        "other",
    ]
)
types = st.sampled_from(["user", "assistant", "attachment", "system"])


@given(st.dictionaries(fields, json_values), types | json_values)
def test_any_object_is_one_record(values: dict[str, Any], kind: object) -> None:
    data = json.dumps({**values, "type": kind}).encode()

    (record,) = HOST.parse(5, data)

    assert (record.start, record.end) == (5, 5 + len(data) + 1)
    assert record.fate is not Fate.CORRUPT
    conversational_text(record, POLICY).encode()
