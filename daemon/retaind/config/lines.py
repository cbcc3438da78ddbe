"""On which line of a TOML file a key stands; `tomllib` does not say."""

import re
import tomllib

Path = tuple[str, ...]

_HEADER = re.compile(r"\s*(\[\[?.*\]\]?)\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(r"""\s*((?:"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_.\-\s])+?)\s*=""")


def find_line(source: str, path: Path) -> int | None:
    """Return the first line, from 1, that sets `path`, a key below it, or the most of its keys."""
    best: tuple[int, int] | None = None
    table: Path = ()
    for number, line in enumerate(source.splitlines(), start=1):
        if header := _HEADER.match(line):
            table = _keys_of(header.group(1) + "\n") or table
            found = table
        elif assignment := _ASSIGNMENT.match(line):
            keys = _keys_of(assignment.group(1) + " = 0\n")
            found = table + keys if keys else ()
        else:
            continue
        depth = min(len(found), len(path))
        if depth and found[:depth] == path[:depth] and (best is None or depth > best[0]):
            best = (depth, number)
    return best[1] if best else None


def _keys_of(snippet: str) -> Path:
    """Let the real parser read the keys of one header or assignment; () if it is none."""
    try:
        value: object = tomllib.loads(snippet)
    except tomllib.TOMLDecodeError:
        return ()
    keys: list[str] = []
    while isinstance(value, dict | list) and value:
        if isinstance(value, list):
            value = value[0]
            continue
        key, value = next(iter(value.items()))
        keys.append(key)
    return tuple(keys)
