"""The running daemon: everything wired together in one task group, begun and ended in order."""

import os
import time
from dataclasses import dataclass
from typing import Final

import anyio
import anyio.to_thread
from anyio.abc import SocketListener

from retaind.config import Settings

from retaind.runtime.logs import configure, logger  # isort: skip  # before structlog: see there
from retaind.errors import RetaindError, StateDamaged
from retaind.paths import Paths
from retaind.runtime.api import Api
from retaind.runtime.control_socket import listen
from retaind.runtime.footprint import give_back, share_heap
from retaind.runtime.lifecycle import (
    ClockGap,
    keep_going,
    leave_within,
    notify,
    show_where_it_hangs,
    single_instance,
    watch_signals,
    watchdog_interval_s,
)
from retaind.runtime.pruning import Pruner
from retaind.runtime.quarantine import mark_suspect, open_database
from retaind.runtime.wiring import Parts, wire

_HEARTBEAT_S: Final = 20.0
_SOON_S: Final = 2.0
"""After much was captured, the first quiet moment is not missed."""
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
    share_heap()
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


async def _run(settings: Settings, paths: Paths, started: float) -> _Ended:
    database, quarantined = await anyio.to_thread.run_sync(open_database, paths)
    parts: Parts | None = None
    try:
        parts = await wire(settings, paths, database, started, quarantined)
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


async def _serve(parts: Parts, api: Api, listener: SocketListener) -> None:
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

    watch_signals(stop, parts.answers.reload_soon)
    async with anyio.create_task_group() as tasks:
        for run in (
            parts.answers.reload_when_asked,
            parts.results.run,
            parts.answers.nudges.run,
            parts.answers.upkeep.resume,
        ):
            tasks.start_soon(keep_going, run, log.warning)
        tasks.start_soon(api.serve, listener)
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
        try:
            await parts.loop.run()
        finally:
            if not stopping.is_set():  # an error ends the loop: the watcher's thread must end, too
                stop()
            tasks.cancel_scope.cancel()


async def _heartbeat(parts: Parts) -> None:
    """Feed the watchdog from the loop's own progress, notice sleep, and tidy in quiet moments."""
    interval = watchdog_interval_s() or _HEARTBEAT_S
    gap = ClockGap()
    tidied = time.monotonic()
    trimmed = -_TRIM_BYTES - 1  # loading, too, leaves memory behind
    while True:
        before = parts.engine.progress_ticks
        parts.engine.poke()
        owes = parts.capture.captured_bytes - trimmed > _TRIM_BYTES
        await anyio.sleep(min(interval, _SOON_S if owes else _HEARTBEAT_S))
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
            await parts.database.release_memory()
            await anyio.to_thread.run_sync(give_back)


async def _tidy(parts: Parts) -> None:
    try:
        await parts.database.tidy()
    except RetaindError as error:
        logger().warning("tidy_failed", why=error.why)


async def _finish(parts: Parts) -> int:
    """Take what is still on disk, as far as the deadline allows; the rest is there at the next start."""
    started = time.monotonic()
    left = await parts.loop.finish()
    if parts.remote is not None:
        await parts.remote.finish(started + _FINISH_S)
    notify("STATUS=stopped")
    logger().info("stopped", took_s=round(time.monotonic() - started, 3), pending_bytes=left)
    return 0
