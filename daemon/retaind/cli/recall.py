"""`retaind recall`: what an agent would be given."""

import os
import sys
import time
from collections.abc import Mapping
from typing import Any

import click

from retaind.cli import client, context
from retaind.cli.asking import check_words
from retaind.cli.output import harmless, print_json
from retaind.errors import NotRunning

_TIMEOUT_S = 30.0


@click.command()
@click.argument("prompt", nargs=-1, required=True)
@click.option("--session", "session_id", help="Compose the query from this session's last turns.")
@click.option("--turns", type=click.IntRange(0), help="How many of them.")
@click.option("--memory", help="The memory to ask.")
@click.option("--max-tokens", type=click.IntRange(1), help="Bounds the block (characters / 4).")
@click.option("--json", "as_json", is_flag=True, help="Print query, results and block as JSON.")
def command(
    prompt: tuple[str, ...],
    session_id: str | None,
    turns: int | None,
    memory: str | None,
    max_tokens: int | None,
    *,
    as_json: bool,
) -> None:
    """Print the block that an agent is given that asks; nothing if nothing is recalled.

    Unasked, at its prompts, an agent is given less: see recall.floor.
    """
    if session_id is None and not as_json:  # a session's last turns are a question, too
        check_words(prompt)
    asked = {
        "prompt": " ".join(prompt),
        "session_id": session_id,
        "turns": turns,
        "memory": memory,
        "max_tokens": max_tokens,
        "cwd": os.getcwd(),
    }
    try:
        answer = client.post(context.paths(), "recall", asked, _TIMEOUT_S)
    except NotRunning as error:
        answer = _without_daemon(asked, error)
    if as_json:
        print_json(answer)
        return
    if answer.get("notice"):
        print(f"note: {answer['notice']}", file=sys.stderr)
    if answer.get("block"):
        print(harmless(answer["block"]))


def _without_daemon(asked: dict[str, Any], error: NotRunning) -> Mapping[str, Any]:
    """Answer from the database, as far as a local memory can. Raises the error where only a server can."""
    from retaind.runtime.controls import RecallRequest
    from retaind.runtime.memories import LOCAL, check, meant
    from retaind.runtime.recalling import answer

    settings, known = context.settings(), context.memories()
    check(known, asked["memory"])
    if meant(known, asked["memory"], LOCAL) != LOCAL:
        raise error
    notice = f"{error.what}: this is what it knew when it stopped"
    with context.reader() as connection:
        return answer(connection, RecallRequest(**asked), settings, time.time(), notice)
