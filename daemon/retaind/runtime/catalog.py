"""Sessions as the database has them: streams with their generations, cursors and attachments.

Read only; for `report`, `verify` and whoever else wants facts without a running daemon.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from retaind.errors import Ambiguous, NotFound

_PREFIX_CHARS: Final = 4
_LISTED_CANDIDATES: Final = 20
_NAME_CHARS: Final = 80


class Stream(NamedTuple):
    """A row of `stream`; see the schema."""

    id: int
    public_id: str
    host: str
    kind: str
    session_id: str
    owner_session: str | None
    path: bytes
    cwd: str | None
    project: str | None
    mode: str
    parent_id: int | None
    source_state: str
    size_bytes: int
    last_activity: float


class Generation(NamedTuple):
    """A row of `generation`; see the schema."""

    id: int
    stream_id: int
    n: int
    captured: int
    device: int
    inode: int
    closed: str | None


class Cursor(NamedTuple):
    """A row of `cursor`, with its counts decoded; one of zeros where a memory has none yet."""

    memory: str
    generation_id: int
    offset: int = 0
    records: int = 0
    retained: int = 0
    pending: int = 0
    set_aside: int = 0
    dropped: Mapping[str, int] = {}
    redacted: Mapping[str, int] = {}
    messages: int = 0
    turns: int = 0
    lossy: int = 0


class Session(NamedTuple):
    """One stream with all that is known of it. `generations` are oldest first, never empty."""

    stream: Stream
    generations: tuple[Generation, ...]
    cursors: Mapping[tuple[str, int], Cursor]
    attachments: tuple["Session", ...] = ()

    @property
    def current(self) -> Generation:
        """The newest generation."""
        return self.generations[-1]

    def cursor(self, memory: str, generation: Generation) -> Cursor:
        """Return how far a memory is in a generation."""
        key = (memory, generation.id)
        return self.cursors.get(key) or Cursor(memory, generation.id)

    def offset(self, generation: Generation) -> int:
        """Return the offset of the memory that is furthest; it lies at the end of a line."""
        return max(
            (c.offset for (_, id_), c in self.cursors.items() if id_ == generation.id), default=0
        )


def resolve(connection: sqlite3.Connection, name: str) -> Stream:
    """Return the stream with this id or session id, or whose id alone starts like this.

    Raises NotFound, and Ambiguous with the candidates.
    """
    check_name(name)
    conditions = [("public_id = ?", name), ("session_id = ?", name)]
    if len(name) >= _PREFIX_CHARS:
        like = name.replace("!", "!!").replace("%", "!%").replace("_", "!_") + "%"
        conditions.append(("(public_id LIKE ?1 ESCAPE '!' OR session_id LIKE ?1 ESCAPE '!')", like))
    for condition, value in conditions:
        found = _streams(connection, f"kind != 'attachment' AND {condition}", (value,))
        if len(found) > 1:
            lines = [f"{s.public_id}  {s.kind}  {shown_path(s.path)}" for s in found]
            raise Ambiguous(
                f'"{_shown_name(name)}" names several sessions', tuple(lines[:_LISTED_CANDIDATES])
            )
        if found:
            return found[0]
    raise _no_session(name)


def check_name(name: str) -> None:
    """Raise NotFound for a name that no session can have: one whose bytes are not UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise _no_session(name) from None


def _no_session(name: str) -> NotFound:
    return NotFound(f'there is no session "{_shown_name(name)}"', fix="retaind sessions lists them")


def _shown_name(name: str) -> str:
    """Return a name as an error repeats it: short, and with bytes that are not UTF-8 escaped."""
    text = name.encode("utf-8", "backslashreplace").decode()
    return text if len(text) <= _NAME_CHARS else text[:_NAME_CHARS] + "…"


def load(connection: sqlite3.Connection, only: Stream | None = None) -> list[Session]:
    """Return sessions with their attachments, the one active last first; or only one of them."""
    if only is None:
        found = _streams(connection)
    else:
        family = (only.id, only.host, only.session_id)
        found = _streams(
            connection, "id = ? OR (kind = 'attachment' AND host = ? AND owner_session = ?)", family
        )
    ids = None if only is None else [stream.id for stream in found]
    generations = _grouped(_generations(connection, ids))
    cursors = _cursors(connection, None if ids is None else generations)
    every = [_joined(stream, generations, cursors) for stream in found if stream.id in generations]
    attached: dict[tuple[str, str | None], list[Session]] = {}
    for one in every:
        if one.stream.kind == "attachment":
            attached.setdefault((one.stream.host, one.stream.owner_session), []).append(one)
    return [
        one._replace(attachments=tuple(attached.get((one.stream.host, one.stream.session_id), ())))
        if one.stream.kind == "session"
        else one
        for one in every
        if one.stream.kind != "attachment"
    ]


def shown_path(path: bytes) -> str:
    """Return a path as text that any JSON can hold; bytes that are not UTF-8 are escaped."""
    return path.decode("utf-8", "backslashreplace")


def _streams(
    connection: sqlite3.Connection, condition: str = "1", values: Sequence[object] = ()
) -> list[Stream]:
    columns = ", ".join(Stream._fields)
    rows = connection.execute(
        f"SELECT {columns} FROM stream WHERE {condition} ORDER BY last_activity DESC, id",  # noqa: S608 - our own words
        tuple(values),
    )
    return [Stream._make(row) for row in rows.fetchall()]


def _generations(
    connection: sqlite3.Connection, stream_ids: Sequence[int] | None
) -> Iterator[Generation]:
    columns = ", ".join(Generation._fields)
    marks = "" if stream_ids is None else f"WHERE stream_id IN ({', '.join('?' * len(stream_ids))})"
    rows = connection.execute(
        f"SELECT {columns} FROM generation {marks} ORDER BY stream_id, n",  # noqa: S608 - our own words
        tuple(stream_ids or ()),
    )
    return map(Generation._make, rows.fetchall())


def _grouped(generations: Iterable[Generation]) -> dict[int, list[Generation]]:
    groups: dict[int, list[Generation]] = {}
    for generation in generations:
        groups.setdefault(generation.stream_id, []).append(generation)
    return groups


def _cursors(
    connection: sqlite3.Connection, only: Mapping[int, Sequence[Generation]] | None
) -> dict[int, list[Cursor]]:
    columns = ", ".join(Cursor._fields)
    ids = [generation.id for group in (only or {}).values() for generation in group]
    marks = "" if only is None else f"WHERE generation_id IN ({', '.join('?' * len(ids))})"
    rows = connection.execute(f"SELECT {columns} FROM cursor {marks}", ids)  # noqa: S608 - our own words
    found: dict[int, list[Cursor]] = {}
    for row in rows.fetchall():
        cursor = Cursor._make(row)
        found.setdefault(cursor.generation_id, []).append(
            cursor._replace(
                dropped=json.loads(str(cursor.dropped)), redacted=json.loads(str(cursor.redacted))
            )
        )
    return found


def _joined(
    stream: Stream,
    generations: Mapping[int, Sequence[Generation]],
    cursors: Mapping[int, Sequence[Cursor]],
) -> Session:
    own = tuple(generations[stream.id])
    return Session(
        stream,
        own,
        {(c.memory, g.id): c for g in own for c in cursors.get(g.id, ())},
    )
