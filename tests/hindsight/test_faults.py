"""What a server's statuses mean, and the token that it is shown."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from retaind.errors import MemoryDown, MemoryRefused
from retaind.memory.hindsight import (
    BankMissing,
    Busy,
    Denied,
    Misconfigured,
    OperationTaken,
    Refused,
    Token,
    TooLarge,
)
from retaind.memory.hindsight.faults import fault


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (200, type(None)), (202, type(None)), (204, type(None)),
        (301, Misconfigured), (307, Misconfigured), (404, Misconfigured), (405, Misconfigured),
        (400, Refused), (422, Refused), (413, TooLarge), (409, OperationTaken),
        (401, Denied), (403, Denied),
        (408, Busy), (425, Busy), (429, Busy), (500, Busy), (502, Busy), (503, Busy), (599, Busy),
        (418, Busy),
    ],
)  # fmt: skip
def test_a_status_says_who_must_act(status: int, expected: type) -> None:
    assert type(fault(status, {}, retaining=True)) is expected


def test_not_found_is_the_banks_where_nothing_is_retained() -> None:
    assert isinstance(fault(404, {}, retaining=False), BankMissing)


def test_what_may_pass_is_down_and_what_will_not_is_refused() -> None:
    assert issubclass(Busy, MemoryDown)
    assert issubclass(Denied, MemoryDown)
    assert issubclass(Misconfigured, MemoryDown)
    assert issubclass(TooLarge, MemoryRefused)


@pytest.mark.parametrize(
    ("value", "low", "high"),
    [
        ("0", 0, 0),
        ("7", 7, 7),
        ("1.5", 1.5, 1.5),
        ("1000000", 3600, 3600),
        ("in 100 s", 60, 100),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, low: float, high: float) -> None:
    if value == "in 100 s":
        value = format_datetime(datetime.now(UTC) + timedelta(seconds=100))
    found = fault(429, {"retry-after": value}, retaining=True)

    assert isinstance(found, Busy)
    assert found.retry_after_s is not None
    assert low <= found.retry_after_s <= high


@pytest.mark.parametrize("value", ["", "soon", "-5", "nan", "Mon, 01 Jan 2001 00:00:00 GMT"])
def test_a_retry_after_that_says_nothing_is_passed_over(value: str) -> None:
    found = fault(503, {"retry-after": value}, retaining=True)

    assert isinstance(found, Busy)
    assert found.retry_after_s is None


def test_a_token_file_is_read_when_asked_and_wins_over_a_value(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(" one \n")
    token = Token("value", str(file))

    assert token.current() == "one"
    file.write_text("two\n")
    assert token.current() == "one"
    assert token.refresh()
    assert token.current() == "two"
    assert not token.refresh()


def test_a_token_file_that_cannot_be_read_leaves_what_is_known(tmp_path: Path) -> None:
    token = Token("value", str(tmp_path / "nowhere"))

    assert token.current() == "value"
    assert not token.refresh()
