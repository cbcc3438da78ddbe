"""The command line: verbs that are imported when they are called, and one form for every error.

    error: WHAT. WHY: (a detail). FIX: (what to do)

Errors go to standard error, and their exit code says what kind they are; see `retaind.errors`.
"""

import os
import sys
from collections.abc import Sequence
from importlib import import_module

import click

from retaind import __version__
from retaind.errors import Ambiguous, RetaindError

_CTRL_C_EXIT = 130
_BROKEN_PIPE_EXIT = 141
_INTERNAL_EXIT = 70

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
    "recall": "Print what an agent would be given for a prompt.",
    "retain": "Hand a text of your own to a memory.",
    "flush": "Capture and retain now, and wait for it.",
    "verify": "Prove that source, vault and memories agree.",
    "restore": "Write a transcript back, byte for byte.",
    "logs": "Print the daemon's log.",
    "doctor": "Check everything, with a fix for what is wrong.",
    "config": "Print the settings in force, and where each comes from.",
    "selftest": "Check that this installation can work at all.",
}
"""Each verb is the `command` of the module of its name, and its line of help."""


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
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read has seen enough. Python must not complain again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE_EXIT
    return code


def _run(arguments: Sequence[str]) -> int:
    try:
        code = retaind.main(list(arguments), prog_name="retaind", standalone_mode=False)
    except RetaindError as error:
        return _told(error)
    except click.ClickException as error:
        return _misused(error, arguments)
    except (click.Abort, KeyboardInterrupt):
        return _CTRL_C_EXIT
    except BrokenPipeError:
        raise
    except Exception as fault:  # noqa: BLE001 - people get a sentence, not a traceback
        return _fault(fault)
    return code if isinstance(code, int) else 0


def _misused(error: click.ClickException, arguments: Sequence[str]) -> int:
    if not arguments:  # click's error is the help itself
        print(error.format_message(), file=sys.stderr)
        return error.exit_code
    what, _, hint = error.format_message().partition("\0")
    where = (
        error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "retaind"
    )
    return _say(f"{what.rstrip('.')}. FIX: {hint or where + ' --help'}", error.exit_code)


def _told(error: RetaindError) -> int:
    code = _say(str(error), error.exit_code)
    if isinstance(error, Ambiguous):
        for candidate in error.candidates:
            print(f"  {candidate}", file=sys.stderr)
    return code


def _fault(fault: Exception) -> int:
    if type(fault).__name__ == "ServiceError":  # of retaind_service, which few verbs import
        return _say(str(fault), 1)
    places = []
    trace = fault.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{os.path.basename(code.co_filename)}:{trace.tb_lineno}")
        trace = trace.tb_next
    why = fault.strerror if isinstance(fault, OSError) and fault.strerror else type(fault).__name__
    named = f" ({fault.filename})" if isinstance(fault, OSError) and fault.filename else ""
    return _say(
        f"retaind failed. WHY: {why}{named} at {' < '.join(places[:-5:-1])}.", _INTERNAL_EXIT
    )


def _say(text: str, code: int) -> int:
    print(f"error: {text}", file=sys.stderr)
    return code
