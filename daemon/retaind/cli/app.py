"""The command line: verbs that are imported when they are called."""

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from retaind import __version__
from retaind.cli.ending import run_to_end, say

VERBS = {
    "run": "Run the daemon in the foreground.",
    "start": "Start the daemon in the background.",
    "stop": "Stop the daemon; what is captured stays safe.",
    "restart": "Stop the daemon if it runs, and start it.",
    "reload": "Have the daemon read its configuration again.",
    "status": "Is it working? Exit 0 running, 1 dead, 3 stopped, 4 unknown.",
    "sessions": "List transcripts, and how far each is kept and retained.",
    "show": "Print a conversation.",
    "search": "Search everything that is retained.",
    "recall": "Print what an agent is given that asks a question.",
    "retain": "Hand a text of your own to a memory.",
    "flush": "Capture and retain now, and wait for it.",
    "retry": "List what a memory would not take, and deliver it again.",
    "backfill": "Retain what was said before a remote memory was set up.",
    "verify": "Prove that source, vault and memories agree.",
    "restore": "Write a transcript back, byte for byte.",
    "rebuild": "Derive a memory anew from the vault.",
    "forget": "Erase a session, or a project's, everywhere.",
    "logs": "Print the daemon's log.",
    "doctor": "Check everything, with a fix for what is wrong.",
    "config": "Print the settings in force, and where each comes from.",
    "hook": "Take a coding agent's event; for its hooks.",
    "hooks": "Install, remove or look at the hooks in Claude Code.",
    "mcp": "Serve recall and search to an agent over MCP, on stdio.",
    "migrate": "Take over from another memory.",
    "selftest": "Check that this installation can work at all.",
}
"""Each verb is the `command` of the module of its name, and its line of help."""


_TAKE_WORDS = frozenset({"search", "recall"})
_MISUSED_EXIT = 2
_NO_NUMBER = {
    r"is not a valid integer( range)?": "is no whole number",
    r"is not a valid float( range)?": "is no number",
}
_HELP_ERROR: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())  # since click 8.2


class Verbs(click.Group):
    """A group that imports a verb only to run it, or to print that verb's own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the verbs in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the verb."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = import_module(f"retaind.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the table, without importing any verb."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name the verb that was probably meant."""
        name = args[0]
        if name in VERBS or name.startswith("-"):
            return super().resolve_command(ctx, args)
        from difflib import get_close_matches

        near = get_close_matches(name, list(VERBS), n=1)
        hint = f"retaind {near[0]}" if near else "retaind --help lists them"
        raise click.UsageError(f'there is no verb "{name}"\0{hint}')


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="retaind", message="%(prog)s %(version)s")
def retaind() -> None:
    """Keep every byte of your coding agents' transcripts, and search them."""


def run(arguments: Sequence[str]) -> int:
    """Run one command line; prints errors, and returns the process's exit code."""
    return run_to_end(lambda: _invoke(arguments))


def _invoke(arguments: Sequence[str]) -> int:
    try:
        # Not retaind.main(): it would end the process by itself when a pipe breaks.
        with retaind.make_context("retaind", list(arguments)) as context:
            code = retaind.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.Abort:
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        return _misused(error)
    return code if isinstance(code, int) else 0


def _misused(error: click.ClickException) -> int:
    if isinstance(error, _HELP_ERROR):  # its message is the help itself
        print(error.format_message(), file=sys.stderr)
        return _MISUSED_EXIT
    what, _, hint = error.format_message().partition("\0")
    where = "retaind"
    if isinstance(error, click.UsageError) and error.ctx:
        where = error.ctx.command_path
    if isinstance(error, click.NoSuchOption) and where.rpartition(" ")[2] in _TAKE_WORDS:
        hint = f"{where} -- WORDS, where a word begins with -; {where} --help"
    return say(f"{_plain(what)} FIX: {hint or where + ' --help'}", error.exit_code)


def _plain(what: str) -> str:
    """Return what click says as one or two whole sentences."""
    for theirs, ours in _NO_NUMBER.items():
        what = re.sub(theirs, ours, what)
    what = re.sub(r"\((Did you mean .*\?)\)$", r"\1", what.rstrip("."))
    return what if what.endswith("?") else f"{what}."
