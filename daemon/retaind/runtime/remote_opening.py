"""Building the remote memory on the state as the last process left it."""

import time
from collections.abc import Callable
from typing import Final

from retaind.config import Settings
from retaind.config.settings import Hindsight
from retaind.core.plan import Limits
from retaind.db import Connection, Database
from retaind.hosts import HOSTS
from retaind.memory.hindsight import NAME, Client, Token
from retaind.runtime import banks, deliveries, manual
from retaind.runtime.coverage import Range
from retaind.runtime.deliver import Deliverer
from retaind.runtime.erasures import Erasures
from retaind.runtime.handover import Handover, Log
from retaind.runtime.missions import Missions
from retaind.runtime.outbox import Address
from retaind.runtime.outgoing import Outgoing
from retaind.runtime.pending import Queue
from retaind.runtime.projects import project_name
from retaind.runtime.remote import Remote
from retaind.runtime.renewals import Renewals
from retaind.runtime.retain import Retainer
from retaind.runtime.retention import Retention
from retaind.runtime.survey import Known, Survey, cutoff

_INTERVALS_PER_IDLE: Final = 4
"""A session is retained no more often than this many times in the time after which it counts as idle."""
_BYTES_PER_TOKEN: Final = 4


async def open_remote(
    settings: Settings, database: Database, announce: Callable[[], None], log: Log
) -> Remote:
    """Build the remote memory, on the state as the last process left it."""
    chosen = settings.hindsight
    to = Address(NAME, chosen.url)
    token = Token(chosen.token, chosen.token_file)
    client = Client(chosen.url, token, chosen.request_timeout_s, chosen.max_parallel + 2)
    covered: dict[int, tuple[Range, ...]] = {}
    outgoing = Outgoing(to, settings, covered)
    since, backfilled = await database.write(lambda c: _begin(c, outgoing))
    survey = Survey(
        database,
        client,
        NAME,
        lambda c, stream_id: _known(c, outgoing, stream_id),
        cutoff(since, chosen.backfill),
        backfilled,
        covered,
    )
    missions = Missions(database, client, settings.bank.mission, settings.bank.retain_mission, log)
    handover = Handover(database, client, to, missions, log, chosen.poll_s)
    deliverer = Deliverer(database, handover, survey, chosen.max_parallel, announce)
    survey.wake = deliverer.announce
    retention = Retention(
        memory=NAME,
        hosts=HOSTS,
        policy=settings.retain,
        limits=Limits(),
        project_of=project_name,
        outbox=outgoing,
    )
    retainer = Retainer(database, retention, _queue(chosen), log, deliverer.announce, survey)
    erasures = Erasures(database, client, NAME, handover.under_way, log, chosen.poll_s)
    renewals = Renewals(database, to, retention, erasures, log)
    remote = Remote(
        database, settings, client, outgoing, survey, retainer, deliverer, erasures, renewals
    )
    deliverer.surveyed = remote.admit
    return remote


def _queue(chosen: Hindsight) -> Queue:
    return Queue(
        chosen.idle_s,
        chosen.max_behind_s,
        chosen.max_behind_tokens * _BYTES_PER_TOKEN,
        chosen.idle_s / _INTERVALS_PER_IDLE,
    )


def _begin(connection: Connection, outgoing: Outgoing) -> tuple[float, list[int]]:
    """Bring the state in line with the configuration; returns since when there is one, and who is whole.

    What is unsettled goes to the server and, where no document was ever accepted, to the bank of today.
    """
    to = outgoing.to
    connection.execute(
        "INSERT OR IGNORE INTO memory_since (memory, since) VALUES (?, ?)", (to.memory, time.time())
    )
    deliveries.move_to(connection, to)
    for stream_id, bank in banks.unconfirmed(connection, to.memory):
        wanted = outgoing.bank_wanted(connection, stream_id)
        if wanted != bank:
            deliveries.rebank(connection, to, stream_id, wanted)
    manual.pass_over(connection, to.memory)
    since = connection.execute(
        "SELECT since FROM memory_since WHERE memory = ?", (to.memory,)
    ).fetchone()[0]
    whole = connection.execute(
        "SELECT stream_id FROM session_pin WHERE memory = ? AND backfill = 1", (to.memory,)
    ).fetchall()
    return since, [row[0] for row in whole]


def _known(connection: Connection, outgoing: Outgoing, stream_id: int) -> Known | None:
    row = connection.execute(
        "SELECT session_id, kind, mode FROM stream WHERE id = ?", (stream_id,)
    ).fetchone()
    if row is None:
        return None
    return Known._make((*row, outgoing.bank_of(connection, stream_id)))
