"""Work on files in worker threads, where any call may hang, as on a mount whose server is gone.

A thread inside a system call cannot be stopped. It is left behind, and until it comes back its file is not
touched again; whatever it brings then is thrown away.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")
R = TypeVar("R")

STUCK_S: Final = 5.0
"""A batch of files that takes longer is stuck at the one it has come to."""

_STUCK_AGAIN: Final = 10
"""While something is stuck already, more of the same is likely: only a tenth of the time is given to it."""


@dataclass(slots=True)
class _Job(Generic[R]):
    """One batch on one thread. `path` is what it is at, None once the thread is free."""

    path: bytes | None = None
    done: list[R] = field(default_factory=list)
    _left_behind: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(
        self, items: Sequence[tuple[bytes, T]], work: Callable[[T], R], discard: Callable[[R], None]
    ) -> None:
        """Work on one item after the other, unless nobody waits any more."""
        paths = [path for path, _ in items]
        for (path, item), following in zip(items, [*paths[1:], None], strict=True):
            self.path = self.path or path
            result = work(item)
            with self._lock:
                if self._left_behind:
                    discard(result)
                    break
                self.done.append(result)
                self.path = following
        self.path = None

    def leave_behind(self) -> bytes | None:
        """Stop waiting; returns what the thread is stuck at."""
        with self._lock:
            self._left_behind = True
            return self.path


@dataclass(frozen=True, slots=True)
class Worked(Generic[T, R]):
    """Results in the order of the items, the path that the thread is stuck at, and what is left to do."""

    results: Sequence[R]
    stuck: bytes | None = None
    left: Sequence[T] = ()


class Patience:
    """Runs work on files, and remembers what is stuck. `hangs` counts how often something was."""

    def __init__(self) -> None:
        self._workers = anyio.CapacityLimiter(4)
        self._stuck: dict[bytes, _Job[object]] = {}
        self.hangs = 0

    def is_stuck(self, path: bytes) -> bool:
        """Whether a thread has not come back from this path."""
        job = self._stuck.get(path)
        return job is not None and job.path == path

    def freed(self) -> list[bytes]:
        """Return the paths whose threads have come back since the last call."""
        back = [path for path in self._stuck if not self.is_stuck(path)]
        for path in back:
            del self._stuck[path]
        return back

    async def work_off(
        self,
        items: Sequence[tuple[bytes, T]],
        work: Callable[[T], R],
        discard: Callable[[R], None],
        limit_s: float = STUCK_S,
    ) -> Worked[T, R]:
        """Run `work` on each item, given with its path; the caller leaves out what is stuck.

        `work` raises nothing. `discard` takes a result for which nobody waits any more.
        """
        if not items:
            return Worked(())
        job: _Job[R] = _Job()
        with anyio.move_on_after(limit_s / _STUCK_AGAIN if self._stuck else limit_s):
            await anyio.to_thread.run_sync(
                job.run, items, work, discard, limiter=self._workers, abandon_on_cancel=True
            )
            return Worked(job.done)
        stuck = job.leave_behind()
        done = len(job.done)
        if stuck is None:
            return Worked(job.done)
        self.hangs += 1
        self._stuck[stuck] = job  # type: ignore[assignment]  # what it brings is never looked at
        return Worked(job.done, stuck, [item for _, item in items[done + 1 :]])
