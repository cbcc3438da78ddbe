"""`retaind retain`: a text of the user's own, for a memory."""

import os
import sys

import click

from retaind.cli import client, context
from retaind.cli.output import counted, print_json
from retaind.errors import UsageError

_LIMIT_BYTES = 60 * 1024 * 1024
_TIMEOUT_S = 120.0


@click.command()
@click.argument("file", type=click.Path(allow_dash=True))
@click.option("--document-id", required=True, help="The same id again replaces the document.")
@click.option("--memory", help="The memory to take it; by default the local one.")
@click.option("--context", "label", default="", help="What kind of text it is.")
@click.option("--tag", "tags", multiple=True, help="A tag. Repeatable.")
@click.option("--append", is_flag=True, help="Add to the document instead of replacing it.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def command(
    file: str,
    document_id: str,
    memory: str | None,
    label: str,
    tags: tuple[str, ...],
    *,
    append: bool,
    as_json: bool,
) -> int:
    """Hand any text to a memory: a FILE, or `-` for standard input. Prints the result."""
    body = {
        "content": _read(file),
        "document_id": document_id,
        "memory": memory,
        "context": label,
        "tags": list(tags),
        "append": append,
    }
    result = client.post(context.paths(), "retain", body, _TIMEOUT_S)
    if as_json or not sys.stdout.isatty():
        print_json(result)
    else:
        chunks = counted(result.get("chunks", 0), "chunk")
        print(f"retained as {document_id} in {result.get('memory')}: {chunks}")
    return 0 if result.get("success", True) else 1


def _read(file: str) -> str:
    try:
        if file == "-":
            raw = sys.stdin.buffer.read(_LIMIT_BYTES + 1)
        else:
            with open(file, "rb") as source:
                raw = source.read(_LIMIT_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{file} cannot be read", why=error.strerror or "") from None
    if len(raw) > _LIMIT_BYTES:
        raise UsageError(f"{file} is larger than {_LIMIT_BYTES // 2**20} MiB", fix="split it")
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        name = "standard input" if file == "-" else os.path.basename(file)
        raise UsageError(
            f"{name} is not UTF-8 text", why=f"the byte at {error.start} is not"
        ) from None
