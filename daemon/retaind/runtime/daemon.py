"""The running daemon: everything wired together in one task group, begun and ended in order."""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
from anyio.abc import SocketListener

from retaind.config import Settings

from retaind.runtime.logs import configure, logger  # isort: skip  # before structlog: see there
from retaind.core.plan import Limits
from retaind.db import Database
from retaind.errors import RetaindError, StateDamaged
from retaind.hosts import HOSTS
from retaind.memory.local import LocalMemory, leaving
from retaind.paths import Paths
from retaind.runtime import tombstones
from retaind.runtime.admission import Admission
from retaind.runtime.answers import Answers
from retaind.runtime.api import Api
from retaind.runtime.capture import Capture
from retaind.runtime.control_socket import listen
from retaind.runtime.engine import Engine
from retaind.runtime.events import Events
from retaind.runtime.footprint import give_back
from retaind.runtime.lifecycle import (
    ClockGap,
    leave_within,
    notify,
    show_where_it_hangs,
    single_instance,
    watch_signals,
    watchdog_interval_s,
)
from retaind.runtime.local import local_limits, open_extraction
from retaind.runtime.loop import Loop
from retaind.runtime.nudges import Nudges
from retaind.runtime.pending import Queue
from retaind.runtime.projects import project_name
from retaind.runtime.prompts import Prompts
from retaind.runtime.pruning import Pruner
from retaind.runtime.quarantine import mark_suspect, open_database
from retaind.runtime.rebuild import Rebuilder
from retaind.runtime.reported import ReportedRoots
from retaind.runtime.results import Results
from retaind.runtime.retain import Retainer
from retaind.runtime.retainers import Retainers
from retaind.runtime.upkeep import Upkeep
from retaind.runtime.watch import Watcher
from retaind.runtime.watched import Roots
from retaind.runtime.window import Retention

if TYPE_CHECKING:
    from retaind.runtime.remote import Remote

_HEARTBEAT_S: Final = 20.0
_TIDY_S: Final = 60.0
_TRIM_BYTES: Final = 4 << 20
_FINISH_S: Final = 15.0
"""By this time the daemon has stopped, also where a server answers slowly; two seconds are the local part."""
_LAST_RESORT_S: Final = 18.0
_EXIT_DAMAGED: Final = 1


def main(settings: Settings, paths: Paths) -> int:
    """Run the daemon until it is asked to stop; returns the process's exit code.

    Raises AlreadyRunning, StateTooNew, StateUnwritable or DiskFull when it cannot start.
    """
    configure(settings.log.level, os.environ, paths.log_dir)
    show_where_it_hangs()
    started = time.time()
    with single_instance(paths, started):
        ended = anyio.run(_run, settings, paths, started)
        if ended.hangs:
            # A read that never returns would keep the interpreter from ending.
            os._exit(ended.code)
        return ended.code


@dataclass(frozen=True, slots=True)
class _Ended:
    code: int
    hangs: bool


@dataclass(slots=True)
class _Parts:
    """What a running daemon is made of."""

    database: Database
    capture: Capture
    retainer: Retainer
    engine: Engine
    loop: Loop
    watcher: Watcher | None
    results: Results
    answers: Answers
    retainers: Retainers
    remote: "Remote | None"


async def _run(settings: Settings, paths: Paths, started: float) -> _Ended:
    database, quarantined = await anyio.to_thread.run_sync(open_database, paths)
    parts: _Parts | None = None
    try:
        parts = await _wire(settings, paths, database, started, quarantined)
        await parts.capture.load()
        await parts.retainers.load()
        async with listen(paths.socket, paths.state_dir) as listener:
            await _serve(parts, Api(parts.answers), listener)
        code = await _finish(parts)
    except (StateDamaged, ExceptionGroup) as error:
        damaged = _damage_in(error)
        if damaged is None:
            raise
        mark_suspect(paths)
        logger().error("state_damaged", why=damaged.why)
        code = _EXIT_DAMAGED
    finally:
        database.close()
    return _Ended(code, hangs=parts is not None and parts.capture.patience.hangs > 0)


def _damage_in(error: Exception) -> StateDamaged | None:
    """Find the damage among the errors that a task group brings together."""
    if isinstance(error, StateDamaged):
        return error
    inner = error.exceptions if isinstance(error, ExceptionGroup) else ()
    return next((found for one in inner if (found := _damage_in(one))), None)


async def _wire(
    settings: Settings, paths: Paths, database: Database, started: float, quarantined: Path | None
) -> _Parts:
    log = logger()
    events = Events()
    results = Results(database, events, settings.hooks.post_retain, log.warning)
    memory = LocalMemory(database, local_limits(settings))
    stones = await database.write(lambda c: tombstones.load(c, paths.state_dir))
    admission = Admission(settings.exclusion, project_name, stones)
    capture = Capture(database, admission)
    retention = Retention(
        memory=memory.name,
        hosts=HOSTS,
        policy=settings.retain,
        limits=Limits(),
        project_of=project_name,
        retain_in=memory.retain_in,
        moved=leaving.pass_by,
        user_id=settings.bank.user,
    )
    queue = Queue(settings.local.idle_s, settings.local.max_behind_s)
    extraction = open_extraction(settings, database, memory.name, results.announce, log.warning)

    def announce() -> None:
        results.announce()
        if extraction is not None:
            extraction.announce()

    retainer = Retainer(database, retention, queue, log.error, announce)
    all_of_them = {memory.name: retainer} if settings.local.enabled else {}
    remote = None
    if settings.hindsight.enabled:
        # Not imported where there is none: that is 2 MiB and 50 ms of every start.
        from retaind.runtime.remote import open_remote

        remote = await open_remote(settings, database, results.announce, log.warning)
        all_of_them[remote.to.memory] = remote.retainer
    retainers = Retainers(all_of_them)
    reported = ReportedRoots(paths.state_dir)
    roots = Roots(settings.roots.claude_code, reported)
    interval = settings.watch.scan_interval_s
    engine = Engine(database, capture, roots, retainers, interval)
    loop = Loop(engine, retainers)
    rebuilder = Rebuilder(database, retention, retainer, engine.step)
    upkeep = Upkeep(
        paths, database, capture, retainers, retention, rebuilder, loop, memory, extraction
    )
    if remote is not None:
        remote.poke = engine.poke
        upkeep.on_remote_erasures = remote.erasures.announce
    watcher = None
    if settings.watch.mode == "auto":
        watcher = Watcher(roots.folders, engine.hint, engine.request_scan, log.warning)

    def adopt(fresh: Settings) -> None:
        queue.idle_s, queue.max_behind_s = fresh.local.idle_s, fresh.local.max_behind_s
        roots.configured = fresh.roots.claude_code
        results.hook = fresh.hooks.post_retain

    answers = Answers(
        paths=paths,
        settings=settings,
        database=database,
        memory=memory,
        engine=engine,
        retainer=retainer,
        loop=loop,
        watcher=watcher,
        events=events,
        results=results,
        started=started,
        adopt=adopt,
        nudges=Nudges(engine, reported, None if watcher is None else watcher.refresh),
        prompts=Prompts(database),
        upkeep=upkeep,
        remote=remote,
        quarantined=quarantined,
    )
    return _Parts(
        database, capture, retainer, engine, loop, watcher, results, answers, retainers, remote
    )


async def _serve(parts: _Parts, api: Api, listener: SocketListener) -> None:
    """Work until asked to stop. Whoever ends the intake leaves a consistent state: steps are never cut."""
    log = logger()
    stopping = anyio.Event()

    def stop() -> None:
        leave_within(_LAST_RESORT_S)
        notify("STOPPING=1", "STATUS=stopping")
        stopping.set()
        parts.loop.stop()
        if parts.watcher is not None:
            parts.watcher.stop()

    async with anyio.create_task_group() as tasks:
        await tasks.start(watch_signals, stop, parts.answers.reload_soon)
        tasks.start_soon(parts.answers.reload_when_asked)
        tasks.start_soon(api.serve, listener)
        tasks.start_soon(parts.results.run)
        tasks.start_soon(parts.answers.nudges.run)
        tasks.start_soon(parts.answers.upkeep.resume)
        if (extraction := parts.answers.upkeep.extraction) is not None:
            tasks.start_soon(extraction.run)
        tasks.start_soon(_heartbeat, parts)
        keep = parts.answers.settings.vault.keep
        tasks.start_soon(Pruner(parts.database, keep, parts.retainers.names, log.warning).run)
        if parts.watcher is not None:
            tasks.start_soon(parts.watcher.run)
        if parts.remote is not None:
            tasks.start_soon(parts.remote.run)
        notify("READY=1", "STATUS=watching")
        log.info("ready", sessions=len(parts.capture.index), pid=os.getpid())
        await parts.loop.run()
        tasks.cancel_scope.cancel()


async def _heartbeat(parts: _Parts) -> None:
    """Feed the watchdog from the loop's own progress, notice sleep, and tidy in quiet moments."""
    interval = watchdog_interval_s() or _HEARTBEAT_S
    gap = ClockGap()
    tidied = time.monotonic()
    trimmed = parts.capture.captured_bytes
    while True:
        before = parts.engine.progress_ticks
        parts.engine.poke()
        await anyio.sleep(min(interval, _HEARTBEAT_S))
        if parts.engine.progress_ticks != before:
            notify("WATCHDOG=1", f"STATUS={parts.answers.one_line()}")
        if gap.check():
            parts.engine.request_scan()
        if parts.watcher is not None:
            await parts.watcher.refresh()
        captured = parts.capture.captured_bytes
        if not parts.engine.is_quiet():
            continue
        if captured - trimmed > _TRIM_BYTES or time.monotonic() - tidied > _TIDY_S:
            tidied = time.monotonic()
            await _tidy(parts)
        if captured - trimmed > _TRIM_BYTES:
            trimmed = captured
            await anyio.to_thread.run_sync(give_back)


async def _tidy(parts: _Parts) -> None:
    try:
        await parts.database.tidy()
    except RetaindError as error:
        logger().warning("tidy_failed", why=error.why)


async def _finish(parts: _Parts) -> int:
    """Take what is still on disk, as far as the deadline allows; the rest is there at the next start."""
    started = time.monotonic()
    left = await parts.loop.finish()
    if parts.remote is not None:
        await parts.remote.finish(started + _FINISH_S)
    notify("STATUS=stopped")
    logger().info("stopped", took_s=round(time.monotonic() - started, 3), pending_bytes=left)
    return 0
