"""What a memory turns out to have already: byte ranges over which a cursor advances without delivering."""

from collections.abc import Iterable, Sequence

from retaind.core.records import Record

Range = tuple[int, int]


def merged(ranges: Iterable[Range]) -> tuple[Range, ...]:
    """Return the ranges in order, those that touch or overlap as one."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return tuple(found)


def clip(
    records: tuple[Record, ...], start: int, covered: Sequence[Range]
) -> tuple[tuple[Record, ...], bool]:
    """Return the records from `start` that share one answer, and whether the memory has them.

    A record that is covered in part only counts as not covered: better twice than never.
    """
    for first, last in covered:
        if first <= start < last:
            inside = _up_to(records, last)
            if inside:
                return inside, True
        elif start < first:
            return _up_to(records, first) or records[:1], False
    return records, False


def _up_to(records: tuple[Record, ...], limit: int) -> tuple[Record, ...]:
    count = 0
    while count < len(records) and records[count].end <= limit:
        count += 1
    return records[:count]
