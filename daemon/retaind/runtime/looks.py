"""What `status` says of looking: the import under way, the watcher, and roots that cannot be read."""

import os

from retaind.runtime.controls import Facts
from retaind.runtime.engine import Engine
from retaind.runtime.watch import Watcher


def importing(engine: Engine, pending_bytes: int) -> Facts | None:
    """Return how far the import under way is, or None when there is none."""
    progress = engine.import_progress()
    if progress is None:
        return None
    done, total = progress
    return {"files_done": done, "files_total": total, "pending_bytes": pending_bytes}


def watching(mode: str, watcher: Watcher | None, engine: Engine) -> Facts:
    """Return how changes are noticed, and each root with its state at the last scan."""
    return {
        "mode": mode,
        "state": watcher.state if watcher is not None else "scanning",
        "trouble": (watcher.trouble if watcher is not None else "") or None,
        "scans": engine.scans,
        "roots": [{"path": path, "state": state} for path, state in _roots(engine)],
    }


def unreadable(engine: Engine) -> list[str]:
    """Say in plain words which roots could not be read at the last scan."""
    return [
        f"{path} cannot be read ({state})"
        for path, state in _roots(engine)
        if state in {"permission", "unobservable"}
    ]


def _roots(engine: Engine) -> list[tuple[str, str]]:
    roots = engine.last_scan.roots if engine.last_scan is not None else {}
    return [(os.fsdecode(path), state) for path, state in roots.items()]
