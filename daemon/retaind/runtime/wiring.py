"""The wiring: what a running daemon is made of, and which part is handed which."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from retaind.config import Settings

from retaind.runtime.logs import logger  # isort: skip  # before structlog: see there
from retaind.core.plan import Limits
from retaind.db import Database
from retaind.hosts import HOSTS
from retaind.memory.local import LocalMemory, leaving
from retaind.paths import Paths
from retaind.runtime import tombstones
from retaind.runtime.admission import Admission
from retaind.runtime.answers import Answers
from retaind.runtime.capture import Capture
from retaind.runtime.engine import Engine
from retaind.runtime.events import Events
from retaind.runtime.local import local_limits, open_extraction
from retaind.runtime.loop import Loop
from retaind.runtime.nudges import Nudges
from retaind.runtime.pending import Queue
from retaind.runtime.projects import project_name
from retaind.runtime.prompts import Prompts
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
    from retaind.runtime.extraction import Extraction
    from retaind.runtime.remote import Remote


@dataclass(slots=True)
class Parts:
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


@dataclass(frozen=True, slots=True)
class _Memories:
    """The memories in use, and how each is fed."""

    local: LocalMemory
    retention: Retention
    queue: Queue
    retainer: Retainer
    every: Retainers
    extraction: "Extraction | None"
    remote: "Remote | None"


@dataclass(frozen=True, slots=True)
class _Intake:
    """What brings bytes in."""

    capture: Capture
    roots: Roots
    reported: ReportedRoots
    engine: Engine
    loop: Loop
    watcher: Watcher | None


async def wire(
    settings: Settings, paths: Paths, database: Database, started: float, quarantined: Path | None
) -> Parts:
    """Make every part and hand it what it needs; nothing runs yet."""
    events = Events()
    results = Results(database, events, settings.hooks.post_retain, logger().warning)
    memories = await _memories(settings, database, results)
    intake = await _intake(settings, paths, database, memories.every)
    answers = Answers(
        paths=paths,
        settings=settings,
        database=database,
        memory=memories.local,
        engine=intake.engine,
        retainer=memories.retainer,
        loop=intake.loop,
        watcher=intake.watcher,
        events=events,
        results=results,
        started=started,
        adopt=_adopting(memories.queue, intake.roots, results),
        nudges=_nudges(intake),
        prompts=Prompts(database),
        upkeep=_upkeep(paths, database, memories, intake),
        remote=memories.remote,
        quarantined=quarantined,
    )
    return Parts(
        database=database,
        capture=intake.capture,
        retainer=memories.retainer,
        engine=intake.engine,
        loop=intake.loop,
        watcher=intake.watcher,
        results=results,
        answers=answers,
        retainers=memories.every,
        remote=memories.remote,
    )


async def _memories(settings: Settings, database: Database, results: Results) -> _Memories:
    log = logger()
    memory = LocalMemory(database, local_limits(settings))
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
    every = {memory.name: retainer} if settings.local.enabled else {}
    remote = None
    if settings.hindsight.enabled:
        # Not imported where there is none: that is 2 MiB and 50 ms of every start.
        from retaind.runtime.remote_opening import open_remote

        remote = await open_remote(settings, database, results.announce, log.warning)
        every[remote.to.memory] = remote.retainer
    return _Memories(memory, retention, queue, retainer, Retainers(every), extraction, remote)


async def _intake(
    settings: Settings, paths: Paths, database: Database, retainers: Retainers
) -> _Intake:
    stones = await database.write(lambda c: tombstones.load(c, paths.state_dir))
    capture = Capture(database, Admission(settings.exclusion, project_name, stones))
    reported = ReportedRoots(paths.state_dir)
    roots = Roots(settings.roots.claude_code, reported)
    engine = Engine(database, capture, roots, retainers, settings.watch.scan_interval_s)
    watcher = None
    if settings.watch.mode == "auto":
        log = logger().warning
        watcher = Watcher(roots.folders, engine.hint, engine.request_scan, log)
    return _Intake(capture, roots, reported, engine, Loop(engine, retainers), watcher)


def _upkeep(paths: Paths, database: Database, memories: _Memories, intake: _Intake) -> Upkeep:
    engine, remote = intake.engine, memories.remote
    rebuilder = Rebuilder(database, memories.retention, memories.retainer, engine.step)
    upkeep = Upkeep(
        paths,
        database,
        intake.capture,
        memories.every,
        memories.retention,
        rebuilder,
        intake.loop,
        memories.local,
        memories.extraction,
    )
    if remote is not None:
        remote.poke = engine.poke
        upkeep.on_remote_erasures = remote.erasures.announce
        upkeep.renew = remote.renew
    return upkeep


def _nudges(intake: _Intake) -> Nudges:
    watcher = intake.watcher
    return Nudges(intake.engine, intake.reported, None if watcher is None else watcher.refresh)


def _adopting(queue: Queue, roots: Roots, results: Results) -> Callable[[Settings], None]:
    """Return what a reload does to the parts that take new settings at once."""

    def adopt(fresh: Settings) -> None:
        queue.idle_s, queue.max_behind_s = fresh.local.idle_s, fresh.local.max_behind_s
        roots.configured = fresh.roots.claude_code
        results.hook = fresh.hooks.post_retain

    return adopt
