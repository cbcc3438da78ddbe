"""`retaind restore`: a transcript, byte for byte."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from retaind.cli import context
from retaind.cli.output import size
from retaind.errors import StateUnwritable, UsageError


@click.command()
@click.argument("session", metavar="ID")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to this file.")
@click.option("--generation", type=click.IntRange(1), help="An earlier state, before a rewrite.")
@click.option("--attachment", help="One of the session's other files, by name or id.")
@click.option("--force", is_flag=True, help="Replace the output file if it exists.")
def command(
    session: str,
    output: Path | None,
    generation: int | None,
    attachment: str | None,
    *,
    force: bool,
) -> None:
    """Write a transcript from the vault, exactly as it was, to a file or to a pipe."""
    from retaind.runtime.catalog import load, resolve
    from retaind.runtime.show import choose_attachment, choose_generation, exact

    if output is None and sys.stdout.isatty():
        raise UsageError("standard output is a terminal", fix="name a file with -o FILE")
    with context.reader() as connection:
        stream = resolve(connection, session)
        one = next(one for one in load(connection, stream) if one.stream.id == stream.id)
        chosen = choose_attachment(one, attachment) if attachment else one
        pieces = exact(connection, choose_generation(chosen, generation))
        if output is None:
            for piece in pieces:
                sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
        else:
            written = write_file(output, pieces, force=force)
            print(f"wrote {size(written)} to {output}", file=sys.stderr)


def write_file(output: Path, pieces: Iterator[bytes], *, force: bool) -> int:
    """Write a private file that appears whole or not at all, and return its size in bytes.

    Raises UsageError if it exists, and StateUnwritable.
    """
    if not force and os.path.lexists(output):
        raise UsageError(f"{output} exists", fix="name another file, or add --force")
    partial = output.with_name(f".{output.name}.{os.getpid()}.partial")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            written = sum(map(file.write, pieces))
            file.flush()
            os.fsync(file.fileno())
        if force:
            partial.replace(output)
        else:
            os.link(partial, output)  # unlike a rename, this never replaces what came meanwhile
        return written
    except FileExistsError:
        raise UsageError(f"{output} exists", fix="name another file, or add --force") from None
    except OSError as error:
        raise StateUnwritable(
            f"{output} cannot be written",
            why=error.strerror or type(error).__name__,
            fix="name a file in a folder that exists and that you may write to",
        ) from error
    finally:
        partial.unlink(missing_ok=True)
