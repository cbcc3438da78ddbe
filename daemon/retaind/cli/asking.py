"""What people type to be looked for."""

from collections.abc import Sequence

from retaind.errors import UsageError


def check_words(words: Sequence[str]) -> None:
    """Raise UsageError where there is nothing to look for: no letter and no digit."""
    if not any(character.isalnum() for word in words for character in word):
        raise UsageError("nothing was asked", fix="give words to look for")
