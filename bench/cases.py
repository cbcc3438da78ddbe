"""What is measured against the budgets, one function a case; each yields the rows of the table."""

import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from bench import meter
from bench.corpus import write_session, write_tree
from bench.daemon import COMMAND, Daemon, running
from bench.scale import MB, MIB, Case, Row, Scale
from bench.writing import QUIET_S, append, burst, latency

_BUDGETED_IMPORT_BYTES = 217 * MB
_REAL_AT_LEAST = 200_000
_QUESTIONS = (
    "schedule transfer",
    "cursor offset",
    "merge table",
    "größer window",
    "render_at packer",
    "why did the retry stop",
)


def first_import(scale: Scale, folder: Path) -> Iterator[Row]:
    """Many sessions that were there before: until each byte is in the vault and searchable."""
    daemon = Daemon(folder)
    paths = write_tree(daemon.projects, scale.import_files, scale.import_bytes)
    size = _size(paths)
    with running(daemon):
        daemon.wait_until_retained(paths)
        used, peak = meter.read(daemon.pid), meter.peak_rss_bytes(daemon.pid)
    yield Row(
        f"first import, {size / MB:.0f} MB: CPU",
        used.cpu_s,
        4.5 * size / _BUDGETED_IMPORT_BYTES,
        "s",
    )
    yield Row("first import: peak RSS", peak / MIB, 120, "MiB")
    yield Row("first import: MB a CPU second", size / MB / used.cpu_s, 48, "MB/s", at_least=True)


def idle(scale: Scale, folder: Path) -> Iterator[Row]:
    """Nothing happens, beside many transcripts."""
    daemon = Daemon(folder)
    paths = write_tree(daemon.projects, scale.idle_files, 1, folders=100)
    with running(daemon):
        daemon.wait_until_retained(paths)
    with running(daemon):  # once more: what counts is a daemon that starts beside an archive
        daemon.wait_until_restful()
        time.sleep(QUIET_S)
        before = meter.read(daemon.pid)
        time.sleep(scale.idle_s)
        used, rss = meter.read(daemon.pid) - before, meter.rss_bytes(daemon.pid)
    name = f"idle, {scale.idle_files} files"
    yield Row(f"{name}: RSS", rss / MIB, 40, "MiB")
    yield Row(f"{name}: wake-ups", used.wakeups / used.at_s, 5, "/s")
    yield Row(f"{name}: CPU", used.cpu_s / used.at_s * 1000, 2, "ms/s")


def start_and_stop(scale: Scale, folder: Path) -> Iterator[Row]:
    """Ready with work to do, and stopped in the middle of it."""
    daemon = Daemon(folder)
    write_tree(daemon.projects, 50, scale.unread_bytes)
    ready_s = daemon.start()
    stop_s = daemon.stop()
    yield Row(f"ready, {scale.unread_bytes / MB:.0f} MB unread", ready_s, 1, "s")
    yield Row("stop at once", stop_s, 2, "s")


def commands(_: Scale, folder: Path) -> Iterator[Row]:
    """Short commands that agents and programs run again and again."""
    daemon = Daemon(folder)
    write_tree(daemon.projects, 20, 2 * MB)
    prompt = b'{"hook_event_name":"UserPromptSubmit","prompt":"where was the cursor","cwd":"/home/dev/lab"}'
    with running(daemon):
        yield Row(
            "status --json: CPU", _command_cpu_s(daemon, "status", "--json") * 1000, 100, "ms"
        )
        yield Row(
            "hook: CPU",
            _command_cpu_s(daemon, "hook", "UserPromptSubmit", stdin=prompt) * 1000,
            60,
            "ms",
        )


def _command_cpu_s(daemon: Daemon, *arguments: str, stdin: bytes = b"") -> float:
    costs = [meter.run([*COMMAND, *arguments], daemon.environ, stdin)[0] for _ in range(7)]
    if any(cost.exit_code for cost in costs):
        raise RuntimeError(f"retaind {arguments[0]} left with {costs[0].exit_code}")
    return statistics.median(cost.cpu_s for cost in costs)


def database(scale: Scale, folder: Path) -> Iterator[Row]:
    """How much room the vault and the index take, next to the transcripts."""
    daemon = Daemon(folder)
    real = _real_transcripts()
    if real:
        below = daemon.projects / "-home-dev-lab"
        below.mkdir()
        paths = [
            Path(shutil.copy(path, below / f"{number:08x}-0000-4000-8000-000000000000.jsonl"))
            for number, path in enumerate(real)
        ]
    else:
        paths = write_tree(daemon.projects, scale.import_files, scale.import_bytes)
    with running(daemon):
        daemon.wait_until_retained(paths)
        daemon.wait_until_restful()
    size = sum(path.stat().st_size for path in daemon.paths.state_dir.glob("retaind.db*"))
    name = f"database, {_size(paths) / MB:.0f} MB of {'real' if real else 'made-up'} transcripts"
    yield Row(name, size / _size(paths) * 100, 25, "%")


def _real_transcripts() -> list[Path]:
    """Return real transcripts, where a folder `shared/corpus` of them lies beside this checkout."""
    corpus = Path(__file__).resolve().parents[2] / "shared" / "corpus"
    found = sorted(corpus.glob("**/*.jsonl"))
    return [path for path in found if path.stat().st_size > _REAL_AT_LEAST]


def questions(scale: Scale, folder: Path) -> Iterator[Row]:
    """Search and recall, asked through the socket."""
    daemon = Daemon(folder)
    paths = write_tree(daemon.projects, scale.import_files, scale.searched_bytes)
    with running(daemon):
        daemon.wait_until_retained(paths)
        daemon.wait_until_restful()
        for name, ask in (("search", daemon.search), ("recall", daemon.recall)):
            took = [_timed(ask, words) for words in _repeated(_QUESTIONS, scale.questions)]
            label = f"{name} over {_size(paths) / MB:.0f} MB: p50"
            yield Row(label, statistics.median(took) * 1000, 30, "ms")


def redaction(scale: Scale, folder: Path) -> Iterator[Row]:
    """Text without secrets, in pieces of the size of messages."""
    from retaind.core.redact import redact

    path, _session = write_session(folder, scale.import_bytes // 10, "redaction")
    text = path.read_text()
    pieces = [text[at : at + 2000] for at in range(0, len(text), 2000)]
    for piece in pieces[::10]:
        redact(piece)
    began = time.process_time()
    for piece in pieces:
        redact(piece)
    cpu_s = time.process_time() - began
    yield Row(
        "redaction, pieces of 2,000 characters", len(text) / MB / cpu_s, 100, "MB/s", at_least=True
    )


def planning(scale: Scale, folder: Path) -> Iterator[Row]:
    """The same window, planned at the beginning of a session and behind all that came before it."""
    from retaind.core.carry import Carry
    from retaind.core.lines import frame
    from retaind.core.plan import Limits, Window, plan
    from retaind.core.policy import RetainPolicy
    from retaind.core.redact import redact
    from retaind.hosts.claude_code import ClaudeCode

    path, _session = write_session(folder, scale.session_bytes[1], "planning")
    carry, at, host = Carry(), 0, ClaudeCode()
    windows: list[Window] = []
    with path.open("rb") as file:
        while chunk := file.read(MIB) + file.readline():
            lines, end = frame(chunk, at)
            records = tuple(record for start, line in lines for record in host.parse(start, line))
            windows = [*windows[:1], Window(at, end, records)]
            carry = plan(carry, windows[-1], RetainPolicy(), Limits(), redact).carry
            at = end
    began = time.process_time()
    plan(Carry(), windows[0], RetainPolicy(), Limits(), redact)
    fresh_s = time.process_time() - began
    plan(carry, windows[0], RetainPolicy(), Limits(), redact)
    behind_s = time.process_time() - began - fresh_s
    yield Row(f"planning 1 MiB behind {at / MB:.4g} MB, to the first", behind_s / fresh_s, 1.5, "x")


CASES: dict[str, Case] = {
    "import": first_import,
    "append": append,
    "latency": latency,
    "burst": burst,
    "idle": idle,
    "start": start_and_stop,
    "commands": commands,
    "database": database,
    "search": questions,
    "redaction": redaction,
    "planning": planning,
}


def _timed(ask: Callable[[str], object], words: str) -> float:
    began = time.monotonic()
    ask(words)
    return time.monotonic() - began


def _repeated(values: Sequence[str], times: int) -> Iterator[str]:
    return (values[number % len(values)] for number in range(times))


def _size(paths: Sequence[Path]) -> int:
    return sum(os.path.getsize(path) for path in paths)
