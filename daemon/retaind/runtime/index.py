"""The index of known streams in memory: by path, by locator, by first bytes, by file name.

There may be tens of thousands of streams and hardly any of them changes, so each is packed: a row of
values is a third of the size, and is made anew for whoever looks at it.
"""

import os
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Final, NamedTuple

import msgspec

from retaind.db import Connection
from retaind.vault import streams
from retaind.vault.identity import Evidence, Locator
from retaind.vault.streams import Mode, OpenGeneration, Sighting, SourceState


class _Texts(NamedTuple):
    """What many rows have in common; one value for all of them."""

    host: str
    kind: str
    cwd: str | None
    project: str | None
    mode: Mode
    source_state: SourceState


class _Own(NamedTuple):
    """What only one row has, as it is packed."""

    public_id: str
    generation_id: int
    n: int
    session_id: str
    owner_session: str | None
    sighting: Sighting
    evidence: Evidence


_PACKER: Final = msgspec.msgpack.Encoder()
_UNPACKER: Final = msgspec.msgpack.Decoder(_Own)


class Tracked:
    """One stream with its open generation. `Index.replace` gives it a new row after each commit.

    `grew` says that this process has seen it grow, so that a writer may be at work; `unseen` counts the
    clean scans that missed it; `small_blocks` the appends since the last merge.
    """

    __slots__ = ("_own", "_texts", "grew", "path", "small_blocks", "stream_id", "unseen")

    def __init__(self, row: OpenGeneration, texts: _Texts) -> None:
        self.grew = False
        self.unseen = 0
        self.small_blocks = 0
        self.stream_id = row.stream_id
        self.path = row.path
        self.hold(row, texts)

    def hold(self, row: OpenGeneration, texts: _Texts) -> None:
        """Take a new row; only the index does that, which keeps the ways to it right."""
        if self.path != row.path:  # an equal one stays, it is the key of the index as well
            self.path = row.path
        self._texts = texts
        self._own = _PACKER.encode(
            _Own(
                row.public_id, row.generation_id, row.n, row.session_id, row.owner_session,
                row.sighting, row.evidence,
            )
        )  # fmt: skip

    @property
    def kind(self) -> str:
        """The row's kind, at hand without making the row; so are the next two."""
        return self._texts.kind

    @property
    def mode(self) -> Mode:
        """What is kept of it."""
        return self._texts.mode

    @property
    def source_state(self) -> SourceState:
        """Whether its file is there."""
        return self._texts.source_state

    @property
    def row(self) -> OpenGeneration:
        """The stream as it was after the last commit. Made at each call: microseconds, so ask once."""
        own = _UNPACKER.decode(self._own)
        texts = self._texts
        return OpenGeneration(
            self.stream_id, own.public_id, own.generation_id, own.n, texts.host, texts.kind,
            own.session_id, own.owner_session, self.path, texts.cwd, texts.project, texts.mode,
            texts.source_state, own.sighting, own.evidence,
        )  # fmt: skip


class Index:
    """Every stream whose generation is open. Changed by one task only, read by worker threads."""

    def __init__(self, rows: Iterable[OpenGeneration] = ()) -> None:
        self._by_stream: dict[int, Tracked] = {}
        self._by_path: dict[bytes, Tracked] = {}
        self._by_locator: dict[int, Tracked] = {}
        self._alike: dict[int, Tracked | tuple[Tracked, ...]] = {}
        self._texts: dict[_Texts, _Texts] = {}
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
        return self._by_locator.get(_number(where))

    def alike(self, prefix_hash: bytes | None, path: bytes) -> list[Tracked]:
        """Return the streams that a file of these first bytes, or of this name, could continue."""
        name = os.path.basename(path)
        begin_alike = self._under(prefix_hash) if prefix_hash else ()
        found = [t for t in begin_alike if t.row.evidence.prefix_hash == prefix_hash]
        named = (t for t in self._under(name) if os.path.basename(t.path) == name)
        return found + [t for t in named if t not in found]

    def recent(self, most: int) -> list[Tracked]:
        """Return the streams that were written last and may be written on, the last one last."""
        written = []
        for tracked in self:
            if tracked.source_state == "present" and tracked.mode == "full":
                row = tracked.row
                if row.evidence.captured:
                    written.append((row.sighting.mtime_ns, tracked))
        written.sort(key=itemgetter(0))
        return [tracked for _, tracked in written[-most:]]

    def add(self, row: OpenGeneration) -> Tracked:
        """Take in a new stream."""
        tracked = Tracked(row, self._shared(row))
        self._by_stream[row.stream_id] = tracked
        self._enter(tracked, row)
        return tracked

    def replace(self, tracked: Tracked, row: OpenGeneration) -> None:
        """Give a stream its new value, and keep every way to it right."""
        before = tracked.row
        same_place = before.path == row.path and before.sighting.locator == row.sighting.locator
        if same_place and before.evidence.prefix_hash == row.evidence.prefix_hash:
            tracked.hold(row, self._shared(row))
            return
        self._leave(tracked, before)
        tracked.hold(row, self._shared(row))
        self._enter(tracked, row)

    def remove(self, stream_id: int) -> Tracked | None:
        """Know nothing of a stream any more; returns what was known."""
        tracked = self._by_stream.pop(stream_id, None)
        if tracked is not None:
            self._leave(tracked, tracked.row)
        return tracked

    def _shared(self, row: OpenGeneration) -> _Texts:
        texts = _Texts(row.host, row.kind, row.cwd, row.project, row.mode, row.source_state)
        return self._texts.setdefault(texts, texts)

    def _enter(self, tracked: Tracked, row: OpenGeneration) -> None:
        self._by_path[tracked.path] = tracked
        self._by_locator[_number(row.sighting.locator)] = tracked
        for clue in _clues(row):
            self._alike[hash(clue)] = _joined((*self._under(clue), tracked))

    def _leave(self, tracked: Tracked, row: OpenGeneration) -> None:
        if self._by_path.get(row.path) is tracked:
            del self._by_path[row.path]
        where = _number(row.sighting.locator)
        if self._by_locator.get(where) is tracked:
            del self._by_locator[where]
        for clue in _clues(row):
            rest = tuple(other for other in self._under(clue) if other is not tracked)
            if rest:
                self._alike[hash(clue)] = _joined(rest)
            else:
                self._alike.pop(hash(clue), None)

    def _under(self, clue: bytes) -> tuple[Tracked, ...]:
        """Return the streams of a clue, and those whose clue happens to have the same hash."""
        found = self._alike.get(hash(clue), ())
        return found if isinstance(found, tuple) else (found,)


def load_index(connection: Connection) -> tuple[Index, int]:
    """Return what the database knows, and how many bytes of it are captured."""
    index, captured = Index(), 0
    for row in streams.load_open(connection):
        index.add(row)
        captured += row.evidence.captured
    return index, captured


def _clues(row: OpenGeneration) -> set[bytes]:
    """Return what a file may be known again by where it has another path and another locator."""
    return {os.path.basename(row.path), row.evidence.prefix_hash or b""} - {b""}


def _joined(found: tuple[Tracked, ...]) -> Tracked | tuple[Tracked, ...]:
    """Return one stream as itself: a tuple around each would be the larger part."""
    return found if len(found) > 1 else found[0]


def _number(where: Locator) -> int:
    """Return a locator as one number, half the size of two in a tuple."""
    return (where.device << 64) + where.inode
