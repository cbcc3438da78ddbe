"""`retaind verify`: prove that nothing is missing."""

import sqlite3
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from retaind.cli import client, context
from retaind.cli.output import counted, number, paint, print_json, short_path, size
from retaind.errors import RetaindError

if TYPE_CHECKING:
    from retaind.runtime.unkept import Unkept

_FLUSH_S = 20.0


@click.command()
@click.argument("session", required=False, metavar="[ID]")
@click.option("--deep", is_flag=True, help="Read and hash every byte again.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def command(session: str | None, *, deep: bool, as_json: bool) -> int:
    """Compare the bytes of each source, of the vault, and the records in each memory.

    Without ID, transcripts on disk that are not kept at all are listed, too.

    Exit 0: they agree. 1: something differs, or is not kept. 4: something cannot be seen or read.
    """
    from retaind.runtime.catalog import resolve
    from retaind.runtime.content import Verdict
    from retaind.runtime.verify import take_sizes, verify

    memories = context.memories()
    with context.reader() as connection:
        only = resolve(connection, session) if session else None
        unkept = _nothing if session else _looked(connection)
        sources = take_sizes(connection, only)

        def compare() -> tuple[dict[str, Any], Verdict]:
            missing = unkept()
            return verify(connection, sources, memories, only=only, deep=deep, unkept=missing)

        found, verdict = compare()
        if verdict is not Verdict.OK and _flushed(session):
            # What was only on its way is settled now; the sizes stay those of the first look.
            found, verdict = compare()
    if as_json:
        print_json(found)
    else:
        _print(found["sessions"])
    return int(verdict)


def _nothing() -> list["Unkept"]:
    return []


def _looked(connection: sqlite3.Connection) -> Callable[[], list["Unkept"]]:
    """Scan the roots; what it returns judges, each time anew, which of what was there is not kept."""
    from retaind.config import Settings
    from retaind.errors import ConfigError
    from retaind.runtime import tombstones
    from retaind.runtime.admission import Admission
    from retaind.runtime.projects import project_name
    from retaind.runtime.reported import ReportedRoots
    from retaind.runtime.scan import scan
    from retaind.runtime.unkept import find_unkept
    from retaind.runtime.watched import Roots

    try:
        settings = context.settings()
    except ConfigError:
        settings = Settings()  # `doctor` tells of it; the roots are looked at all the same
    state_dir = context.paths().state_dir
    seen = scan(Roots(settings.roots.claude_code, ReportedRoots(state_dir))())

    def judge() -> list["Unkept"]:
        stones = tombstones.read(connection, state_dir)
        return find_unkept(connection, seen, Admission(settings.exclusion, project_name, stones))

    return judge


def _flushed(session: str | None) -> bool:
    try:
        client.post(
            context.paths(), "flush", {"session": session, "timeout_s": _FLUSH_S}, _FLUSH_S + 2
        )
    except RetaindError:
        return False
    return True


def _print(rows: list[dict[str, Any]]) -> None:
    wrong = [row for row in rows if not row["ok"]]
    for row in wrong:
        if row["id"] is None:
            print(f"{paint('not kept', 'red')} {short_path(row['path'])}")
        else:
            print(f"{paint('differs', 'red')}  {row['id']}  {short_path(row['session_id'])}")
        print(f"         {row['reason']}")
    fine = len(rows) - len(wrong)
    verb = "agrees" if fine == 1 else "agree"
    kept = sum(row["kept_bytes"] for row in rows)
    print(f"{counted(fine, 'session')} of {number(len(rows))} {verb}; {size(kept)} in the vault")
