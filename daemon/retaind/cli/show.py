"""`retaind show`: a conversation, readable."""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from retaind.cli import context
from retaind.cli.output import harmless, paint, short_path
from retaind.errors import NotFound

if TYPE_CHECKING:
    import sqlite3

    from retaind.core.messages import Message
    from retaind.core.policy import RetainPolicy, Tools
    from retaind.runtime.catalog import Generation, Session, Stream

_EVERYONE = ("user", "assistant")
_SPEAKERS = {"user": "cyan", "assistant": "green"}


@click.command()
@click.argument("session", metavar="ID")
@click.option(
    "--format", "form", type=click.Choice(["text", "md", "jsonl", "raw"]), default="text",
    show_default=True, help="raw: the exact bytes; all others have secrets taken out.",
)  # fmt: skip
@click.option("--generation", type=click.IntRange(1), help="An earlier state, before a rewrite.")
@click.option(
    "--tools", type=click.Choice(["none", "summary", "full"]), default="summary",
    show_default=True, help="How much of tool calls to print.",
)  # fmt: skip
def command(session: str, form: str, generation: int | None, tools: "Tools") -> None:
    """Print a conversation from the vault, by id or session id."""
    from retaind.runtime.catalog import resolve
    from retaind.runtime.show import choose_generation, exact

    policy = replace(context.policy(), format="jsonl", tools=tools, roles=_EVERYONE, min_chars=1)
    with context.reader() as connection:
        stream = resolve(connection, session)
        one = _session(connection, stream)
        chosen = choose_generation(one, generation)
        if form == "raw":
            for piece in exact(connection, chosen):
                sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
            return
        if stream.kind == "manual":
            from retaind.runtime.show import text

            print(harmless(text(connection, chosen, policy)))
            return
        _print(one, _messages(connection, one, chosen, policy), form, policy)


def readable(session: str) -> Iterator[str]:
    """Return a conversation's messages as plain text. Raises NotFound, and Ambiguous with the candidates."""
    from retaind.runtime.catalog import resolve
    from retaind.runtime.show import choose_generation, text

    with context.reader() as connection:
        stream = resolve(connection, session)
        policy = replace(context.policy(), format="jsonl", roles=_EVERYONE, min_chars=1)
        if stream.kind == "manual":
            chosen = choose_generation(_session(connection, stream), None)
            yield text(connection, chosen, policy)
            return
        for message in messages_of(connection, stream, policy):
            yield f"{message.speaker}{_at(message.timestamp)}\n{_body(message)}"


def messages_of(
    connection: "sqlite3.Connection", stream: "Stream", policy: "RetainPolicy"
) -> Iterable["Message"]:
    """Return what was said in a session, as it stands now."""
    from retaind.runtime.show import choose_generation

    one = _session(connection, stream)
    return _messages(connection, one, choose_generation(one, None), policy)


def _session(connection: "sqlite3.Connection", stream: "Stream") -> "Session":
    from retaind.runtime.catalog import load

    return next(one for one in load(connection, stream) if one.stream.id == stream.id)


def _messages(
    connection: "sqlite3.Connection", one: "Session", chosen: "Generation", policy: "RetainPolicy"
) -> Iterable["Message"]:
    from retaind.hosts import HOSTS
    from retaind.runtime.show import messages

    if one.stream.host not in HOSTS:
        raise NotFound(
            f'this retaind cannot read conversations of "{one.stream.host}"',
            fix="--format raw prints the bytes",
        )
    return messages(connection, one, chosen, HOSTS[one.stream.host], policy)


def _print(
    one: "Session", messages: Iterable["Message"], form: str, policy: "RetainPolicy"
) -> None:
    from retaind.core.forms import form_of

    if form == "text":
        where = f" in {short_path(one.stream.cwd)}" if one.stream.cwd else ""
        print(paint(f"session {one.stream.session_id}{where}; times are UTC", "dim"))
    elif form == "md":
        print(f"# Session {one.stream.session_id}")
    jsonl = form_of(policy)
    for message in messages:
        if form == "jsonl":
            print(jsonl.written(message))
        elif form == "md":
            print(
                f"\n## {message.speaker.capitalize()}{_at(message.timestamp)}\n\n{_body(message)}"
            )
        else:
            heading = paint(message.speaker, _SPEAKERS.get(message.speaker, "dim"))
            print(f"\n{heading}{paint(_at(message.timestamp), 'dim')}\n{_body(message)}")


def _at(stamp: str) -> str:
    return f" · {harmless(stamp[:19]).replace('T', ' ')}" if stamp else ""


def _body(message: "Message") -> str:
    from retaind.core.forms import action_line

    lines = [message.text] if message.text else []
    lines += [action_line(action) for action in message.actions]
    return harmless("\n".join(lines))
