"""Timestamps as the index compares them: whole milliseconds since 1970, in UTC."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from retaind.errors import UsageError

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)


def to_ms(timestamp: str | None) -> int | None:
    """Read an ISO 8601 time; without a zone it is UTC. None when there is none that can be read."""
    if not timestamp:
        return None
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MS


def from_ms(ms: int | None) -> str | None:
    """Write milliseconds as ISO 8601 in UTC."""
    if ms is None:
        return None
    return (_EPOCH + ms * _MS).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def bound_ms(text: str, *, end: bool) -> int:
    """Read a bound of a search; a date alone means the whole day. Raises UsageError."""
    ms = to_ms(text.strip())
    if ms is None:
        raise UsageError(
            f"{text!r} is no time",
            fix="write a date such as 2026-09-01, or a time such as 2026-09-01T08:00:00Z",
        )
    is_date = _DATE.fullmatch(text.strip()) is not None
    return ms + (timedelta(days=1) // _MS - 1) if end and is_date else ms
