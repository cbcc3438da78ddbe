"""From gathered lines to the records of a window, and how far they reach."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from retaind.core.records import Fate, Record
from retaind.hosts.port import Host
from retaind.runtime.coverage import Range, clip
from retaind.runtime.gather import WINDOW_BYTES, Gathered
from retaind.runtime.pending import Pending


class Parsed(NamedTuple):
    """The records of a window and where it ends.

    `is_cut` says that it ends before what is captured does, because there is too much or because the
    memory has what follows; `is_held` that the memory has this.
    """

    records: tuple[Record, ...]
    end: int
    is_cut: bool
    is_held: bool = False


def parse(host: Host, gathered: Gathered, pending: Pending, covered: Sequence[Range]) -> Parsed:
    """Parse the gathered lines, up to where the answer changes whether the memory has them."""
    records, end = _records(host, gathered, pending)
    part, is_held = clip(records, gathered.start, covered)
    if len(part) < len(records):
        return Parsed(part, part[-1].end, is_cut=True, is_held=is_held)
    return Parsed(records, end, end - gathered.start >= WINDOW_BYTES, is_held)


def _records(host: Host, gathered: Gathered, pending: Pending) -> tuple[tuple[Record, ...], int]:
    """Parse the gathered lines; the unfinished rest only where nothing more of it is to come."""
    if gathered.too_large is not None:
        end = gathered.too_large
        return (Record(gathered.start, end, Fate.CORRUPT, "", "too_large"),), end
    records: list[Record] = []
    for start, line in gathered.lines:
        records += host.parse(start, line)
    end = gathered.end
    if gathered.rest:
        tail = _tail(host, end, gathered.rest, pending)
        records += tail
        if tail or pending.closed:  # blanks hold no record, and yet a closed generation ends
            end += len(gathered.rest)
    return tuple(records), end


def _tail(host: Host, start: int, rest: bytes, pending: Pending) -> list[Record]:
    """Return the records of an unfinished last line, or nothing while its writer may go on.

    A closed generation gives up what can be salvaged. Otherwise the line must be whole records already,
    and it was asked for, or its writer has been quiet.
    """
    quiet = pending.forced or pending.searched >= pending.captured
    if not (pending.closed or quiet):
        return []
    records = host.parse(start, rest)
    if not pending.closed and any(record.fate is Fate.CORRUPT for record in records):
        return []
    end = start + len(rest)
    return [
        record if record.end <= end else msgspec.structs.replace(record, end=end)
        for record in records
    ]
