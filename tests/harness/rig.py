"""A real engine on a real database and real files, driven step by step from a test."""

import asyncio
import json
import os
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness.kept import Stream, found_in, streams_in
from retaind.core.plan import Limits
from retaind.core.policy import Exclusion, RetainPolicy
from retaind.db import Connection, Database, open_readonly
from retaind.hosts import HOSTS
from retaind.hosts.claude_code import ClaudeCode
from retaind.memory.local import LocalMemory
from retaind.runtime.admission import Admission
from retaind.runtime.capture import Capture
from retaind.runtime.engine import Engine
from retaind.runtime.pending import Queue
from retaind.runtime.retain import Retainer
from retaind.runtime.rounds import Captured
from retaind.runtime.scan import Root
from retaind.runtime.window import Retention
from retaind.vault import streams


@dataclass
class Listener:
    """Stands where retention stands, and only remembers what it was told."""

    noted: list[Captured] = field(default_factory=list)

    def note(self, captured: Captured) -> None:
        self.noted.append(captured)

    async def step(self) -> bool:
        return False

    def next_due_s(self) -> float | None:
        return None

    def is_far_behind(self) -> bool:
        return False

    def force(self, stream_ids: frozenset[int] | None) -> None:
        del stream_ids


class Rig:
    """A home with Claude Code's folder, and an engine that watches it by scanning."""

    def __init__(
        self, folder: Path, exclusion: Exclusion | None = None, *, retaining: bool = False
    ) -> None:
        self.folder = folder
        self._retaining = retaining
        self.root = folder / ".claude"
        self.project = self.root / "projects" / "-home-dev-lab"
        self.project.mkdir(parents=True, exist_ok=True)
        self._exclusion = exclusion or Exclusion()
        self.start()

    def start(self) -> None:
        """Open the database and load what it knows, as a starting daemon does."""
        self.database = Database.open(self.folder / "retaind.db")
        admission = Admission(self._exclusion, lambda cwd: cwd.rpartition("/")[2])
        self.capture = Capture(self.database, admission)
        self.listener = Listener()
        self.retainer = self._retainer()
        retention = self.retainer if self._retaining else self.listener
        roots = [Root(ClaudeCode(), os.fsencode(self.root))]
        self.engine = Engine(self.database, self.capture, lambda: roots, retention, 60.0)
        self._runner = asyncio.Runner()
        self._runner.run(self.capture.load())
        self._runner.run(self.retainer.load())

    def _retainer(self) -> Retainer:
        memory = LocalMemory(self.database)
        retention = Retention(
            memory=memory.name,
            hosts=HOSTS,
            policy=RetainPolicy(),
            limits=Limits(),
            retain_in=memory.retain_in,
            project_of=lambda cwd: cwd.rpartition("/")[2],
        )
        return Retainer(self.database, retention, Queue(2.0, 30.0), _quiet, _quiet)

    def stop(self) -> None:
        """Close everything without any last work, as a crash leaves it."""
        self._runner.close()
        self.capture.held.close()
        self.database.close()

    def restart(self) -> None:
        self.stop()
        self.start()

    def settle(self) -> None:
        """Scan, and capture all that can be seen."""
        self._runner.run(self.engine.settle())

    def begin_scan(self) -> None:
        """List the folders, and leave what was found for later."""

        async def work() -> None:
            self.engine.request_scan()
            while self.engine.import_progress() is None:
                await self.engine.wait()
                await self.engine.step()

        self._runner.run(work())

    def retain(self) -> None:
        """Retain all that is captured."""

        async def work() -> None:
            self.retainer.force(None)
            while await self.retainer.step():
                pass

        self._runner.run(work())

    def retain_due(self) -> None:
        """Retain what is due by itself, as the daemon does in passing."""

        async def work() -> None:
            while await self.retainer.step():
                pass

        self._runner.run(work())

    def flush(self) -> None:
        """Capture and retain all that can be seen."""
        self.settle()
        self.retain()

    def streams(self) -> dict[str, Stream]:
        """Return what is kept, by the file's name at the last look."""
        return {stream.name: stream for stream in streams_in(self.database.path)}

    def dropped(self, name: str) -> dict[str, int]:
        """Return what retention dropped of the stream with this file name, by reason."""
        (public_id,) = [s.public_id for s in self.streams().values() if s.name == name]
        with self._reading() as connection:
            (counts,) = connection.execute(
                "SELECT c.dropped FROM cursor c JOIN generation g ON g.id = c.generation_id"
                " JOIN stream s ON s.id = g.stream_id WHERE s.public_id = ? ORDER BY g.n DESC",
                (public_id,),
            ).fetchone()
        found: dict[str, int] = json.loads(counts)
        return found

    def found(self) -> list[int]:
        """Return the numbers of the records that a search finds, sorted, each as often as it is found."""
        return sorted(found_in(self.database.path).elements())

    def run(self, work: Coroutine[None, None, None]) -> None:
        """Run something on the engine's event loop."""
        self._runner.run(work)

    def hint(self, *paths: Path) -> None:
        """Tell the engine of paths, and let it work off the hints without a scan."""

        async def work() -> None:
            self.engine.hint([os.fsencode(path) for path in paths])
            await self.engine.step()

        self._runner.run(work())

    def bytes_of(self, stream_id: int) -> list[bytes]:
        """Return the vault's bytes of a stream, a generation after the other."""
        with self._reading() as connection:
            found = []
            for generation_id, _, captured, _ in streams.generations(connection, stream_id):
                pieces = streams.read(connection, generation_id, 0, captured)
                found.append(b"".join(piece for _, piece in pieces))
            return found

    def kept(self) -> dict[str, list[bytes]]:
        """Return, by the file's name at the last look, the bytes of each generation."""
        return {
            os.path.basename(os.fsdecode(tracked.row.path)): self.bytes_of(tracked.row.stream_id)
            for tracked in self.capture.index
        }

    def state_of(self, name: str) -> str:
        """Return what is said of the source of the stream with this file name."""
        wanted = os.fsencode(name)
        return next(
            t.row.source_state for t in self.capture.index if os.path.basename(t.row.path) == wanted
        )

    @contextmanager
    def _reading(self) -> Iterator[Connection]:

        connection = open_readonly(self.database.path)
        try:
            yield connection
        finally:
            connection.close()


def _quiet(*_args: object, **_facts: object) -> None:
    """Stand where logging stands."""


def append(path: Path, data: bytes) -> None:
    """Append to a file in one write, as agents do."""
    with path.open("ab", buffering=0) as file:
        file.write(data)


def line(number: int, text: str = "said") -> bytes:
    """Return one small record of Claude Code's kind, with its newline."""
    uuid = f"00000000-0000-4000-8000-{number:012d}"
    return (
        b'{"parentUuid":null,"isSidechain":false,"cwd":"/home/dev/lab","sessionId":"s","type":"user",'
        b'"message":{"role":"user","content":"%s %d"},"uuid":"%s",'
        b'"timestamp":"2026-10-01T08:00:00.000Z"}\n' % (text.encode(), number, uuid.encode())
    )


def lines(first: int, last: int) -> bytes:
    """Return the records from `first` to `last`, both included."""
    return b"".join(line(number) for number in range(first, last + 1))
