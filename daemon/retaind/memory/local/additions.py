"""Items made ready to be stored: those for one document become one addition, with its messages and chunks."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from retaind.core.chunks import chunk_ends, chunk_hash, messages_in, separator
from retaind.core.records import storable
from retaind.memory.local.documents import Limits
from retaind.memory.local.passages import Said
from retaind.memory.local.times import to_ms
from retaind.memory.port import Item, Source


class Chunk(NamedTuple):
    """A chunk to be. Extracting it costs its own tokens and those of the context."""

    start: int
    text: str
    hash: bytes
    tokens: int
    tokens_with_context: int

    @property
    def end(self) -> int:
        """Where the next one begins."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Addition:
    """What an execution brings for one document. `newest` is the last of its items."""

    source: Source
    name: str | None
    update: Literal["append", "replace"]
    text: str
    said: tuple[Said, ...]
    ranges: tuple[tuple[int, int], ...]
    newest: Item

    def said_at(self, base: int) -> list[Said]:
        """Return its messages as they stand in a document in which it begins at `base`."""
        return [Said(base + one.start, base + one.end, *one[2:]) for one in self.said]

    @property
    def is_json(self) -> bool:
        """Whether its messages are written as JSON."""
        return self.text.startswith(("{", "[{"))


def fold(items: Sequence[Item]) -> list[Addition]:
    """Bring the items for one document together, in the order in which the documents first occur.

    A replacement makes what the same call brought for the document before it pointless.
    """
    groups: dict[tuple[str | None, str, int], list[Item]] = {}
    for item in items:
        source = item.source
        own = (None, source.stream, source.generation)
        key = own if item.document_id is None else (item.document_id, "", 0)
        if item.document_id is not None and item.update == "replace":
            groups[key] = []
        groups.setdefault(key, []).append(item)
    return [_addition(group) for group in groups.values()]


def message_ends(said: Iterable[Said]) -> list[int]:
    """Return where messages end. A text without a speaker may go on, so its end is none."""
    return [one.end for one in said if one.role is not None]


def cut_chunks(
    text: str, base: int, ends: Sequence[int], limits: Limits, context: str
) -> list[Chunk]:
    """Cut a text that begins at `base` in its document; `ends` are places in the document."""
    extra = limits.count(context)
    chunks: list[Chunk] = []
    start = 0
    for end in chunk_ends(text, limits.chunk_chars, [one - base for one in ends]):
        piece = text[start:end]
        tokens = limits.count(piece)
        chunks.append(Chunk(base + start, piece, chunk_hash(piece), tokens, tokens + extra))
        start = end
    return chunks


def runs_within(chunks: Sequence[Chunk], budget: int) -> list[list[Chunk]]:
    """Put chunks together, in order, in runs of at most `budget` tokens; a larger chunk is a run alone."""
    runs: list[list[Chunk]] = []
    total = 0
    for chunk in chunks:
        if not runs or total + chunk.tokens > budget:
            runs.append([])
            total = 0
        runs[-1].append(chunk)
        total += chunk.tokens
    return runs


def measured(chunks: Sequence[Chunk]) -> list[tuple[bytes, int]]:
    """Return the chunks as metering compares them."""
    return [(one.hash, one.tokens_with_context) for one in chunks]


def _addition(items: Sequence[Item]) -> Addition:
    text = ""
    said: list[Said] = []
    for item in items:
        content = item.content if item.parts else storable(item.content)
        text += separator(text, content) if content else ""
        said += _said(item, content, len(text))
        text += content
    newest = items[-1]
    return Addition(
        source=newest.source,
        name=newest.document_id,
        update=items[0].update if newest.document_id is not None else "append",
        text=text,
        said=tuple(said),
        ranges=tuple(item.range_ for item in items),
        newest=newest,
    )


def _said(item: Item, content: str, base: int) -> Iterator[Said]:
    fallback = to_ms(item.timestamp)
    if item.parts:
        for part in item.parts:
            time = to_ms(part.timestamp) if part.timestamp else fallback
            yield Said(base + part.start, base + part.end, part.role, part.turn, time)
        return
    for one in detected(content, fallback):
        yield Said(base + one.start, base + one.end, *one[2:])


def detected(content: str, fallback: int | None = None) -> Iterator[Said]:
    """Yield the messages of a text that came without them; what has no time of its own gets `fallback`."""
    turn = -1
    for start, end, role, timestamp in messages_in(content):
        turn += role == "user"
        time = to_ms(timestamp) if timestamp else fallback
        yield Said(start, end, role, max(turn, 0), time)
