"""Cases in which somebody writes: one line more, and what becomes of it."""

import random
import shutil
import statistics
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from bench import meter
from bench.corpus import Session, write_session
from bench.daemon import Daemon, running
from bench.scale import FULL, KIB, MB, Row, Scale

QUIET_S = 12.0  # after this the watcher looks as seldom as it ever does
_TAIL_S = 6.0  # in which the watcher looks more often, and the session goes idle
_LINE_BYTES_AT_MOST = 20_000
_LINES_PER_S = 4
_BURST_LINES_PER_S = 591 / 60
_BURST_SESSIONS = 10


def append(scale: Scale, folder: Path) -> Iterator[Row]:
    """One line more in a session, which must cost the same whatever the session's size."""
    for size in scale.session_bytes:
        daemon = Daemon(folder / f"{size}")
        path, session = write_session(daemon.projects / "-home-dev-lab", size, f"append {size}")
        name = f"a line, {size / MB:.4g} MB session"
        with running(daemon):
            daemon.wait_until_retained([path])
            daemon.wait_until_restful()
            yield from _steady_lines(name, daemon, path, session, scale.lines)
            yield _lone_line(name, daemon, path, session, scale.quiet_spells)
        shutil.rmtree(folder / f"{size}")


def _steady_lines(
    name: str, daemon: Daemon, path: Path, session: Session, lines: int
) -> Iterator[Row]:
    before = meter.read(daemon.pid)
    appended = 0
    for line in islice(_lines(session), lines):
        appended += _append(path, line)
        time.sleep(1 / _LINES_PER_S)
    daemon.wait_until_retained([path])
    used = meter.read(daemon.pid) - before
    budget_kib = 16 + 128
    yield Row(f"{name}: CPU", used.cpu_s / lines * 1000, 5, "ms")
    yield Row(
        f"{name}: read beyond it", (used.read_bytes - appended) / lines / KIB, budget_kib, "KiB"
    )


def _lone_line(name: str, daemon: Daemon, path: Path, session: Session, spells: int) -> Row:
    costs = []
    for line in islice(_lines(session), spells):
        daemon.wait_until_restful()
        time.sleep(QUIET_S)
        before = meter.read(daemon.pid)
        _append(path, line)
        time.sleep(_TAIL_S)
        costs.append((meter.read(daemon.pid) - before).cpu_s)
    label = f"{name}: CPU of a lone one, {_TAIL_S:g} s"
    return Row(label, statistics.median(costs) * 1000, 15, "ms")


def latency(scale: Scale, folder: Path) -> Iterator[Row]:
    """From the append to the commit in the vault: in an active session, and after a quiet spell."""
    daemon = Daemon(folder)
    path, session = write_session(daemon.projects / "-home-dev-lab", 2_600_000, "latency")
    chance = random.Random(0)
    with running(daemon):
        daemon.wait_until_retained([path])
        daemon.wait_until_restful()
        active, quiet = [], []
        said = _lines(session)
        # The first line after the quiet is no active session's.
        _until_captured(daemon, path, next(said))
        for line in islice(said, scale.latencies):
            active.append(_until_captured(daemon, path, line))
            time.sleep(chance.uniform(0.05, 0.4))
        for line in islice(said, scale.quiet_spells):
            time.sleep(QUIET_S)
            quiet.append(_until_captured(daemon, path, line))
    yield Row("append to vault: p50", statistics.median(active) * 1000, 150, "ms")
    yield Row("append to vault: p99", statistics.quantiles(active, n=100)[98] * 1000, 400, "ms")
    yield Row("append to vault: after a quiet spell, worst", max(quiet) * 1000, 700, "ms")


def burst(scale: Scale, folder: Path) -> Iterator[Row]:
    """Ten sessions at once, about ten lines a second."""
    daemon = Daemon(folder)
    lines = round(_BURST_LINES_PER_S * scale.burst_s)
    share = scale.burst_s / FULL.burst_s
    sessions = [
        write_session(daemon.projects / "-home-dev-lab", 2_500_000, f"burst {number}")
        for number in range(_BURST_SESSIONS)
    ]
    paths = [path for path, _ in sessions]
    with running(daemon):
        daemon.wait_until_retained(paths)
        daemon.wait_until_restful()
        before = meter.read(daemon.pid)
        sources = [(path, _lines(session)) for path, session in sessions]
        began = time.monotonic()
        for number in range(lines):
            path, more = sources[number % _BURST_SESSIONS]
            _append(path, next(more))
            time.sleep(max(0.0, began + (number + 1) / _BURST_LINES_PER_S - time.monotonic()))
        daemon.wait_until_retained(paths)
        used = meter.read(daemon.pid) - before
    yield Row(
        f"{lines} lines in {scale.burst_s} s over ten sessions: CPU", used.cpu_s, 2 * share, "s"
    )
    yield Row("the same: read", used.read_bytes / MB, 8 * share, "MB")


def _lines(session: Session) -> Iterator[bytes]:
    """Go on with a session, without the very long lines that would hide what a line costs."""
    while True:
        yield from (line for line in session.turn() if len(line) <= _LINE_BYTES_AT_MOST)


def _append(path: Path, line: bytes) -> int:
    with path.open("ab") as file:
        return file.write(line)


def _until_captured(daemon: Daemon, path: Path, line: bytes) -> float:
    began = time.monotonic()
    _append(path, line)
    size = path.stat().st_size
    daemon.wait_until(
        lambda: daemon.captured_bytes(path) >= size, "the line is in the vault", every_s=0.002
    )
    return time.monotonic() - began
