"""A daemon that is killed at random moments, under a writer that does everything to its files.

RETAIND_SEED repeats a run, and RETAIND_SOAK makes it ten times as long.
"""

import os
import random
import threading
from pathlib import Path

import pytest

from harness.kept import found_in, streams_in
from harness.process import Home, wait_until
from harness.writer import Writer

KILLS = 2000 if os.environ.get("RETAIND_SOAK") else 200
CHECKED_EVERY = 10
LONGEST_LIFE_S = 0.25
ACTS_WHILE_DEAD = 0.3


@pytest.mark.timeout(1200)
def test_nothing_is_lost_or_doubled_by_kills_at_random_moments(home: Home) -> None:
    seed = int(os.environ.get("RETAIND_SEED") or random.randrange(1 << 32))
    print(f"RETAIND_SEED={seed}")  # noqa: T201 - what repeats a run that failed
    writer = Writer(home.project, random.Random(seed))
    moment = random.Random(seed + 1)
    for kill in range(1, KILLS + 1):
        home.start(wait=False)
        _write_for(writer, moment.uniform(0.0, LONGEST_LIFE_S), moment)
        if kill % CHECKED_EVERY == 0:
            _check(home, writer)
        home.kill()
        if moment.random() < ACTS_WHILE_DEAD:
            writer.act()
    home.start()
    _check(home, writer)
    verified = home.cli("verify", "--deep")
    assert verified.returncode == 0, verified.stdout.decode()
    for row in home.ask("GET", "/v1/sessions"):
        if row["state"] != "source_gone":
            assert home.restored(row["id"]) == Path(row["path"]).read_bytes()


def _write_for(writer: Writer, seconds: float, moment: random.Random) -> None:
    """Write now and then for a while; what is waited for is the moment of the kill."""
    clock = threading.Event()
    for _ in range(moment.randrange(1, 9)):
        writer.act()
        clock.wait(seconds * moment.random() / 4)


def _check(home: Home, writer: Writer) -> None:
    wait_until(home.answers, "the daemon answers")
    home.flush()
    writer.promise()
    database = home.state / "retaind.db"
    writer.check(streams_in(database), found_in(database))
