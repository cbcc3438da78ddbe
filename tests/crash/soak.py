"""The soak: a live writer, kills at random moments, and the books checked again and again for a given time.

usage: python tests/crash/soak.py MINUTES        (make soak MINUTES=10)

Each round has a home of its own, because the oracle compares everything with everything; what is summed up
at the end is over all rounds. RSS and descriptors are those after a flush, first and last. Exit 1 at the
first record that is lost or doubled.
"""

import os
import random
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness.kept import found_in, numbers, streams_in
from harness.process import Home, wait_until
from harness.writer import Writer
from harness.zygote import Zygote

KILLS_IN_A_ROUND = 60
ACTS_BETWEEN_KILLS = 12
CHECKED_EVERY = 10


@dataclass
class Books:
    """What the soak has seen so far."""

    kills: int = 0
    written: int = 0
    in_vault: int = 0
    in_memory: int = 0
    lost: int = 0
    doubled: int = 0
    rss_kib: tuple[int, int] = (0, 0)
    descriptors: tuple[int, int] = (0, 0)


def main() -> int:
    """Run rounds until the time is over, and print the books."""
    end = time.monotonic() + float(sys.argv[1] if len(sys.argv) > 1 else 10) * 60
    seed = int(os.environ.get("RETAIND_SEED") or random.randrange(1 << 32))
    print(f"RETAIND_SEED={seed}", flush=True)
    books = Books()
    with Zygote() as zygote:
        while time.monotonic() < end and not (books.lost or books.doubled):
            with tempfile.TemporaryDirectory(prefix="retaind-soak-") as folder:
                run_round(Home(Path(folder), zygote=zygote), random.Random(seed), books, end)
            seed += 1
    show(books)
    return 1 if books.lost or books.doubled else 0


def run_round(home: Home, chance: random.Random, books: Books, end: float) -> None:
    """Write and kill, look at the books now and then, and add up what the round ends with."""
    writer = Writer(home.project, chance)
    try:
        for kill in range(1, KILLS_IN_A_ROUND + 1):
            home.start(wait=False)
            for _ in range(chance.randrange(1, ACTS_BETWEEN_KILLS)):
                writer.act()
            if kill % CHECKED_EVERY == 0:
                check(home, writer, books)
            home.kill()
            books.kills += 1
            if time.monotonic() > end or books.lost or books.doubled:
                break
        home.start(wait=False)
        check(home, writer, books)
        add_up(home, writer, books)
    finally:
        home.clean_up()


def check(home: Home, writer: Writer, books: Books) -> None:
    """Flush, and compare everything that is kept and found with everything that was written."""
    wait_until(home.answers, "the daemon answers")
    home.flush()
    writer.promise()
    database = home.state / "retaind.db"
    try:
        writer.check(streams_in(database), found_in(database))
    except AssertionError as difference:
        print(f"differs: {difference}", flush=True)
        books.lost += 1
    rss = int(home.proc("status").read_text().split("VmRSS:")[1].split()[0])
    descriptors = len(list(home.proc("fd").iterdir()))
    books.rss_kib = (books.rss_kib[0] or rss, rss)
    books.descriptors = (books.descriptors[0] or descriptors, descriptors)


def add_up(home: Home, writer: Writer, books: Books) -> None:
    """Add what this round wrote, kept and found."""
    database = home.state / "retaind.db"
    found = found_in(database)
    kept = {n for s in streams_in(database) for g in s.generations for n in numbers(g.data)}
    books.written += writer.number
    books.in_vault += len(kept)
    books.in_memory += len(found)
    books.doubled += sum(count - 1 for count in found.values())


def show(books: Books) -> None:
    """Print the table."""
    rows = {
        "kills": books.kills,
        "lines written": books.written,
        "in vault": books.in_vault,
        "in memory": books.in_memory,
        "lost": books.lost,
        "doubled": books.doubled,
        "RSS first/last, KiB": "/".join(map(str, books.rss_kib)),
        "descriptors first/last": "/".join(map(str, books.descriptors)),
    }
    for name, value in rows.items():
        print(f"{name:24} {value}")


if __name__ == "__main__":
    sys.exit(main())
