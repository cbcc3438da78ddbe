"""A writer that does to transcripts what hosts, users and backups do, and the oracle over what must be kept.

Every content that a path ever led to is a *life*: it begins with a file, grows, and ends when the file is
cut, rewritten, replaced or deleted. A tailer may miss the end of a life, but whatever it keeps is the
beginning of one, and of each life at most once. There is one exception, which the README names: a file that
is moved, and its name given to another one, while its folder is being listed is not always followed, and what
it had is kept twice. So a few lives that were moved or copied may be; nothing is ever found twice.
"""

import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.kept import Stream, numbers
from harness.rig import line

NAMES: tuple[str, ...] = ("a", "b", "c", "d", "e")

TELLING_BYTES = 1024
"""Less than this, in a file that has neither its name nor its inode any more, is no proof that it goes on."""

UNFOLLOWED = 3
"""So many of hundreds of moved files may be kept twice: it takes a move within the time of one listing."""


@dataclass(eq=False)
class Life:
    """One content. `rest` is what its torn last line still lacks; `moved` says that it had several places."""

    data: bytes = b""
    rest: bytes = b""
    moved: bool = False


@dataclass
class Writer:
    """Acts on the files of one folder, deterministically by its random source."""

    folder: Path
    random: random.Random
    lives: list[Life] = field(default_factory=list)
    files: dict[str, Life] = field(default_factory=dict)
    promised: list[bytes] = field(default_factory=list)
    """Contents that were there when a flush was answered: all of each must stay."""
    number: int = 0

    def act(self) -> None:
        """Do one random thing."""
        actions: Sequence[tuple[int, Callable[[], None]]] = (
            (30, self.append),
            (16, self.tear),
            (4, self.cut),
            (3, self.rewrite),
            (3, self.replace),
            (4, self.replace_by_more),
            (4, self.rename),
            (3, self.copy),
            (3, self.delete),
        )
        weights = [weight for weight, _ in actions]
        self.random.choices([action for _, action in actions], weights)[0]()

    def append(self) -> None:
        """Append whole lines; a torn line is finished first."""
        self.append_to(self.random.choice(NAMES))

    def append_to(self, name: str) -> None:
        """Append whole lines to one file."""
        life = self.files.get(name) or self._begin(name)
        self._grow(name, life, life.rest + self._lines())
        life.rest = b""

    def tear(self) -> None:
        """Append lines of which the last one is cut somewhere."""
        name = self.random.choice(NAMES)
        life = self.files.get(name) or self._begin(name)
        data = life.rest + self._lines()
        at = _safe_cut(data, self.random.randrange(len(life.rest), len(data)))
        life.rest = data[at:]
        self._grow(name, life, data[:at])

    def cut(self) -> None:
        """Truncate a file in place."""
        name = self._some_file()
        if name is None or not self.files[name].data:
            return
        data = self.files[name].data
        at = _safe_cut(data, self.random.randrange(len(data)))
        os.truncate(self._path(name), at)
        self._begin(name, data[:at])

    def rewrite(self) -> None:
        """Write other content into the same file."""
        name = self._some_file()
        if name is not None:
            data = self._lines()
            self._path(name).write_bytes(data)
            self._begin(name, data)

    def replace(self) -> None:
        """Put another file in the place of a file."""
        name = self._some_file()
        if name is not None:
            data = self._lines()
            self._put(name, data)
            self._begin(name, data)

    def replace_by_more(self) -> None:
        """Put a copy that is longer in the place of a file, as editors and backups do."""
        name = self._some_file()
        if name is not None:
            life = self.files[name]
            more = life.rest + self._lines()
            self._put(name, life.data + more)
            life.data, life.rest = life.data + more, b""

    def rename(self) -> None:
        """Give a file another name, free or not."""
        name = self._some_file()
        if name is not None:
            other = self.random.choice(NAMES)
            self._path(name).rename(self._path(other))
            life = self.files.pop(name)
            life.moved = True
            self.files[other] = life

    def copy(self) -> None:
        """Fork a file into a free name."""
        name, free = self._some_file(), [n for n in NAMES if n not in self.files]
        if name is not None and free:
            other = self.random.choice(free)
            life = self.files[name]
            self._put(other, life.data)
            life.moved = self._begin(other, life.data).moved = True

    def delete(self) -> None:
        """Remove a file."""
        name = self._some_file()
        if name is not None:
            self._path(name).unlink()
            del self.files[name]

    def promise(self) -> None:
        """Note that all that is there now must stay."""
        self.promised += [life.data for life in self.files.values() if life.data]

    def check(self, streams: Iterable[Stream], found: Counter[int]) -> None:
        """Compare what is kept and found with what was written; everything visible was flushed."""
        streams = list(streams)
        held = [g.data for stream in streams for g in stream.generations if g.data]
        lost = [data for data in self.promised if not any(g.startswith(data) for g in held)]
        assert not lost, [_shown(data) for data in lost]
        for name, life in self.files.items():
            here = [s.data for s in streams if s.name == f"{name}.jsonl" and s.data == life.data]
            assert here or not life.data, (name, _shown(life.data))
        lives = [life.data for life in self.lives]
        unreal = [data for data in held if not any(life.startswith(data) for life in lives)]
        assert not unreal, [_shown(data) for data in unreal]
        twice = _without_partner([data for data in held if len(data) >= TELLING_BYTES], lives)
        moved = [life.data for life in self.lives if life.moved]
        unmoved = [data for data in twice if not any(life.startswith(data) for life in moved)]
        assert not unmoved, [_shown(data) for data in unmoved]
        assert len(twice) <= UNFOLLOWED, [_shown(data) for data in twice]
        whole = {n for data in held for n in numbers(data) if line(n)[:-1] in data}
        assert found == Counter(whole), (found - Counter(whole), Counter(whole) - found)
        for stream in streams:
            written = dict.fromkeys(n for g in stream.generations for n in numbers(g.data))
            assert list(stream.said) == [n for n in written if n in stream.said], stream.name

    def _begin(self, name: str, data: bytes = b"") -> Life:
        life = Life(data)
        self.lives.append(life)
        self.files[name] = life
        return life

    def _grow(self, name: str, life: Life, data: bytes) -> None:
        with self._path(name).open("ab", buffering=0) as file:
            file.write(data)
        life.data += data

    def _put(self, name: str, data: bytes) -> None:
        part = self.folder / "part"
        part.write_bytes(data)
        part.replace(self._path(name))

    def _lines(self) -> bytes:
        first = self.number + 1
        self.number += self.random.choice((1, 1, 1, 2, 3, 8, 40))
        return b"".join(line(number) for number in range(first, self.number + 1))

    def _some_file(self) -> str | None:
        return self.random.choice(sorted(self.files)) if self.files else None

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.jsonl"


def _safe_cut(data: bytes, at: int) -> int:
    """Move a cut away from right behind an object inside a record: there it cannot be told from a record."""
    while at and data[at - 1 : at] == b"}":
        at -= 1
    return at


def _without_partner(held: Sequence[bytes], lives: Sequence[bytes]) -> list[bytes]:
    """Return the generations that are not, each by itself, the beginning of a life."""
    partner: dict[int, int] = {}

    def find(one: int, tried: set[int]) -> bool:
        for at, data in enumerate(lives):
            if at not in tried and data.startswith(held[one]):
                tried.add(at)
                if at not in partner or find(partner[at], tried):
                    partner[at] = one
                    return True
        return False

    return [held[one] for one in range(len(held)) if not find(one, set())]


def _shown(data: bytes) -> tuple[list[int], int]:
    return numbers(data), len(data)
