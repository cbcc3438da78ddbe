"""A line of `doctor`."""

from typing import Literal, NamedTuple


class Check(NamedTuple):
    """One line: what was looked at, how it is, and the fix where it is not well."""

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    fix: str = ""
