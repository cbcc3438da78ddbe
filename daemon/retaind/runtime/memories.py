"""Which memories are switched on, and which one is meant where none is named."""

from collections.abc import Collection
from typing import Final

from retaind.config import Settings
from retaind.errors import UsageError

LOCAL: Final = "local"


def switched_on(settings: Settings, remote: str | None) -> tuple[str, ...]:
    """Return the names of the memories in use; `remote` is that of the server's, if there is one."""
    local = (LOCAL,) if settings.local.enabled else ()
    return local if remote is None else (*local, remote)


def check(known: Collection[str], *names: str | None) -> None:
    """Raise UsageError for names that are no memory's; None names none."""
    unknown = sorted({name for name in names if name} - set(known))
    if unknown:
        raise UsageError(
            f"no memory is called {', '.join(unknown)}", fix="retaind status lists them"
        )


def meant(known: Collection[str], *wanted: str | None) -> str:
    """Return the first of the wanted memories that is in use, else any. Raises UsageError if none is."""
    for name in (*wanted, *known):
        if name in known and name is not None:
            return name
    raise UsageError(
        "no memory is switched on",
        why="the vault alone keeps transcripts",
        fix="set memory.local.enabled = true",
    )


def check_local(known: Collection[str]) -> None:
    """Raise UsageError where the local memory, which is the one that is searched, is switched off."""
    if LOCAL not in known:
        raise UsageError(
            "the local memory is switched off, and only that can be searched",
            fix="set memory.local.enabled = true",
        )
