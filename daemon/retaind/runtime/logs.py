"""Logs: events with fields, in the form that their reader wants. Never a transcript's text.

    journal      `<N>` and JSON on standard error, N being the priority that journald understands
    terminal     lines for people on standard error
    supervised   JSON in LOG_DIR/retaind.log, rotated by us (RETAIND_SUPERVISOR: launchd, detached)
    otherwise    JSON on standard error

Import this before anything that imports structlog: see `_import_structlog`.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Literal, TextIO

from retaind.errors import RetaindError


def _import_structlog() -> None:
    """Import structlog without rich, which it would load for tracebacks: 4 MiB and 45 ms of CPU."""
    hide = "rich" not in sys.modules
    if hide:
        sys.modules["rich"] = None  # type: ignore[assignment]  # how Python marks "not importable"
    try:
        import structlog  # noqa: F401
    finally:
        if hide:
            del sys.modules["rich"]


_import_structlog()

import structlog  # noqa: E402 - see above

Level = Literal["debug", "info", "warning", "error"]
Event = MutableMapping[str, Any]
Form = Literal["journal", "terminal", "json"]

LOG_NAME = "retaind.log"
FILE_BYTES = 5 * 1024 * 1024
FILES = 3
FIELD_CHARS = 200
"""Longer texts are not ours: they are replaced by their length."""
LONG_FIELDS = frozenset({"path", "folder", "reason", "why", "fix", "frames", "error"})
LONG_FIELD_CHARS = 2000
REPEATS = 10
REPEAT_WINDOW_S = 60.0

_PRIORITY = {"debug": 7, "info": 6, "warning": 4, "error": 3, "exception": 3, "critical": 2}


def configure(
    level: Level, environ: Mapping[str, str], log_dir: Path, stderr: TextIO = sys.stderr
) -> None:
    """Send every event of this process to where its reader looks; may be called again."""
    stream: Any = Steady(stderr)
    form = form_of(environ, stderr)
    if environ.get("RETAIND_SUPERVISOR") in {"launchd", "detached"}:
        stream, form = RotatingFile(log_dir / LOG_NAME), "json"
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            Repeats(),
            name_fault,
            guard,
            *_renderers(form, colors="NO_COLOR" not in environ),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=stream),
        cache_logger_on_first_use=False,
    )


def logger() -> Any:
    """Return the logger that the last `configure` set up."""
    return structlog.get_logger()


def form_of(environ: Mapping[str, str], stderr: TextIO) -> Form:
    """Tell by standard error who reads: `JOURNAL_STREAM` names its device and inode."""
    try:
        found = os.fstat(stderr.fileno())
    except (OSError, ValueError):
        return "json"
    if environ.get("JOURNAL_STREAM") == f"{found.st_dev}:{found.st_ino}":
        return "journal"
    return "terminal" if stderr.isatty() else "json"


def guard(_: object, __: str, event: Event) -> Event:
    """Let only short facts through: a long text could be somebody's conversation."""
    return {name: _guarded(name, value) for name, value in event.items()}


def name_fault(_: object, __: str, event: Event) -> Event:
    """Put an exception's kind and frames in the place of `exc_info`.

    Of its words only those of our own errors and of the operating system are kept: others may quote
    the text at which they failed.
    """
    given = event.pop("exc_info", None)
    fault = sys.exc_info()[1] if given is True else given
    if isinstance(fault, BaseException):
        event["fault"] = type(fault).__name__
        if isinstance(fault, RetaindError):
            event["error"] = str(fault)
        elif isinstance(fault, OSError):
            event["error"] = fault.strerror or ""
        event["frames"] = _frames(fault.__traceback__)
    return event


class Repeats:
    """Drops what was said often in the last minute, and says later how much was dropped."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: dict[tuple[str, str], tuple[float, int]] = {}

    def __call__(self, _: object, method: str, event: Event) -> Event:
        """Count one event; raises DropEvent for one too many."""
        key = (method, str(event.get("event")))
        now = self._clock()
        started, count = self._seen.get(key, (now, 0))
        if now - started >= REPEAT_WINDOW_S:
            if count > REPEATS:
                event["not_logged"] = count - REPEATS
            started, count = now, 0
        self._seen[key] = (started, count + 1)
        if count >= REPEATS:
            raise structlog.DropEvent
        return event


class Steady:
    """A stream whose writes never fail the daemon: a full disk or a closed pipe loses the line."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        """Write, or lose it."""
        with suppress(OSError, ValueError):
            self._stream.write(text)

    def flush(self) -> None:
        """Flush, or leave it."""
        with suppress(OSError, ValueError):
            self._stream.flush()


class RotatingFile:
    """A private file that starts anew at `FILE_BYTES`, of which `FILES` are kept.

    If somebody else moves or deletes it, the next line opens a new one.
    """

    def __init__(self, path: Path, limit: int = FILE_BYTES, files: int = FILES) -> None:
        self._path = path
        self._limit = limit
        self._files = files
        self._lock = threading.Lock()
        self._descriptor: int | None = None

    def write(self, text: str) -> None:
        """Append whole lines; what cannot be written is lost."""
        data = text.encode("utf-8", "backslashreplace")
        with self._lock, suppress(OSError):
            os.write(self._open(len(data)), data)

    def flush(self) -> None:
        """Do nothing: every line is written at once."""

    def close(self) -> None:
        """Close the file; the next line opens it again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _open(self, coming: int) -> int:
        if self._descriptor is not None:
            size = self._size_if_current(self._descriptor)
            if size is not None and size + coming <= self._limit:
                return self._descriptor
            self.close()
            if size is not None:
                self._rotate()
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        self._descriptor = os.open(self._path, flags, 0o600)
        return self._descriptor

    def _size_if_current(self, descriptor: int) -> int | None:
        ours = os.fstat(descriptor)
        try:
            there = self._path.stat()
        except OSError:
            return None
        return ours.st_size if os.path.samestat(ours, there) else None

    def _rotate(self) -> None:
        for n in range(self._files - 1, 0, -1):
            older = self._path.with_name(f"{self._path.name}.{n}")
            newer = self._path if n == 1 else self._path.with_name(f"{self._path.name}.{n - 1}")
            with suppress(FileNotFoundError):
                newer.replace(older)


def _renderers(form: Form, *, colors: bool) -> Sequence[Any]:
    if form == "terminal":
        stamp = structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False)
        return [stamp, structlog.dev.ConsoleRenderer(colors=colors)]
    if form == "journal":  # journald adds the time itself
        return [structlog.processors.JSONRenderer(), _with_priority]
    stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)
    return [stamp, structlog.processors.JSONRenderer()]


def _with_priority(_: object, method: str, line: str) -> str:
    return f"<{_PRIORITY.get(method, 6)}>{line}"


def _guarded(name: str, value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return f"({len(value)} bytes, not logged)"
    if isinstance(value, list | tuple | set | frozenset):
        return [_guarded(name, part) for part in list(value)[:20]]
    text = value if isinstance(value, str) else str(value)
    limit = LONG_FIELD_CHARS if name in LONG_FIELDS else FIELD_CHARS
    if len(text) <= limit:
        return text
    if name in LONG_FIELDS:
        return text[:limit] + "…"
    return f"({len(text)} characters, not logged)"


def _frames(trace: TracebackType | None) -> str:
    places = []
    while trace is not None:
        frame: FrameType = trace.tb_frame
        name = Path(frame.f_code.co_filename).name
        places.append(f"{name}:{trace.tb_lineno} {frame.f_code.co_name}")
        trace = trace.tb_next
    return " < ".join(reversed(places[-12:]))
