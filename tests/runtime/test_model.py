"""A random sequence of what can happen to files, against a model of what must be kept.

The model is the oracle: the vault holds, for each file that the engine has looked at, exactly the bytes
that were there, once and in order. What no tailer can see (written and gone between two looks) is left
out of the sequences: every change is followed by a look before the next change that would hide it.
"""

import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from harness.rig import Rig, line

NAMES = ("a", "b", "c", "d")
TELLING = 230
"""What is shorter begins like every other file: a successor of it could not be told from growth."""

names = st.sampled_from(NAMES)
counts = st.integers(1, 60)


class Files(RuleBasedStateMachine):
    """Interprets file actions on disk and in the model."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="retaind-model-"))
        self.rig = Rig(self.folder)
        self.number = 0
        self.disk: dict[str, bytes] = {}
        self.kept: list[bytes] = []
        """Every generation that must stay, whatever became of its file."""
        self.seen: dict[str, bytes] = {}

    def teardown(self) -> None:
        self.rig.stop()
        shutil.rmtree(self.folder)

    def _path(self, name: str) -> Path:
        return self.rig.project / f"{name}.jsonl"

    def _new(self, count: int) -> bytes:
        first, self.number = self.number + 1, self.number + count
        return b"".join(line(n) for n in range(first, self.number + 1))

    def _append(self, name: str, data: bytes) -> None:
        with self._path(name).open("ab") as file:
            file.write(data)
        self.disk[name] = self.disk.get(name, b"") + data

    def _look(self) -> None:
        self.rig.settle()
        self.seen = dict(self.disk)

    def _let_go(self, name: str) -> None:
        """The bytes that were seen under this name are a generation that ends here."""
        data = self.seen.pop(name, b"")
        if data:
            self.kept.append(data)

    @rule(name=names, count=counts)
    def append(self, name: str, count: int) -> None:
        self._append(name, self._new(count))

    @rule(name=names, count=counts, cut=st.integers(1, 60))
    def append_torn(self, name: str, count: int, cut: int) -> None:
        self._append(name, self._new(count)[:-cut])

    @rule()
    def look(self) -> None:
        self._look()

    @rule(name=names)
    def hint(self, name: str) -> None:
        self.rig.hint(self._path(name))

    @precondition(lambda self: self.disk)
    @rule(data=st.data(), count=counts)
    def rewrite_in_place(self, data: st.DataObject, count: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.disk)))
        self._look()
        self._let_go(name)
        self.disk[name] = self._new(count)
        self._path(name).write_bytes(self.disk[name])
        self._look()

    @precondition(lambda self: self.disk)
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.disk)))
        self._look()
        size = len(self.disk[name])
        if size <= TELLING:
            return
        keep = data.draw(st.integers(TELLING, size - 1))
        self._let_go(name)
        self.disk[name] = self.disk[name][:keep]
        self._path(name).write_bytes(self.disk[name])
        self._look()

    @precondition(lambda self: self.disk)
    @rule(data=st.data(), count=counts)
    def replace_by_itself_and_more(self, data: st.DataObject, count: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.disk)))
        self._look()
        self.disk[name] += self._new(count)
        other = self.rig.project / "other.part"
        other.write_bytes(self.disk[name])
        other.replace(self._path(name))
        self._look()

    @precondition(lambda self: self.disk)
    @rule(data=st.data(), count=counts)
    def replace_by_something_else(self, data: st.DataObject, count: int) -> None:
        name = data.draw(st.sampled_from(sorted(self.disk)))
        self._look()
        self._let_go(name)
        self.disk[name] = self._new(count)
        other = self.rig.project / "other.part"
        other.write_bytes(self.disk[name])
        other.replace(self._path(name))
        self._look()

    @precondition(lambda self: self.disk and len(self.disk) < len(NAMES))
    @rule(data=st.data())
    def rename(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.disk)))
        free = data.draw(st.sampled_from([n for n in NAMES if n not in self.disk]))
        self._look()
        self._path(name).rename(self._path(free))
        self.disk[free] = self.disk.pop(name)
        self._look()

    @precondition(lambda self: self.disk)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.disk)))
        self._look()
        self._let_go(name)
        del self.disk[name]
        self._path(name).unlink()
        self._look()

    @rule()
    def restart(self) -> None:
        self.rig.restart()

    @invariant()
    def what_was_seen_is_kept_once_and_whole(self) -> None:
        wanted = sorted(data for data in (*self.kept, *self.seen.values()) if data)
        grown = [
            data for name, data in self.disk.items() if self.seen.get(name) not in {None, data}
        ]
        if grown or set(self.disk) != set(self.seen):
            return
        found = sorted(
            data
            for tracked in self.rig.capture.index
            for data in self.rig.bytes_of(tracked.row.stream_id)
            if data
        )
        assert found == wanted


TestFiles = Files.TestCase
TestFiles.settings = settings(
    max_examples=25,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
