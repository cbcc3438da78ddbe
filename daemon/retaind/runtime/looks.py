"""What `status` says of looking: the import under way, the watcher, what cannot be read, and what waits."""

import os
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from retaind.runtime.catalog import shown_path
from retaind.runtime.controls import Facts
from retaind.runtime.engine import Engine
from retaind.runtime.watch import Watcher

_NAMED: Final = 20


def importing(engine: Engine, pending_bytes: int) -> Facts | None:
    """Return how far the import under way is, or None when there is none."""
    progress = engine.import_progress()
    if progress is None:
        return None
    done, total = progress
    return {"files_done": done, "files_total": total, "pending_bytes": pending_bytes}


def watching(mode: str, watcher: Watcher | None, engine: Engine) -> Facts:
    """Return how changes are noticed, each root with its state at the last scan, and what is closed."""
    return {
        "mode": mode,
        "state": watcher.state if watcher is not None else "scanning",
        "trouble": (watcher.trouble if watcher is not None else "") or None,
        "scans": engine.scans,
        "roots": [{"path": path, "state": state} for path, state in _roots(engine)],
        "unreadable": [
            {"path": shown_path(path), "why": why}
            for path, why in islice(unread(engine).items(), _NAMED)
        ],
    }


def unreadable(engine: Engine) -> list[str]:
    """Say in one line of plain words what could not be read at its last look; none if all could."""
    found = unread(engine)
    if not found:
        return []
    path, why = next(iter(found.items()))
    what = "1 transcript or folder" if len(found) == 1 else f"{len(found)} transcripts or folders"
    return [f"{what} cannot be read: {shown_path(path)} ({why})"]


def unread(engine: Engine, only: frozenset[int] | None = None) -> Mapping[bytes, str]:
    """Return what could not be read at its last look, and why, unless it is excluded.

    `only` are the streams that somebody asks about; None is everything.
    """
    admission = engine.capture.admission
    closed = {} if engine.last_scan is None else engine.last_scan.closed
    found: dict[bytes, str] = {
        path: why for path, why in closed.items() if not admission.excluded_folder(path)
    }
    files = engine.capture.unreadable.paths()
    found |= {path: why for path, why in files.items() if not admission.excluded_path(path)}
    if only is None:
        return found
    wanted = [t.path for one in only if (t := engine.capture.index.stream(one))]
    return {
        path: why
        for path, why in found.items()
        if any(one == path or one.startswith(path + b"/") for one in wanted)
    }


def uncaptured_bytes(engine: Engine) -> int:
    """Return how many bytes are on disk in files that are still to be looked at. Touches the disk."""
    return sum(_missing(engine))


def _missing(engine: Engine) -> Iterator[int]:
    for path in engine.outstanding():
        tracked = engine.capture.index.at_path(path)
        captured = 0 if tracked is None else tracked.row.evidence.captured
        is_off = tracked is not None and tracked.mode in {"off", "listed"}
        if is_off or engine.capture.admission.excluded_path(path):
            continue
        try:
            yield max(0, os.stat(path).st_size - captured)
        except OSError:
            continue


def _roots(engine: Engine) -> list[tuple[str, str]]:
    roots = engine.last_scan.roots if engine.last_scan is not None else {}
    return [(os.fsdecode(path), state) for path, state in roots.items()]
