"""What is done to a memory as a whole: sessions forgotten, memories rebuilt, and how much was processed."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from retaind.db import Connection, Database
from retaind.errors import UsageError
from retaind.failpoint import reach
from retaind.memory.local import LocalMemory
from retaind.paths import Paths
from retaind.runtime import copies, forget, tombstones
from retaind.runtime.capture import Capture
from retaind.runtime.catalog import resolve
from retaind.runtime.controls import ForgetRequest, RebuildRequest
from retaind.runtime.copies import IsGoing
from retaind.runtime.forget import Choice
from retaind.runtime.loop import Loop
from retaind.runtime.rebuild import Rebuilder, Rebuilt
from retaind.runtime.retainers import Retainers
from retaind.runtime.retention import Retention

if TYPE_CHECKING:
    from retaind.runtime.extraction import Extraction

Facts = dict[str, Any]
_DAYS_SHOWN = 30


@dataclass(slots=True)
class Upkeep:
    """Serves `forget` and `rebuild`, each between two steps of the engine."""

    paths: Paths
    database: Database
    capture: Capture
    retainers: Retainers
    retention: Retention
    rebuilder: Rebuilder
    loop: Loop
    memory: LocalMemory
    extraction: "Extraction | None" = None
    on_remote_erasures: Callable[[], None] = field(default=lambda: None)
    renew: Callable[[Sequence[int]], Awaitable[object]] | None = None
    """Has a remote memory retain sessions anew, which own now what was forgotten elsewhere."""

    async def forget(self, request: ForgetRequest) -> Facts:
        """Answer as `forget --json`."""
        if (request.session is None) == (request.project is None):
            raise UsageError(
                "name either a session or a project's folder", fix="retaind forget --help"
            )
        if request.project is not None and not request.project.startswith("/"):
            raise UsageError(
                "the project's folder must be an absolute path", fix="write it out from /"
            )
        if request.dry_run:
            return await self._forget(request)
        found: Facts = await self.loop.between_steps(partial(self._forget_for_good, request))
        return found

    async def rebuild(self, request: RebuildRequest) -> Facts:
        """Answer as `rebuild --json`."""
        if request.memory not in {None, self.retention.memory}:
            raise UsageError(
                f"there is no memory {request.memory}",
                fix="retaind rebuild --memory local; or set memory.hindsight.url",
            )
        only = None
        if request.session is not None:
            name = request.session
            only = [await self.database.read(lambda c: resolve(c, name).id)]
        if not self.retainers.has(self.retention.memory):
            raise UsageError("the local memory is switched off", fix="memory.local.enabled = true")
        stale = await self.database.read(self.retention.stale)
        preview, run = self.rebuilder.preview, self.rebuilder.run
        done: Rebuilt = await self.loop.between_steps(
            (lambda _: preview(only)) if request.dry_run else partial(run, only)
        )
        asked = {"memory": self.retention.memory, "dry_run": request.dry_run, "stale": stale}
        return {**asked, **done.facts()}

    async def state(self) -> Facts:
        """Return what `status` says of the local memory beside its counts."""
        state = await self.memory.state()
        extractor = {} if self.extraction is None else {"extractor": self.extraction.state()}
        return extractor | {
            "stale": await self.database.read(self.retention.stale),
            "documents": state.documents,
            "chunks": state.chunks,
            "chunks_pending": state.chunks_pending,
        }

    def announce(self) -> None:
        """Say that something was retained outside of the engine's steps."""
        if self.extraction is not None:
            self.extraction.announce()

    def troubles(self) -> list[str]:
        """Say in plain words what is wrong."""
        return [] if self.extraction is None else self.extraction.troubles()

    async def resume(self) -> None:
        """Finish what an earlier process has left half done: erasing traces, and a rebuild."""
        await self.loop.between_steps(self._resume)

    async def _resume(self, stopped: Callable[[], bool]) -> None:
        if await self.database.read(forget.is_unscrubbed):
            await self._scrub(self.capture.admission.tombstones.covers_session)
        await self.rebuilder.resume(stopped)

    async def _scrub(self, is_gone: IsGoing) -> tuple[bool, list[Path]]:
        """Leave no trace in any file; returns whether that is done, and the copies that were deleted."""
        clean = await self.database.scrub()
        found = await anyio.to_thread.run_sync(copies.holding, self.paths, is_gone)
        await anyio.to_thread.run_sync(copies.remove, found)
        if clean:
            await self.database.write(forget.note_scrubbed)
        return clean, found

    async def _forget(self, request: ForgetRequest) -> Facts:
        choice = await self._choose(request)
        found = await anyio.to_thread.run_sync(copies.holding, self.paths, choice.takes)
        return _told(choice, found) | {"dry_run": True}

    async def _choose(self, request: ForgetRequest) -> Choice:
        return await self.database.read(
            lambda c: forget.choose(c, request.session, request.project, only=request.only)
        )

    async def _forget_for_good(self, request: ForgetRequest, stopped: Callable[[], bool]) -> Facts:
        choice = await self._choose(request)
        stones = await self.database.read(
            lambda c: forget.tombstones_for(c, choice, request.project)
        )
        # The file first: whatever dies from here on, nothing of this is captured again.
        await anyio.to_thread.run_sync(tombstones.write, self.paths.state_dir, stones)
        reach("forget.written")
        self.capture.admission.tombstones.add(stones)
        ids = [one.id for one in choice.going]
        remote = await self.capture.forget(
            ids,
            lambda: self.database.erase(lambda c: forget.erase_all(c, choice, stones)),
        )
        for stream_id in ids:
            self.retainers.drop_stream(stream_id)
        reach("forget.committed")
        clean, found = await self._scrub(choice.takes)
        if remote:
            self.on_remote_erasures()
        if choice.staying:
            staying = [one.id for one in choice.staying]
            await self.rebuilder.run(staying, stopped)
            if self.renew is not None:
                await self.renew(staying)
        return _told(choice, found) | {
            "dry_run": False,
            "remote_documents": remote,
            "complete": clean,
        }


def _told(choice: Choice, databases: Sequence[object]) -> Facts:
    return {
        "sessions": [one.facts() for one in choice.going],
        "kept": [one.facts() for one in choice.staying],
        "databases": [str(one) for one in databases],
    }


def processed(connection: Connection) -> list[str]:
    """Return lines of Prometheus text: what was processed in each memory, in all and on each day."""
    columns = {
        "executions": "executions",
        "processed_tokens": "tokens",
        "unmetered_executions": "unmetered",
        "unmetered_characters": "unmetered_chars",
        "llm_input_tokens": "llm_input",
        "llm_output_tokens": "llm_output",
    }
    lines = []
    for name, column in columns.items():
        for memory, total in connection.execute(
            f"SELECT memory, sum({column}) FROM processed GROUP BY memory ORDER BY memory"  # noqa: S608 - our own words
        ).fetchall():
            lines.append(f'retaind_{name}_total{{memory="{memory}"}} {total}')
        for memory, day, total in connection.execute(
            f"SELECT memory, day, {column} FROM processed"  # noqa: S608 - our own words
            " WHERE day > date('now', ?) ORDER BY day, memory",
            (f"-{_DAYS_SHOWN} days",),
        ).fetchall():
            lines.append(f'retaind_{name}_of_day{{memory="{memory}",day="{day}"}} {total}')
    return lines
