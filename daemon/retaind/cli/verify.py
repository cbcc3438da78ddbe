"""`retaind verify`: prove that nothing is missing."""

from typing import Any

import click

from retaind.cli import client, context
from retaind.cli.output import counted, paint, print_json, short_path, size
from retaind.errors import RetaindError

_FLUSH_S = 20.0


@click.command()
@click.argument("session", required=False, metavar="[ID]")
@click.option("--deep", is_flag=True, help="Read and hash every byte again.")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as JSON.")
def command(session: str | None, *, deep: bool, as_json: bool) -> int:
    """Compare the bytes of each source, of the vault, and the records in each memory.

    Exit 0: they agree. 1: something differs. 4: a source cannot be seen.
    """
    from retaind.runtime.catalog import resolve
    from retaind.runtime.content import Verdict
    from retaind.runtime.verify import take_sizes, verify

    memories = context.memories()
    with context.reader() as connection:
        only = resolve(connection, session) if session else None
        sources = take_sizes(connection, only)
        found, verdict = verify(connection, sources, memories, only=only, deep=deep)
        if verdict is not Verdict.OK and _flushed(session):
            # What was only on its way is settled now; the sizes stay those of the first look.
            found, verdict = verify(connection, sources, memories, only=only, deep=deep)
    if as_json:
        print_json(found)
    else:
        _print(found["sessions"])
    return int(verdict)


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
        print(f"{paint('differs', 'red')}  {row['id']}  {short_path(row['session_id'])}")
        print(f"         {row['reason']}")
    fine = len(rows) - len(wrong)
    kept = sum(row["vault_bytes"] for row in rows)
    print(f"{counted(fine, 'session')} of {len(rows)} agree; {size(kept)} in the vault")
