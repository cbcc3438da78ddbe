"""Results of executions: told to hooks and listeners at least once, also when the process dies between.

A result is a row written with the work that it describes. Telling follows, and is marked after the hook
has taken it; whoever counts them goes by `execution_id`.
"""

import json
import subprocess
from collections.abc import Callable, Sequence
from typing import Final

import anyio
import anyio.to_thread

from retaind.db import Connection, Database
from retaind.runtime.events import Events
from retaind.runtime.lifecycle import child_environment

_BATCH: Final = 256
_HOOK_S: Final = 30.0
_KEPT_ROWS: Final = 10_000


class Results:
    """Tells results, oldest first. Failures of a hook are logged and stop nothing."""

    def __init__(
        self, database: Database, events: Events, hook: Sequence[str], log: Callable[..., object]
    ) -> None:
        self._database = database
        self._events = events
        self.hook = tuple(hook)
        self._log = log
        self._news = anyio.Event()

    def announce(self) -> None:
        """Say that there are results to tell."""
        self._news.set()

    async def run(self) -> None:
        """Tell what there is, then wait for news, until cancelled."""
        while True:
            self._news = anyio.Event()
            while await self.tell_some():
                pass
            await self._news.wait()

    async def tell_some(self) -> bool:
        """Tell one batch of results; says whether there may be more."""
        # Asked of the writer, whose pages are warm: a reader would read what was just written again.
        rows = await self._database.write(_untold)
        for _, body in rows:
            self._events.publish({"event": "retained", "result": json.loads(body)})
            if self.hook:
                await self._call_hook(body)
        if rows:
            newest = rows[-1][0]
            await self._database.write(lambda c: _mark_told(c, newest))
        return len(rows) == _BATCH

    async def _call_hook(self, body: str) -> None:
        try:
            finished = await anyio.to_thread.run_sync(self._run_hook, body)
        except (OSError, subprocess.SubprocessError) as error:
            self._log("post_retain_hook_failed", error=type(error).__name__)
            return
        if finished.returncode:
            self._log("post_retain_hook_failed", exit_code=finished.returncode)

    def _run_hook(self, body: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(  # noqa: S603 - the command is the user's own
            self.hook,
            input=body.encode() + b"\n",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_HOOK_S,
            check=False,
            env=child_environment(),
        )


def _untold(connection: Connection) -> list[tuple[int, str]]:
    return connection.execute(
        "SELECT id, body FROM result WHERE hooked = 0 ORDER BY id LIMIT ?", (_BATCH,)
    ).fetchall()


def _mark_told(connection: Connection, newest: int) -> None:
    connection.execute("UPDATE result SET hooked = 1 WHERE hooked = 0 AND id <= ?", (newest,))
    connection.execute("DELETE FROM result WHERE hooked = 1 AND id <= ?", (newest - _KEPT_ROWS,))
