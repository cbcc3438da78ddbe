"""Hits: passages that an expression of the full-text index finds, narrowed by filters, best first."""

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from retaind.memory.local import passages
from retaind.memory.local.frames import Place, Reader
from retaind.memory.local.times import bound_ms
from retaind.memory.port import Filters

_RANKED: Final = 20_000
"""Of so many hits, the newest, the rank is computed: a word that is everywhere must not take seconds."""
_TIES: Final = 50
_EXTRA_WEIGHT: Final = 0.5
_BATCH: Final = 200
_COLUMNS: Final = (
    "SELECT p.id, p.document_id, p.start, p.chars, p.role, p.turn, p.time, p.fact,"
    " d.source_id, s.session_id, s.stream, s.host, s.kind, s.project, {rank},"
    " d.context, d.tags, d.metadata FROM {rows} JOIN local_passage p ON p.id = {id}"
    " JOIN local_document d ON d.id = p.document_id JOIN local_source s ON s.id = d.source_id"
)
_ALL: Final = "WHERE local_index MATCH :match"
_NARROWED: Final = (
    "JOIN local_passage p ON p.id = local_index.rowid"
    " JOIN local_document d ON d.id = p.document_id JOIN local_source s ON s.id = d.source_id"
    " WHERE {conditions} AND local_index MATCH :match"
)
_BEST: Final = (_COLUMNS + " ORDER BY best.rank, p.time DESC NULLS LAST, p.id LIMIT :limit").format(
    rank="best.rank",
    id="best.id",
    rows="("
    "  SELECT id, rank FROM ("
    "    SELECT local_index.rowid AS id, bm25(local_index, 1.0, :extra) AS rank"
    "    FROM local_index {matching} ORDER BY local_index.rowid DESC LIMIT :ranked"
    "  ) ORDER BY rank, id DESC LIMIT :near"
    ") best",
)
_THESE: Final = _COLUMNS.format(rank="0.0", id="these.value", rows="json_each(:ids) these")


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that was found. `rank` is that of the index: lower is better; labels are JSON."""

    id: int
    document_id: int
    start: int
    chars: int
    role: str | None
    turn: int
    time: int | None
    fact: str | None
    source_id: int
    session_id: str
    stream: str
    host: str
    kind: str
    project: str | None
    rank: float
    context: str
    tags: str
    metadata: str

    @property
    def place(self) -> Place:
        """Where its text is."""
        return Place(self.document_id, self.start, self.chars)


def find(connection: sqlite3.Connection, match: str, limit: int, filters: Filters) -> list[Hit]:
    """Return the best hits, those of equal rank newest first; UsageError for a bound that is no time."""
    conditions, values = _conditions(filters)
    values |= {
        "match": match,
        "ranked": _RANKED,
        "limit": limit,
        "near": limit + _TIES if limit >= 0 else -1,
        "extra": _EXTRA_WEIGHT,
    }
    matching = _NARROWED.format(conditions=" AND ".join(conditions)) if conditions else _ALL
    rows = connection.execute(_BEST.format(matching=matching), values)
    return [Hit(*row) for row in rows.fetchall()]


def look_up(
    connection: sqlite3.Connection, ids: Sequence[int], limit: int, filters: Filters
) -> list[Hit]:
    """Return the first `limit` of these passages that the filters leave; their rank is 0."""
    conditions, values = _conditions(filters)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    hits: list[Hit] = []
    size = _BATCH
    at = 0
    while len(hits) < limit and at < len(ids):
        part = ids[at : at + size]
        rows = connection.execute(_THESE + where, values | {"ids": json.dumps(part)}).fetchall()
        found = {row[0]: row for row in rows}
        hits += [Hit(*found[id_]) for id_ in part if id_ in found]
        at += size
        size *= 4  # a filter that leaves little asks for more at once
    return hits[:limit]


def texts(reader: Reader, hits: Iterable[Hit]) -> list[str]:
    """Return what was said in each hit."""
    return [
        passages.plain(reader.text(one.place)) if one.fact is None else one.fact for one in hits
    ]


def _conditions(filters: Filters) -> tuple[list[str], dict[str, Any]]:
    conditions: list[str] = []
    values: dict[str, Any] = {}

    def one_of(template: str, wanted: Sequence[str], name: str) -> None:
        if not wanted:
            return
        names = []
        for at, value in enumerate(wanted):
            values[f"{name}{at}"] = value
            names.append(f":{name}{at}")
        conditions.append(template.format(", ".join(names)))

    one_of("s.host IN ({0})", filters.hosts, "host")
    one_of("s.kind IN ({0})", filters.kinds, "kind")
    one_of("p.role IN ({0})", filters.roles, "role")
    one_of("(s.session_id IN ({0}) OR s.stream IN ({0}))", filters.sessions, "session")
    one_of("s.session_id NOT IN ({0})", filters.exclude_sessions, "excluded")
    one_of("s.stream NOT IN ({0})", filters.exclude_sessions, "excluded")
    _projects(filters.projects, conditions, values)
    _tags(filters, conditions, values)
    if filters.since is not None:
        conditions.append("p.time >= :since")
        values["since"] = bound_ms(filters.since, end=False)
    if filters.until is not None:
        conditions.append("p.time <= :until")
        values["until"] = bound_ms(filters.until, end=True)
    return conditions, values


def _tags(filters: Filters, conditions: list[str], values: dict[str, Any]) -> None:
    wanted = tuple(dict.fromkeys(filters.tags))
    if not wanted:
        return
    values |= {f"tag{at}": tag for at, tag in enumerate(wanted)}
    names = ", ".join(f":tag{at}" for at in range(len(wanted)))
    values["tags"] = len(wanted) if filters.tags_match.startswith("all") else 1
    held = f"(SELECT count(DISTINCT value) FROM json_each(d.tags) WHERE value IN ({names}))"  # noqa: S608 - our own words
    untagged = "" if filters.tags_match.endswith("_strict") else " OR d.tags = '[]'"
    conditions.append(f"({held} >= :tags{untagged})")


def _projects(projects: Sequence[str], conditions: list[str], values: dict[str, Any]) -> None:
    """Take a project by its name, by its folder, or by a folder that it is in."""
    alternatives = []
    for at, project in enumerate(projects):
        values[f"project{at}"] = project
        values[f"folder{at}"] = project.rstrip("/") + "/"
        alternatives.append(
            f"s.project = :project{at} OR s.cwd = :project{at}"
            f" OR substr(s.cwd || '/', 1, length(:folder{at})) = :folder{at}"
            f" OR substr(s.project || '/', 1, length(:folder{at})) = :folder{at}"
        )
    if alternatives:
        conditions.append(f"({' OR '.join(alternatives)})")
