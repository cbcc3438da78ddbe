"""`retaind mcp`: recall and search for an agent, over MCP on standard input and output."""

import click

from retaind.errors import UsageError

_SDK = "mcp"


@click.command()
def command() -> None:
    """Serve recall, search and conversations to an agent over MCP, on stdio.

    In Claude Code: claude mcp add --scope user retaind -- retaind mcp
    """
    from importlib.util import find_spec

    from retaind.extras import how_to_add

    if find_spec(_SDK) is None:
        raise UsageError(
            "retaind mcp needs the MCP SDK, which is not installed",
            why='it is an extra: "retaind[mcp]"',
            fix=how_to_add(_SDK),
        )
    from retaind.cli.mcp_server import serve

    serve()
