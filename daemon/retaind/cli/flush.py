"""`retaind flush`: capture and retain now."""

import sys
from collections.abc import Iterator, Mapping, Sequence

import click

from retaind.cli import client, context
from retaind.cli.client import NoAnswer
from retaind.cli.output import counted, print_json, size
from retaind.errors import RetaindError
from retaind.paths import Paths

_INCOMPLETE_EXIT = 8
_GRACE_S = 5.0
_NAMED = 3


@click.command()
@click.argument("session", required=False, metavar="[ID]")
@click.option("--memory", "memories", multiple=True, help="Wait for this memory, too. Repeatable.")
@click.option(
    "--timeout", "timeout_s", default=60.0, show_default=True, type=click.FloatRange(0, 86_400),
    help="Seconds to wait at most; exit 8 when they are over.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print the answer as JSON.")
def command(
    session: str | None, memories: tuple[str, ...], timeout_s: float, *, as_json: bool
) -> int:
    """Capture every transcript, or one session's, and retain it now. Waits until that is done."""
    if session is not None:
        from retaind.runtime.catalog import check_name

        check_name(session)
    paths = context.paths()
    body = {"session": session, "memories": list(memories), "timeout_s": timeout_s}

    def ask() -> dict[str, object]:
        try:
            answer: dict[str, object] = client.post(paths, "flush", body, timeout_s + _GRACE_S)
        except NoAnswer:
            answer = {"complete": False, "error": "the daemon did not answer in time"}
        return answer

    if as_json or not sys.stdout.isatty():
        answer = ask()
    else:
        from retaind.cli.progress import during

        answer = during(ask, paths)
    if as_json:
        print_json(answer)
    elif answer.get("complete"):
        print("everything is captured and retained")
    else:
        held = "".join(f"; {one}" for one in _held(paths, memories))
        print(_unfinished(answer, timeout_s) + held, file=sys.stderr)
    return 0 if answer.get("complete") else _INCOMPLETE_EXIT


def _held(paths: Paths, memories: Sequence[str]) -> Iterator[str]:
    """Say what each of these memories has not taken yet, if it is remote, and why if that is known."""
    from retaind.cli.server_check import waiting

    try:
        found = client.get(paths, "status")["memories"] if memories else {}
    except RetaindError:
        return
    for name in memories:
        known = found.get(name, {})
        if "documents" not in known or not (waits := waiting(known)):
            continue
        trouble = "" if known["circuit"] == "closed" else str(known["detail"] or "")
        how = "paused" if known.get("state") == "paused" else "down"
        yield f"for {name} {waits}" + (f": it is {how}, {trouble}" if trouble else "")


def _unfinished(answer: Mapping[str, object], timeout_s: float) -> str:
    """Say what is missing, and how much of it is known."""
    unread = answer.get("unreadable")
    left = answer.get("pending_bytes")
    if isinstance(unread, list) and unread:
        what = counted(len(unread), "path")
        why = (
            f"{what} cannot be read, so not all is captured: {', '.join(map(str, unread[:_NAMED]))}"
        )
        why = f"{answer['error']}; {why}" if answer.get("error") else why
    else:
        why = str(answer.get("error") or f"{timeout_s:g} s are over")
    return f"not finished: {why}" + (
        f"; {size(left)} wait" if isinstance(left, int) and left else ""
    )
