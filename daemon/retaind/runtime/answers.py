"""What the running daemon answers on its control socket."""

import os
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from retaind import __version__
from retaind.config import Settings, load
from retaind.db import Connection, Database
from retaind.errors import ConfigError, NotFound, RetentionError, UsageError
from retaind.memory.local import LocalMemory, search
from retaind.memory.port import Filters
from retaind.paths import Paths
from retaind.runtime import looks, metrics, recalling, report
from retaind.runtime.catalog import shown_path
from retaind.runtime.controls import (
    BackfillRequest,
    Facts,
    ForgetRequest,
    HintRequest,
    PromptRequest,
    RebuildRequest,
    RecallRequest,
    RetainRequest,
    RetryRequest,
)
from retaind.runtime.engine import Engine
from retaind.runtime.events import Events
from retaind.runtime.lifecycle import notify
from retaind.runtime.logs import logger
from retaind.runtime.loop import FlushJob, Loop
from retaind.runtime.manual import Kept
from retaind.runtime.memories import LOCAL, check, check_local, meant, switched_on
from retaind.runtime.nudges import Nudges
from retaind.runtime.prompts import Prompts
from retaind.runtime.reloading import Adopt, after_restart, changed_keys, in_force
from retaind.runtime.results import Results
from retaind.runtime.retain import Retainer
from retaind.runtime.upkeep import Upkeep, processed
from retaind.runtime.watch import Watcher

if TYPE_CHECKING:
    from retaind.runtime.remote import Remote


@dataclass(slots=True)
class Answers:
    """The parts of the daemon that questions are answered from."""

    paths: Paths
    settings: Settings
    database: Database
    memory: LocalMemory
    engine: Engine
    retainer: Retainer
    loop: Loop
    watcher: Watcher | None
    events: Events
    results: Results
    started: float
    adopt: Adopt
    nudges: Nudges
    prompts: Prompts
    upkeep: Upkeep
    remote: "Remote | None" = None
    quarantined: Path | None = None
    reload_wanted: anyio.Event = field(default_factory=anyio.Event)

    async def status(self) -> Facts:
        """Answer as `status --json`."""
        sums = await self.database.read(lambda c: report.summary(c, self._memories()))
        if LOCAL in sums["memories"]:
            sums["memories"][LOCAL] |= await self.upkeep.state()
        if self.remote is not None:
            sums["memories"][self.remote.to.memory] |= await self.remote.state()
        return {
            "version": __version__,
            "pid": os.getpid(),
            "state": "degraded" if self._troubles() else "running",
            "started_at": report.timestamp(self.started),
            **sums,
            "import": looks.importing(self.engine, self.retainer.queue.bytes()),
            "watch": looks.watching(self.settings.watch.mode, self.watcher, self.engine),
            "oddities": dict(self.engine.oddities()),
            "failing": len(self.retainer.failing),
            "quarantined": str(self.quarantined) if self.quarantined else None,
            "state_dir": str(self.paths.state_dir),
            "last_error": "; ".join(self._troubles()) or None,
        }

    async def health(self) -> Facts:
        """Answer whether the daemon works as it should."""
        troubles = self._troubles()
        return {"ok": self.engine.last_error is None, "version": __version__, "troubles": troubles}

    def one_line(self) -> str:
        """Say how things are in one line, for the service manager."""
        pending = self.retainer.queue.bytes()
        sessions = len(self.engine.capture.index)
        return f"{sessions} transcripts, {self.engine.capture.captured_bytes} bytes kept, {pending} pending"

    def _memories(self) -> tuple[str, ...]:
        remote = None if self.remote is None else self.remote.to.memory
        return switched_on(self.settings, remote)

    def _troubles(self) -> list[str]:
        """Say in plain words what is wrong."""
        found = self.upkeep.troubles()
        if self.engine.last_error is not None:
            found.append(str(self.engine.last_error))
        if self.retainer.failing:
            kinds = ", ".join(sorted(set(self.retainer.failing.values())))
            found.append(
                f"{len(self.retainer.failing)} sessions cannot be retained ({kinds}); their bytes are safe"
            )
        if self.remote is not None:
            found += self.remote.troubles()
        found += looks.unreadable(self.engine)
        if self.quarantined is not None:
            found.append(f"a damaged database was set aside in {self.quarantined}")
        return found

    async def metrics(self) -> str:
        """Answer Prometheus text; no label names a file."""
        sums = await self.database.read(lambda c: report.summary(c, self._memories()))
        lines = metrics.lines(sums, self.engine, len(self.retainer.failing), self.started)
        if self.remote is not None:
            found = await self.remote.state()
            lines += metrics.deliveries(self.remote.to.memory, found["documents"], found["circuit"])
        return "\n".join([*lines, *await self.database.read(processed)]) + "\n"

    async def sessions(self) -> Sequence[Facts]:
        """Answer as `sessions --json`."""
        return await self.database.read(lambda c: report.sessions(c, self._memories()))

    async def session(self, name: str) -> Facts:
        """Answer one row of `sessions`, by id or session id."""

        def find(connection: Connection) -> Facts:
            stream = report.resolve(connection, name)
            rows = report.sessions(connection, self._memories(), stream)
            return next(row for row in rows if row["id"] == stream.public_id)

        return await self.database.read(find)

    async def search(self, query: str, limit: int, filters: Filters) -> Facts:
        """Answer as `search --json`."""
        check_local(self._memories())
        found = await self.database.read(lambda c: search(c, query, limit, filters))
        return {"results": [asdict(one) for one in found]}

    async def flush(self, target: str | None, memories: Sequence[str], timeout_s: float) -> Facts:
        """Capture and retain now; `complete` says whether all of it was done in time."""
        check(self._memories(), *memories)
        ids: frozenset[int] | None = None
        if target is not None:
            stream = await self.database.read(lambda c: self._resolve_or_none(c, target))
            ids = None if stream is None else frozenset({stream.id})
        job, delivered = FlushJob(ids), True
        with anyio.move_on_after(timeout_s):
            self.loop.submit(job)
            await job.done.wait()
            if target is not None and ids is None:
                ids = frozenset({(await self._stream(target)).id})
            if self.remote is not None and self.remote.to.memory in memories:
                delivered = False
                await self.remote.settle(ids)
                delivered = True
        done = job.done.is_set() and job.error is None and delivered
        pending = self.retainer.queue.bytes()
        if not done:
            pending += await anyio.to_thread.run_sync(looks.uncaptured_bytes, self.engine)
        unread = looks.unread(self.engine, ids)
        return {
            "complete": done and not unread,
            "error": str(job.error) if job.error else None,
            "pending_bytes": pending,
            "unreadable": [shown_path(path) for path in unread],
        }

    async def _stream(self, target: str) -> report.Stream:
        return await self.database.read(lambda c: report.resolve(c, target))

    def _resolve_or_none(self, connection: Connection, target: str) -> report.Stream | None:
        """Find the session; one that is not known yet may be met by the flush's own scan."""
        try:
            return report.resolve(connection, target)
        except NotFound:
            return None

    async def reload(self) -> Facts:
        """Read the configuration again. What cannot apply at once stays as it is until a restart."""
        fresh = await anyio.to_thread.run_sync(load, self.paths.config_file, os.environ)
        changed = changed_keys(self.settings, fresh)
        self.settings = in_force(self.settings, fresh)
        self.adopt(self.settings)
        await self.engine.apply_rules(fresh.exclusion, fresh.watch.scan_interval_s)
        logger().info("reloaded", changed=changed)
        return {"changed": changed, "after_restart": after_restart(changed)}

    def reload_soon(self) -> None:
        """Ask for a reload without waiting for it; the daemon's loop of reloads answers."""
        self.reload_wanted.set()

    async def reload_when_asked(self) -> None:
        """Reload at each SIGHUP, until cancelled; a configuration that cannot be used changes nothing."""
        while True:
            await self.reload_wanted.wait()
            self.reload_wanted = anyio.Event()
            notify("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")
            try:
                await self.reload()
            except ConfigError as error:
                logger().error("reload_failed", error=str(error))
            notify("READY=1")

    async def retain(self, request: RetainRequest) -> Facts:
        """Hand a text to a memory; answers the RetainResult. The text is kept in the vault as well."""
        check(self._memories(), request.memory)
        name = meant(self._memories(), request.memory)
        if self.remote is not None and name == self.remote.to.memory:
            return asdict(await self.remote.retain(request))
        kept = Kept(request, self.settings, self.memory.name)
        result = await self.memory.retain([kept.item()], commit=kept.commit)
        if self.remote is not None:
            await self.remote.pass_over_manual()
        self.upkeep.announce()
        self.results.announce()
        return asdict(result)

    async def recall(self, request: RecallRequest) -> Facts:
        """Answer as `recall --json`. A remote memory that does not answer gives way to the local one."""
        known = self._memories()
        check(known, request.memory)
        wanted = request.memory or self.settings.recall.memory
        name = meant(known, wanted)
        notice = None
        if wanted != name:
            notice = f"{wanted} is not configured: this is from the {name} memory"
        if self.remote is not None and name == self.remote.to.memory:
            try:
                return await self.remote.recall(request, self.settings)
            except RetentionError as error:
                if LOCAL not in known:
                    raise
                notice = f"{error.what}: this is from the {LOCAL} memory"
        return await self.database.read(
            lambda c: recalling.answer(c, request, self.settings, time.time(), notice)
        )

    async def forget(self, request: ForgetRequest) -> Facts:
        """Answer as `forget --json`."""
        return await self.upkeep.forget(request)

    async def rebuild(self, request: RebuildRequest) -> Facts:
        """Answer as `rebuild --json`."""
        if self.remote is None or request.memory != self.remote.to.memory:
            return await self.upkeep.rebuild(request)
        only = None if request.session is None else [(await self._stream(request.session)).id]
        stale = await self.database.read(self.remote.renewals.retention.stale)
        done = await self.remote.rebuild(only, dry_run=request.dry_run)
        asked = {"memory": request.memory, "dry_run": request.dry_run, "stale": stale}
        return {**asked, **done.facts()}

    async def hint(self, request: HintRequest) -> Facts:
        """Look where an agent's event says that something was written."""
        if request.event == "SessionStart" and request.session_id:
            self.prompts.lineage.announce(request.session_id, request.cwd or "", request.source)
        self.nudges.take((request.path, request.agent_path))
        return {}

    async def prompt(self, request: PromptRequest) -> Facts:
        """Answer `block`: what an agent is given unasked for a prompt, or ""."""
        self.nudges.take((request.path,))
        return await self.prompts.answer(request, self.settings, self.remote)

    async def retry(self, request: RetryRequest) -> Facts:
        """Deliver again what was set aside."""
        return {"retried": await self._needed().retry(request.deliveries)}

    async def backfill(self, request: BackfillRequest) -> Facts:
        """Retain what was said before the remote memory was set up."""
        target = request.session
        stream_id = None if target is None else (await self._stream(target)).id
        return await self._needed().backfill(stream_id)

    def _needed(self) -> "Remote":
        if self.remote is None:
            raise UsageError("there is no remote memory", fix="set memory.hindsight.url")
        return self.remote
