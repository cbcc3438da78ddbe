"""Every error that retaind raises on purpose, as one tree.

    RetaindError              what happened, why, and what to do
    ├── ConfigError           the user's: a file, line and key to mend            exit 78
    ├── UsageError            the user's: the command line asks for nonsense      exit 2
    ├── NotFound              the user's: no such session, delivery or document   exit 1
    ├── Ambiguous             the user's: an id that names several things         exit 5
    ├── NotRunning            nobody answers on the control socket                exit 3
    ├── AlreadyRunning        another daemon holds the state directory            exit 75
    ├── StateError            the state cannot be used as it is                   exit 74
    │   ├── StateTooNew       written by a newer retaind: refused, untouched
    │   ├── StateUnwritable   the directory or database cannot be written
    │   └── StateDamaged      the database is not one, or is torn: quarantine
    ├── DiskFull              offsets stay where the data stopped; go on later
    └── RetentionError          a memory could not take, give or forget
        ├── MemoryDown        try later, nothing is lost
        └── MemoryRefused     this document will never be taken: set it aside

Messages carry ids, sizes, paths and offsets, and never transcript text.
"""


class RetaindError(Exception):
    """Base of all. ``what`` happened, ``why`` (a detail), and the ``fix`` to try; any may be empty."""

    exit_code = 1

    def __init__(self, what: str, *, why: str = "", fix: str = "") -> None:
        self.what = what
        self.why = why
        self.fix = fix
        super().__init__(what)

    def __str__(self) -> str:
        """One line in the form that every part of retaind prints: WHAT. WHY. FIX."""
        parts = [self.what.rstrip(".") + "."]
        if self.why:
            parts.append(f"WHY: {self.why.rstrip('.')}.")
        if self.fix:
            parts.append(f"FIX: {self.fix}")
        return " ".join(parts)


class ConfigError(RetaindError):
    """The configuration cannot be used: names file, line, key and the fix."""

    exit_code = 78


class UsageError(RetaindError):
    """The request makes no sense as it was put."""

    exit_code = 2


class NotFound(RetaindError):
    """There is no such session, delivery or document."""

    exit_code = 1


class Ambiguous(RetaindError):
    """An id names several things; ``candidates`` lists them, one line each."""

    exit_code = 5

    def __init__(self, what: str, candidates: tuple[str, ...]) -> None:
        self.candidates = candidates
        super().__init__(what, why=f"{len(candidates)} match", fix="name one by its id")


class NotRunning(RetaindError):
    """Nobody answers on the control socket."""

    exit_code = 3


class AlreadyRunning(RetaindError):
    """Another daemon holds the lock on the state directory."""

    exit_code = 75


class StateError(RetaindError):
    """The state directory or its database cannot be used as it is."""

    exit_code = 74


class StateTooNew(StateError):
    """The database was written by a newer retaind; it is left untouched."""


class StateUnwritable(StateError):
    """The state directory or the database cannot be written."""


class StateDamaged(StateError):
    """The database is torn or is no database; the caller quarantines it."""


class DiskFull(RetaindError):
    """No space is left for the state; offsets stay where the data stopped."""


class RetentionError(RetaindError):
    """A memory could not take, give or forget something."""


class MemoryDown(RetentionError):
    """The memory does not answer; try later, nothing is lost."""


class MemoryRefused(RetentionError):
    """The memory will never take this document; set it aside."""
