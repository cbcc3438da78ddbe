"""`retaind search`: full text over everything retained."""

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from retaind.cli import context
from retaind.cli.asking import check_words
from retaind.cli.output import harmless, paint, print_json
from retaind.errors import Ambiguous

if TYPE_CHECKING:
    import sqlite3

    from retaind.memory.port import Filters


@click.command()
@click.argument("query", nargs=-1, required=True)
@click.option("--host", "hosts", multiple=True, help="Only this coding agent. Repeatable.")
@click.option("--project", "projects", multiple=True, help="Only this project. Repeatable.")
@click.option("--session", "sessions", multiple=True, help="Only this session. Repeatable.")
@click.option("--role", "roles", multiple=True, help="Only what this role said. Repeatable.")
@click.option("--tag", "tags", multiple=True, help="Only what has this tag. Repeatable.")
@click.option("--since", help="Not before this date or time (ISO 8601, UTC).")
@click.option("--until", help="Not after this date or time (ISO 8601, UTC).")
@click.option("--limit", default=20, show_default=True, type=click.IntRange(1, 1000))
@click.option("--json", "as_json", is_flag=True, help="Print the results as JSON.")
def command(
    query: tuple[str, ...],
    hosts: tuple[str, ...],
    projects: tuple[str, ...],
    sessions: tuple[str, ...],
    roles: tuple[str, ...],
    tags: tuple[str, ...],
    since: str | None,
    until: str | None,
    limit: int,
    *,
    as_json: bool,
) -> None:
    """Search every retained conversation; the best match comes first.

    All words must be in one message; "a phrase", a prefix* and OR between words are understood (in quotes,
    lest the shell takes them). Times are UTC.
    """
    from retaind.memory.port import Filters

    if not as_json:
        check_words(query)
    filters = Filters(
        hosts=hosts,
        projects=projects,
        sessions=sessions,
        roles=roles,
        since=since,
        until=until,
        tags=tags,
    )
    found = _found(" ".join(query), limit, filters)
    if as_json:
        print_json({"results": found})
    elif not found:
        print("nothing found")
    else:
        for one in found:
            _print(one)


def _found(query: str, limit: int, filters: "Filters") -> list[dict[str, Any]]:
    from dataclasses import asdict

    from retaind.memory.local import search
    from retaind.runtime.memories import check_local

    check_local(context.memories())
    with context.reader() as connection:
        for session in filters.sessions:
            _check_session(connection, session)
        return [asdict(one) for one in search(connection, query, limit, filters)]


def _check_session(connection: "sqlite3.Connection", session: str) -> None:
    """Raise NotFound for a session that does not exist: that is another answer than no result."""
    from retaind.runtime.catalog import resolve

    with suppress(Ambiguous):  # of several that have this name all are searched
        resolve(connection, session)


def _print(one: dict[str, Any]) -> None:
    when = str(one["timestamp"] or "")[:16].replace("T", " ")
    facts = [when, one["project"] or one["host"], one["role"] or "", one["session_id"]]
    print(paint(harmless("  ".join(fact for fact in facts if fact)), "dim"))
    for line in str(one["snippet"] or one["text"]).strip().splitlines():
        print(f"  {harmless(line)}")
    print()
