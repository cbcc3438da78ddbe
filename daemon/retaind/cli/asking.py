"""What people ask and are asked: words to look for, and a yes before what cannot be undone."""

import sys
from collections.abc import Callable, Sequence

import click

from retaind.errors import UsageError


def check_words(words: Sequence[str]) -> None:
    """Raise UsageError where there is nothing to look for: no letter and no digit."""
    if not any(character.isalnum() for word in words for character in word):
        raise UsageError("nothing was asked", fix="give words to look for")


def confirm(what: str, show: Callable[[], None], question: str) -> None:
    """Show what would be done and ask; ends the command unless the answer is yes.

    Raises UsageError, beginning with `what`, where nobody sits who could answer.
    """
    if not sys.stdin.isatty():
        raise UsageError(what, fix="add --yes, or look with --dry-run")
    show()
    click.confirm(question, abort=True, err=True)
