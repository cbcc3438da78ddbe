"""Framing: bytes at an offset become whole lines, and a broken line gives up the records inside it.

Only the byte 0x0A ends a line. U+2028, U+0085, a carriage return and the like stand unescaped inside
JSON strings and never do.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final, NamedTuple

import msgspec

_PADDING: Final = re.compile(rb"(?:[\0 \t\r\n\v\f]|\xef\xbb\xbf)*+")
_BLANKS: Final = re.compile(rb"(?:[ \t\r\n\v\f]|\xef\xbb\xbf)*+")
_PADDING_BYTES: Final = b"\0 \t\r\n\v\f"
_GLUE: Final = re.compile(rb'\}(?:[ \t\r\n]|\xef\xbb\xbf)*+(?=\{")')
_SURROGATES: Final = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
_ESCAPE_LENGTH: Final = 6
# Control characters are no JSON; as blanks they leave every other byte where it is.
_CALM: Final = bytes(max(byte, 0x20) for byte in range(256))

_MOST_SEGMENTS: Final = 4096
_MOST_MERGED: Final = 4
_MOST_BACKSLASHES: Final = 256
_EFFORT: Final = 128
"""How often, at most, each byte of a broken stretch is looked at for a record at its end."""


class _AnyObject(msgspec.Struct):
    """A JSON object, checked to its end; nothing of it is built."""


_check_object = msgspec.json.Decoder(_AnyObject).decode
_check_json = msgspec.json.Decoder(msgspec.Raw).decode


class Piece(NamedTuple):
    """A part of a broken line, by absolute offsets.

    A record has the reason "" and `data` that decodes as a JSON object; `data` differs from the
    line's bytes where these were not UTF-8, held control characters or named half a surrogate pair.
    Everything else has no data, and as reason one of `blank`, `nul`, `truncated`, `too_deep`,
    `not_object`, `not_utf8` and `not_json`.
    """

    start: int
    end: int
    data: bytes
    reason: str


def frame(data: bytes, start: int) -> tuple[list[tuple[int, bytes]], int]:
    """Cut `data`, which begins at the offset `start`, into whole lines without their newlines.

    Returns the lines with their offsets, and the offset of the unfinished rest.
    """
    lines = []
    for line in data.split(b"\n"):
        lines.append((start, line))
        start += len(line) + 1
    rest, _ = lines.pop()
    return lines, rest


def is_utf8(data: bytes) -> bool:
    """Tell whether the bytes are UTF-8."""
    if data.isascii():
        return True
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def salvage(start: int, line: bytes) -> Iterator[Piece]:
    """Take a line that does not parse apart: whole records, and what lies between them.

    The pieces cover the line in order, without a gap or an overlap; blanks go with the record before
    them. A record is found at the line's start, after another record, or, since a host that resumes
    writes straight on after a torn line, from somewhere in broken bytes up to the next record or the
    line's end. So an object inside a torn record is taken for one only if the cut is right behind it;
    better that than to lose a record whose predecessor was cut there. The work is linear in the length.
    """
    shape = _SURROGATES.sub(_whole, line.translate(_CALM))
    at = 0
    for low, high in _records(shape):
        begin = low if _BLANKS.fullmatch(line, at, low) is None else at
        yield from _broken(start, line, at, begin)
        data = shape[low:high].decode("utf-8", "replace").encode()
        at = _end(_BLANKS, line, high)
        yield Piece(start + begin, start + at, data, "")
    yield from _broken(start, line, at, len(line))


def _whole(escapes: re.Match[bytes]) -> bytes:
    """Put the escape of U+FFFD, which is as long, in the place of half a surrogate pair."""
    found, at = escapes[0], escapes.start()
    before = escapes.string[max(0, at - _MOST_BACKSLASHES) : at]
    if before.endswith(b"\\") and (len(before) - len(before.rstrip(b"\\"))) % 2:
        # The first backslash is itself escaped, so that only the second escape is one.
        return found[:_ESCAPE_LENGTH] + (rb"\ufffd" if found[_ESCAPE_LENGTH:] else b"")
    return found if len(found) > _ESCAPE_LENGTH else rb"\ufffd"


def _records(shape: bytes) -> Iterator[tuple[int, int]]:
    """Find the stretches that are JSON objects, in order."""
    low, high = _end(_PADDING, shape, 0), len(shape.rstrip())
    if _is_object(shape, low, high):
        yield low, high
        return
    glue = islice(_GLUE.finditer(shape, low, high), _MOST_SEGMENTS)
    cuts = [(point.start() + 1, point.end()) for point in glue]
    starts = [low, *(begin for _, begin in cuts)]
    ends = [*(end for end, _ in cuts), high]
    at = 0
    while at < len(starts):
        # A string that ends in "}{" looks like glue: try with the segments after it, too.
        for last in range(at, min(at + _MOST_MERGED, len(ends))):
            if _is_object(shape, starts[at], ends[last]):
                yield starts[at], ends[last]
                at = last + 1
                break
        else:
            yield from _records_in_broken(shape, starts[at], ends[at])
            at += 1


def _records_in_broken(shape: bytes, low: int, high: int) -> Iterator[tuple[int, int]]:
    """Find a record before junk, and a record glued to the torn one before it."""
    last = _start_of_last(shape, low, high)
    brace = shape.rfind(b"}", low, last) + 1
    if brace and _is_object(shape, low, brace):
        yield low, brace
    if last < high:
        yield last, high


def _start_of_last(shape: bytes, low: int, high: int) -> int:
    """Return where the object that ends at `high` starts; `high` if there is none.

    From the end backwards the first that reads is the outermost one, and what lies inside the torn
    record is not even looked at.
    """
    effort = _EFFORT * (high - low)
    at = high if shape.endswith(b"}", low, high) else low
    while effort > 0 and (at := shape.rfind(b'{"', low, at)) > low:
        if _is_object(shape, at, high):
            return at
        effort -= high - at
    return high


def _is_object(shape: bytes, low: int, high: int) -> bool:
    try:
        _check_object(memoryview(shape)[low:high])
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _broken(start: int, line: bytes, low: int, high: int) -> Iterator[Piece]:
    """Name what holds no record; runs of NULs at either side are pieces of their own."""
    lead = min(_end(_PADDING, line, low), high)
    tail = low + len(line[low:high].rstrip(_PADDING_BYTES))
    if lead == high:
        lead = tail = low
    if line.find(b"\0", low, lead) < 0:
        lead = low
    if line.find(b"\0", tail, high) < 0:
        tail = high
    for begin, end in ((low, lead), (lead, tail), (tail, high)):
        if begin < end:
            yield Piece(start + begin, start + end, b"", _reason(line[begin:end]))


def _reason(data: bytes) -> str:
    body = data[_end(_PADDING, data, 0) :]
    if not body:
        return "nul" if b"\0" in data else "blank"
    try:
        _check_json(body)
    except RecursionError:
        return "too_deep"
    except msgspec.DecodeError:
        if body.startswith(b"{"):
            return "truncated"
        return "not_json" if is_utf8(body) else "not_utf8"
    return "not_object"


def _end(pattern: re.Pattern[bytes], data: bytes, at: int) -> int:
    """Return where the run that the pattern allows, which may be empty, ends."""
    run = pattern.match(data, at)
    return run.end() if run else at
