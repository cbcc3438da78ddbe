"""Forgetting: a session, with every copy of it, leaves vault, memories, index, results and deliveries.

What is in the copies of the database that migrations and damage have left is erased with those copies.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from retaind.db import Connection
from retaind.errors import NotFound
from retaind.memory.local import erase, optimize
from retaind.runtime import cursors, tombstones
from retaind.runtime.admission import COMPANION
from retaind.runtime.catalog import resolve, shown_path
from retaind.runtime.tombstones import Tombstones

_MANUAL: Final = "manual"
_UNSCRUBBED: Final = "unscrubbed"
"""The kind of a row that says that something was erased, and its traces are not."""
_OWN_ROWS: Final = (
    "DELETE FROM cursor WHERE generation_id IN (SELECT id FROM generation WHERE stream_id = ?)",
    "DELETE FROM record_owner WHERE generation_id IN (SELECT id FROM generation WHERE stream_id = ?)",
    "DELETE FROM block WHERE generation_id IN (SELECT id FROM generation WHERE stream_id = ?)",
    "DELETE FROM delivery WHERE stream_id = ?",
    "DELETE FROM session_pin WHERE stream_id = ?",
    "DELETE FROM renewal WHERE stream_id = ?",
    "UPDATE stream SET parent_id = NULL, parent_offset = NULL WHERE parent_id = ?",
    "DELETE FROM generation WHERE stream_id = ?",
    "DELETE FROM stream WHERE id = ?",
)


class Doomed(NamedTuple):
    """A stream that is to go, or that would. `why`: asked, copy, subagent, attachment."""

    id: int
    public_id: str
    host: str
    kind: str
    session_id: str
    project: str | None
    path: bytes
    parent_id: int | None
    captured: int
    why: str

    def facts(self) -> dict[str, Any]:
        """Return it as `forget --json` prints it."""
        return {
            "id": self.public_id,
            "session_id": self.session_id,
            "kind": self.kind,
            "host": self.host,
            "project": self.project,
            "path": shown_path(self.path),
            "captured_bytes": self.captured,
            "why": self.why,
        }


class Choice(NamedTuple):
    """What goes, and which copies of it stay because the user wants them to."""

    going: tuple[Doomed, ...]
    staying: tuple[Doomed, ...]

    def takes(self, host: str, session_id: str) -> bool:
        """Whether a session goes."""
        return any((one.host, one.session_id) == (host, session_id) for one in self.going)


def choose(
    connection: Connection, session: str | None, folder: str | None, *, only: bool
) -> Choice:
    """Find a session, or all of a folder, with what belongs to them and what was copied from or to them.

    Raises NotFound, also for a folder without sessions unless it is to be forgotten for the future, and
    Ambiguous.
    """
    asked = _of_folder(connection, folder) if folder is not None else ()
    if session is not None:
        asked = (resolve(connection, session).id,)
    family = _linked(connection, asked)
    going = asked if only else (*asked, *(one for one in family if one not in asked))
    found = {one: "asked" if one in asked else "copy" for one in going}
    for stream_id, kind in _belonging(connection, going):
        found.setdefault(stream_id, kind)
    for stream_id in _telling_of(connection, tuple(found)):
        found.setdefault(stream_id, "attachment")
    staying = [one for one in family if one not in found]
    return Choice(
        tuple(_doomed(connection, one, why) for one, why in found.items()),
        tuple(_doomed(connection, one, "copy") for one in staying),
    )


def tombstones_for(connection: Connection, choice: Choice, folder: str | None) -> Tombstones:
    """Return what keeps the sessions from being captured again.

    What a staying copy has in common with them, first bytes and records, is no sign of them any more.
    """
    going = [one for one in choice.going if one.kind != _MANUAL]
    heads = _heads(connection, going)
    keys: set[int] = set()
    if not choice.staying:
        keys = cursors.owned(connection, _generations(connection, going))
    return tombstones.made_of(
        sessions=[(one.host, one.session_id) for one in going if one.kind != "attachment"],
        heads=heads - _heads(connection, choice.staying),
        folders=[] if folder is None else [folder],
        records=keys,
    )


def erase_all(connection: Connection, choice: Choice, stones: Tombstones) -> int:
    """Erase the sessions; returns how many documents remote memories are still to erase.

    Belongs in the transaction that leaves no trace.
    """
    tombstones.store(connection, stones)
    connection.execute("INSERT OR IGNORE INTO tombstone VALUES (?, x'', 0)", (_UNSCRUBBED,))
    remote = 0
    for one in choice.going:
        remote += _order_remote_erasures(connection, one)
    for one in choice.going:
        erase(connection, one.session_id if one.kind == _MANUAL else one.public_id)
        connection.execute(
            "DELETE FROM result WHERE json_extract(body, '$.session_id') = ?1"
            " OR json_extract(body, '$.document_ids[0]') = ?1",
            (one.session_id,),
        )
        connection.execute("DELETE FROM given WHERE session_id = ?", (one.session_id,))
    for one in choice.going:
        for statement in _OWN_ROWS:
            connection.execute(statement, (one.id,))
    optimize(connection)
    return remote


def is_unscrubbed(connection: Connection) -> bool:
    """Whether something was erased of which there may still be traces in the database's files."""
    row = connection.execute("SELECT 1 FROM tombstone WHERE kind = ?", (_UNSCRUBBED,)).fetchone()
    return row is not None


def note_scrubbed(connection: Connection) -> None:
    """Record that there is no trace left."""
    connection.execute("DELETE FROM tombstone WHERE kind = ?", (_UNSCRUBBED,))


def _of_folder(connection: Connection, folder: str) -> tuple[int, ...]:
    below = folder.rstrip("/") + "/"
    rows = connection.execute(
        "SELECT id FROM stream WHERE cwd = ?1 OR substr(cwd, 1, length(?2)) = ?2 ORDER BY id",
        (folder, below),
    )
    return tuple(row[0] for row in rows.fetchall())


def _linked(connection: Connection, stream_ids: Sequence[int]) -> tuple[int, ...]:
    """Return the other streams that are linked to these as copies, directly or through others."""
    links: dict[int, set[int]] = {}
    for one, other in connection.execute(
        "SELECT id, parent_id FROM stream WHERE parent_id IS NOT NULL"
    ).fetchall():
        links.setdefault(one, set()).add(other)
        links.setdefault(other, set()).add(one)
    met = dict.fromkeys(stream_ids)
    waiting = list(stream_ids)
    while waiting:
        for other in sorted(links.get(waiting.pop(0), ())):
            if other not in met:
                met[other] = None
                waiting.append(other)
    return tuple(one for one in met if one not in stream_ids)


def _belonging(connection: Connection, stream_ids: Sequence[int]) -> list[tuple[int, str]]:
    """Return the sub-agents and attachments of these sessions, with their kind."""
    found: list[tuple[int, str]] = []
    for stream_id in stream_ids:
        found += connection.execute(
            "SELECT part.id, part.kind FROM stream s JOIN stream part"
            " ON part.owner_session = s.session_id AND part.host = s.host"
            " WHERE s.id = ? AND s.kind = 'session' AND part.kind IN ('subagent', 'attachment')"
            " ORDER BY part.id",
            (stream_id,),
        ).fetchall()
    return found


def _telling_of(connection: Connection, stream_ids: Sequence[int]) -> list[int]:
    """Return attachments that belong to no session: those beside a transcript, and a history of all."""
    paths: set[bytes] = set()
    hosts: set[str] = set()
    for stream_id in stream_ids:
        host, path = connection.execute(
            "SELECT host, path FROM stream WHERE id = ?", (stream_id,)
        ).fetchone()
        hosts.add(host)
        paths.add(path.removesuffix(b".jsonl") + COMPANION)
    rows = connection.execute(
        "SELECT id, host, path FROM stream WHERE kind = 'attachment' AND owner_session IS NULL"
    ).fetchall()
    return [
        id_
        for id_, host, path in rows
        if host in hosts and (path in paths or not path.endswith(COMPANION))
    ]


def _doomed(connection: Connection, stream_id: int, why: str) -> Doomed:
    row = connection.execute(
        "SELECT id, public_id, host, kind, session_id, project, path, parent_id,"
        " (SELECT coalesce(sum(captured), 0) FROM generation WHERE stream_id = stream.id)"
        " FROM stream WHERE id = ?",
        (stream_id,),
    ).fetchone()
    if row is None:
        raise NotFound("the session is gone already", fix="retaind sessions lists them")
    return Doomed._make((*row, why))


def _generations(connection: Connection, streams: Iterable[Doomed]) -> list[int]:
    found = []
    for one in streams:
        rows = connection.execute("SELECT id FROM generation WHERE stream_id = ?", (one.id,))
        found += [row[0] for row in rows.fetchall()]
    return found


def _heads(connection: Connection, streams: Iterable[Doomed]) -> set[tuple[int, bytes]]:
    found: set[tuple[int, bytes]] = set()
    for one in streams:
        rows = connection.execute(
            "SELECT head_bytes, head_hash FROM generation WHERE stream_id = ?", (one.id,)
        )
        found.update(rows.fetchall())
    return found


def _order_remote_erasures(connection: Connection, one: Doomed) -> int:
    """Write down which documents of a session remote memories have, or may be taking right now."""
    cursor = connection.execute(
        "INSERT INTO remote_erasure (memory, url, bank, document_id, operation_id, created)"
        " SELECT memory, url, bank, document_id,"
        "  max(CASE WHEN state IN ('planned', 'accepted') THEN operation_id END), unixepoch()"
        " FROM delivery WHERE stream_id = ? GROUP BY memory, url, bank, document_id",
        (one.id,),
    )
    return cursor.rowcount
