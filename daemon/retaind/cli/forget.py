"""`retaind forget`: erase a session, or a project's, everywhere and for good."""

import os
import sys
from typing import Any

import click

from retaind.cli import client, context
from retaind.cli.asking import confirm
from retaind.cli.output import counted, print_json, short_path, size
from retaind.errors import UsageError

_TIMEOUT_S = 3600.0
_WHY = {
    "asked": "",
    "copy": "  a fork or copy",
    "subagent": "  a sub-agent of it",
    "attachment": "  an attachment",
}


@click.command()
@click.argument("session", required=False, metavar="[ID]")
@click.option("--project", help="A folder: all sessions in it, and all that are still to come.")
@click.option("--only", is_flag=True, help="Keep forks and copies.")
@click.option("--dry-run", is_flag=True, help="List what would be erased; erase nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def command(
    session: str | None,
    project: str | None,
    *,
    only: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Erase a session everywhere: vault, memories, index, results, deliveries, and old databases.

    It is not captured again while its file exists; the file itself stays. Forks and copies go, too,
    unless --only keeps them.
    """
    body = _asked(session, project, only=only)
    paths = context.paths()
    if dry_run or not yes:
        found = client.post(paths, "forget", {**body, "dry_run": True}, _TIMEOUT_S)
        if dry_run:
            print_json(found) if as_json else _list(found)
            return 0
        confirm(
            "forgetting asks before it erases",
            lambda: _list(found, sys.stderr),
            "Erase this for good?",
        )
    done = client.post(paths, "forget", body, _TIMEOUT_S)
    if as_json:
        print_json(done)
    else:
        _say(done)
    return 0 if done.get("complete", True) else 1


def _asked(session: str | None, project: str | None, *, only: bool) -> dict[str, Any]:
    """Return the request. Raises UsageError where it does not say what is to be forgotten."""
    if (session is None) == (project is None):
        raise UsageError("name either a session or --project FOLDER", fix="retaind forget --help")
    if session is not None:
        from retaind.runtime.catalog import check_name

        check_name(session)
    folder = None if project is None else _folder(project)
    return {"session": session, "project": folder, "only": only}


def _folder(project: str) -> str:
    """Return a folder's absolute path. A bare name may be meant as a project's: that names no folder."""
    if os.sep not in project and project not in {".", "..", "~"}:
        raise UsageError(
            f"{project!r} is no path of a folder",
            fix=f"retaind forget --project ./{project}, or the cwd that `retaind sessions --json` shows",
        )
    return os.path.abspath(os.path.expanduser(project))


def _list(found: dict[str, Any], file: Any = None) -> None:
    for one in found["sessions"]:
        name = f"{one['id']}  {one['kind']:<10}  {size(one['captured_bytes']):>8}"
        print(f"{name}  {short_path(one['path'])}{_WHY.get(one['why'], '')}", file=file)
    for one in found["kept"]:
        print(f"{one['id']}  stays, a fork or copy  {short_path(one['path'])}", file=file)
    for path in found["databases"]:
        print(f"{short_path(path)}  an old copy of the whole database", file=file)
    if not found["sessions"]:
        print("no session is kept of it; none will be", file=file)


def _say(done: dict[str, Any]) -> None:
    print(f"forgotten: {counted(len(done['sessions']), 'transcript')}")
    if done["databases"]:
        print(f"deleted: {counted(len(done['databases']), 'old copy of the database')}")
    if done["remote_documents"]:
        left = counted(done["remote_documents"], "document")
        print(f"{left} of the remote memory will be erased as soon as it answers")
    if not done["complete"]:
        print(
            "the database's log could not be emptied, because another process reads it; "
            "FIX: retaind restart",
            file=sys.stderr,
        )
