"""`python -m retaind` and the `retaind` command."""

import sys

OFTEN = ["status", "--json"]
"""Programs ask this again and again; without the parser of arguments it takes half the time."""
HOOK = ["hook"]
DAEMON = ["run"]
HELP = {"-h", "--help"}


def main() -> None:
    """Run the command line and end the process with its exit code."""
    arguments = sys.argv[1:]
    if arguments[:1] == HOOK and not HELP.intersection(arguments):
        from retaind.cli.event import handle

        sys.exit(handle(arguments[1:]))
    if arguments == OFTEN:
        from retaind.cli.condition import print_condition
        from retaind.cli.ending import run_to_end

        sys.exit(run_to_end(print_condition))
    if arguments == DAEMON:
        from retaind.cli.ending import run_to_end
        from retaind.cli.foreground import run_daemon

        sys.exit(run_to_end(run_daemon))
    from retaind.cli.app import run

    sys.exit(run(arguments))


if __name__ == "__main__":
    main()
