"""How a command ends: its exit code, and one form for every error.

    error: WHAT. WHY: (a detail). FIX: (what to do)

Errors go to standard error, and their exit code says what kind they are; see `retaind.errors`.
"""

import os
import sys
from collections.abc import Callable

from retaind.errors import RetaindError

_CTRL_C_EXIT = 130
_BROKEN_PIPE_EXIT = 141
_INTERNAL_EXIT = 70
_FRAMES = 4


def run_to_end(work: Callable[[], int]) -> int:
    """Do the work of one command; prints its error if it fails, and returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _carried_out(work)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read has seen enough. Python must not complain again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE_EXIT
    return code


def say(text: str, code: int) -> int:
    """Print an error, and return its exit code."""
    print(f"error: {text}", file=sys.stderr)
    return code


def _carried_out(work: Callable[[], int]) -> int:
    try:
        return work()
    except RetaindError as error:
        return _told(error)
    except KeyboardInterrupt:
        return _CTRL_C_EXIT
    except BrokenPipeError:
        raise
    except Exception as fault:  # noqa: BLE001 - people get a sentence, not a traceback
        return _fault(fault)


def _told(error: RetaindError) -> int:
    code = say(str(error), error.exit_code)
    for candidate in getattr(error, "candidates", ()):
        print(f"  {candidate}", file=sys.stderr)
    return code


def _fault(fault: Exception) -> int:
    if type(fault).__name__ == "ServiceError":  # of retaind_service, which few verbs import
        return say(str(fault), 1)
    places = []
    trace = fault.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        places.append(f"{os.path.basename(code.co_filename)}:{trace.tb_lineno}")
        trace = trace.tb_next
    why = type(fault).__name__
    if isinstance(fault, OSError) and fault.strerror:
        why = fault.strerror + (f" ({fault.filename})" if fault.filename else "")
    at = " < ".join(reversed(places[-_FRAMES:]))
    return say(f"retaind failed. WHY: {why} at {at}.", _INTERNAL_EXIT)
