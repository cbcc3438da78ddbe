"""A progress bar from the daemon's own figures, while something takes its time."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from retaind.cli import client
from retaind.cli.output import is_colored, size
from retaind.errors import RetaindError
from retaind.paths import Paths

T = TypeVar("T")
_STEP_S = 0.5


def during(work: Callable[[], T], paths: Paths) -> T:
    """Do the work on another thread, and show meanwhile how far the daemon is."""
    results: list[T] = []
    faults: list[BaseException] = []

    def carry_out() -> None:
        try:
            results.append(work())
        except BaseException as fault:  # noqa: BLE001 - raised again below, on the main thread
            faults.append(fault)

    thread = threading.Thread(target=carry_out, daemon=True)
    thread.start()
    with bar() as progress:
        task = progress.add_task("asking", total=None)
        while thread.is_alive():
            update(progress, task, _status(paths))
            thread.join(_STEP_S)
    if faults:
        raise faults[0]
    return results[0]


def bar() -> Progress:
    """Return a bar that vanishes when it is done."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(no_color=not is_colored()),
        transient=True,
    )


def update(progress: Progress, task: Any, facts: dict[str, Any]) -> None:
    """Move the bar to what `status` says."""
    share = share_done(facts)
    if share is None:
        progress.update(task, description="working", total=None)
        return
    kept = size(facts.get("captured_bytes"))
    progress.update(task, description=f"kept {kept}", total=1.0, completed=share)


def share_done(facts: dict[str, Any]) -> float | None:
    """Return how much of an import, or of what waits, is done: 0 to 1; None when unknown."""
    running = facts.get("import")
    share: float
    if running and running.get("files_total"):
        share = running["files_done"] / running["files_total"]
        return min(share, 1.0)
    captured, pending = facts.get("captured_bytes"), facts.get("pending_bytes")
    if not captured or pending is None:
        return None
    share = 1.0 - pending / captured
    return max(share, 0.0)


def _status(paths: Paths) -> dict[str, Any]:
    try:
        facts: dict[str, Any] = client.get(paths, "status")
    except RetaindError:
        return {}
    return facts
