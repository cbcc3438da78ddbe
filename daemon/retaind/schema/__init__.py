"""The shape of the one database: SQL files, each applied in one transaction with its record."""

from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).parent


class Migration(NamedTuple):
    """One step forward. ``version`` rises by one; ``sql`` is a script without BEGIN or COMMIT."""

    version: int
    name: str
    sql: str


def migrations() -> tuple[Migration, ...]:
    """Return every migration that this version of retaind knows, oldest first."""
    steps = []
    for path in sorted(_FOLDER.glob("v*.sql")):
        version, _, name = path.stem[1:].partition("_")
        steps.append(Migration(int(version), name, path.read_text(encoding="utf-8")))
    return tuple(steps)
