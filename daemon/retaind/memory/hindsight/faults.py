"""What a Hindsight server can answer instead of what was asked, by who must act.

    MemoryDown            try later, nothing is lost
    ├── Busy              it does not answer, or asks for patience; perhaps says for how long
    ├── Denied            401, 403: the token is wrong; read it again, and tell the user
    └── Misconfigured     404 on a retain and the like: this is no Hindsight server, or not its address
    MemoryRefused         as it is, this will never be taken
    ├── TooLarge          413: less of it may be taken
    ├── Refused           400, 422: a part of it may be taken
    ├── OperationTaken    409: the operation's id is in use
    └── BankMissing       404 on a question: there is no such bank or document

Messages name statuses and sizes, and never what was sent.
"""

import email.utils
import time
from collections.abc import Mapping
from typing import Final

from retaind.errors import MemoryDown, MemoryRefused, RetentionError

_LONGEST_WAIT_S: Final = 3600.0
"""A server that asks for more patience than this is asked again after it."""


class Busy(MemoryDown):
    """No answer, an error of the server's own, or a limit; `retry_after_s` is what it asked for."""

    def __init__(
        self, what: str, *, why: str = "", retry_after_s: float | None = None, whole: bool = True
    ) -> None:
        self.retry_after_s = retry_after_s
        self.whole = whole
        """Whether the server as a whole is meant, rather than this one request."""
        super().__init__(what, why=why)


class Denied(MemoryDown):
    """The server wants another token."""


class Misconfigured(MemoryDown):
    """What answers at the address is not the API that is expected there."""


class TooLarge(MemoryRefused):
    """The document is larger than the server, or a proxy before it, takes."""


class Refused(MemoryRefused):
    """The server finds the document malformed."""


class OperationTaken(MemoryRefused):
    """The operation's id stands for something already."""


class BankMissing(MemoryRefused):
    """There is no such bank or document."""


_OK: Final = range(200, 300)
_FIRST_FAULT: Final = 400
_NOT_FOUND: Final = 404
_OWN_FAULT: Final = 500
_REFUSALS: Final[Mapping[int, type[MemoryRefused]]] = {
    400: Refused,
    409: OperationTaken,
    413: TooLarge,
    422: Refused,
}


def fault(status: int, headers: Mapping[str, str], *, retaining: bool) -> RetentionError | None:
    """Return what a status means, or None when all is well."""
    if status in _OK:
        return None
    what = f"the Hindsight server answered {status}"
    if status in {401, 403}:
        return Denied(what, fix="set memory.hindsight.token or the content of its token_file")
    if status == _NOT_FOUND and not retaining:
        return BankMissing(what)
    if status in {404, 405, 410} or status < _FIRST_FAULT:
        return Misconfigured(what, fix="check memory.hindsight.url and memory.hindsight.bank")
    if status in _REFUSALS:
        return _REFUSALS[status](what)
    wait = _retry_after_s(headers.get("retry-after"))
    return Busy(what, retry_after_s=wait, whole=status != _OWN_FAULT)


def _retry_after_s(value: str | None) -> float | None:
    """Read a Retry-After header: seconds, or a date; None when there is no use in it."""
    if not value:
        return None
    try:
        wait = float(value)
    except ValueError:
        try:
            wait = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return min(wait, _LONGEST_WAIT_S) if wait >= 0 else None  # not a number is no time either
