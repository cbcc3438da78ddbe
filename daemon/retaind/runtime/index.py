"""The index of known streams in memory: by path, by locator, by first bytes, by file name."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from retaind.vault.identity import Locator
from retaind.vault.streams import OpenGeneration


@dataclass(slots=True)
class Tracked:
    """One stream with its open generation. `row` is replaced by a new value after each commit.

    `grew` says that this process has seen it grow, so that a writer may be at work; `unseen` counts the
    clean scans that missed it; `small_blocks` the appends since the last merge.
    """

    row: OpenGeneration
    grew: bool = False
    unseen: int = 0
    small_blocks: int = 0


class Index:
    """Every stream whose generation is open. Changed by one task only, read by worker threads."""

    def __init__(self, rows: Iterable[OpenGeneration] = ()) -> None:
        self._by_stream: dict[int, Tracked] = {}
        self._by_path: dict[bytes, Tracked] = {}
        self._by_locator: dict[Locator, Tracked] = {}
        self._by_prefix: dict[bytes, tuple[Tracked, ...]] = {}
        self._by_name: dict[bytes, tuple[Tracked, ...]] = {}
        for row in rows:
            self.add(row)

    def __iter__(self) -> Iterator[Tracked]:
        return iter(list(self._by_stream.values()))

    def __len__(self) -> int:
        return len(self._by_stream)

    def stream(self, stream_id: int) -> Tracked | None:
        """Return the stream of this row id."""
        return self._by_stream.get(stream_id)

    def at_path(self, path: bytes) -> Tracked | None:
        """Return the stream that was last seen at this path."""
        return self._by_path.get(path)

    def at_locator(self, where: Locator) -> Tracked | None:
        """Return the stream that was last seen in this file."""
        return self._by_locator.get(where)

    def alike(self, prefix_hash: bytes | None, path: bytes) -> list[Tracked]:
        """Return the streams that a file of these first bytes, or of this name, could continue."""
        found = list(self._by_prefix.get(prefix_hash, ())) if prefix_hash else []
        found += [t for t in self._by_name.get(os.path.basename(path), ()) if t not in found]
        return found

    def add(self, row: OpenGeneration) -> Tracked:
        """Take in a new stream."""
        tracked = Tracked(row)
        self._by_stream[row.stream_id] = tracked
        self._enter(tracked)
        return tracked

    def replace(self, tracked: Tracked, row: OpenGeneration) -> None:
        """Give a stream its new value, and keep every way to it right."""
        before = tracked.row
        same_place = before.path == row.path and before.sighting.locator == row.sighting.locator
        if same_place and before.evidence.prefix_hash == row.evidence.prefix_hash:
            tracked.row = row
            return
        self._leave(tracked)
        tracked.row = row
        self._enter(tracked)

    def remove(self, stream_id: int) -> Tracked | None:
        """Know nothing of a stream any more; returns what was known."""
        tracked = self._by_stream.pop(stream_id, None)
        if tracked is not None:
            self._leave(tracked)
        return tracked

    def _enter(self, tracked: Tracked) -> None:
        row = tracked.row
        self._by_path[row.path] = tracked
        self._by_locator[row.sighting.locator] = tracked
        _put(self._by_name, os.path.basename(row.path), tracked)
        if row.evidence.prefix_hash is not None:
            _put(self._by_prefix, row.evidence.prefix_hash, tracked)

    def _leave(self, tracked: Tracked) -> None:
        row = tracked.row
        if self._by_path.get(row.path) is tracked:
            del self._by_path[row.path]
        if self._by_locator.get(row.sighting.locator) is tracked:
            del self._by_locator[row.sighting.locator]
        _discard(self._by_name, os.path.basename(row.path), tracked)
        if row.evidence.prefix_hash is not None:
            _discard(self._by_prefix, row.evidence.prefix_hash, tracked)


def _put(table: dict[bytes, tuple[Tracked, ...]], key: bytes, tracked: Tracked) -> None:
    table[key] = (*table.get(key, ()), tracked)


def _discard(table: dict[bytes, tuple[Tracked, ...]], key: bytes, tracked: Tracked) -> None:
    rest = tuple(other for other in table.get(key, ()) if other is not tracked)
    if rest:
        table[key] = rest
    else:
        table.pop(key, None)
