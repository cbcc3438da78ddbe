"""Recall: the question put to a memory, and the block that an agent is given.

A limit of 0 or less is no limit, everywhere.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from retaind.core.conversation import WRAPPER
from retaind.core.policy import RECALL_PREAMBLE
from retaind.core.query import CONTEXT_HEADING, recall_terms
from retaind.core.words import folded

CHARS_PER_TOKEN: Final = 4

_OWN_TAG: Final = re.compile(rf"<(?=/?{WRAPPER}\b)")
_URGES: Final = frozenset(
    """
    accept again agree ahead approve apply build check clean commit complete continue cool correct done
    exactly excellent execute finish finished fine fix good great implement keep looks merge next nice perfect
    proceed push redo repeat rerun resume retry right run start stop test tests thx try undo wait working yep
    """.split()  # noqa: SIM905 (as a list it would be two pages long)
)
_CUT: Final = " …"
_SHORTEST: Final = 40
"""Fewer characters of a memory would say nothing."""


class Memory(NamedTuple):
    """One memory: `texts` from the fullest wording to the shortest, and when and where it was said."""

    texts: tuple[str, ...]
    timestamp: str | None
    project: str | None


class Shown(NamedTuple):
    """A memory that is in the block, by its place among those given, in the wording that fitted."""

    place: int
    text: str


class Block(NamedTuple):
    """The block, or "", and what is in it, in order."""

    text: str
    shown: tuple[Shown, ...]


def only_urges(prompt: str) -> bool:
    """Whether a prompt only pushes on (go on, run the tests, looks good): it asks for no memory."""
    return all(folded(one.text) in _URGES for one in recall_terms(prompt))


def compose_query(prompt: str, turns: Sequence[tuple[str, str]], max_chars: int) -> str:
    """Put the turns before a prompt, oldest first, in front of it, within `max_chars` characters.

    `turns` are role and text of each message. What repeats the prompt is left out. Whole messages are
    dropped, oldest first, and each keeps its role; the newest one alone may be cut short. A prompt that is
    too long by itself is cut.
    """
    prompt = prompt.strip()
    if max_chars > 0 and len(prompt) > max_chars:
        return prompt[:max_chars]
    lines = [
        f"{role}: {text.strip()}"
        for role, text in turns
        if text.strip() and not (role == "user" and text.strip() == prompt)
    ]
    if max_chars > 0:
        lines = _newest(lines, max_chars - len(CONTEXT_HEADING) - len(prompt) - 4)
    if not lines:
        return prompt
    context = "\n".join(lines)
    return f"{CONTEXT_HEADING}\n\n{context}\n\n{prompt}"


def render_block(
    memories: Sequence[Memory], now: str, max_tokens: int, preamble: str = RECALL_PREAMBLE
) -> Block:
    """Write the memories, best first, into one element of at most 4 * `max_tokens` characters.

    `now` is the time to show, such as `2026-09-01 08:00 UTC`. A memory that does not fit is shown in a
    shorter wording, or left out; nothing at all is the empty string.
    """
    head = f"<{WRAPPER}>\n{preamble}\nCurrent time - {now}\n"
    tail = f"\n</{WRAPPER}>"
    room = max_tokens * CHARS_PER_TOKEN - len(head) - len(tail) if max_tokens > 0 else None
    bullets: list[str] = []
    shown: list[Shown] = []
    for place, memory in enumerate(memories):
        fitting = _fitting(memory, room, cut=not bullets)
        if fitting is None:
            continue
        text, bullet = fitting
        bullets.append(bullet)
        shown.append(Shown(place, text))
        room = None if room is None else room - len(bullet)
    if not bullets:
        return Block("", ())
    return Block(head + "".join(bullets) + tail, tuple(shown))


def shortened(text: str, chars: int) -> str:
    """Return the beginning of a text, at most `chars` characters, cut behind a word where one ends late."""
    if len(text) <= chars:
        return text
    part = text[: max(chars - len(_CUT), 0)]
    space = part.rfind(" ")
    return (part[:space] if space > len(part) // 2 else part) + _CUT


def _newest(lines: Sequence[str], room: int) -> list[str]:
    """Return the longest run of newest lines that fits; the newest alone is cut rather than left out."""
    kept: list[str] = []
    for line in reversed(lines):
        if len(line) + bool(kept) > room:
            break
        room -= len(line) + bool(kept)
        kept.append(line)
    if not kept and lines and room >= _SHORTEST:
        kept.append(shortened(lines[-1], room))
    return kept[::-1]


def _fitting(memory: Memory, room: int | None, *, cut: bool) -> tuple[str, str] | None:
    """Return the fullest wording that fits, alone and as it is written."""
    label = ", ".join(one for one in (_date(memory.timestamp), memory.project) if one)
    for text in memory.texts:
        bullet = _bullet(text, label)
        if room is None or len(bullet) <= room:
            return text, bullet
    frame = len(_bullet("", label))
    text = _unwrapped(memory.texts[-1]).replace("\n", " ")
    if not cut or room is None or room - frame < _SHORTEST:
        return None
    short = shortened(text, room - frame)
    return short, _bullet(short, label)


def _bullet(text: str, label: str) -> str:
    said = _unwrapped(text).replace("\n", "\n  ")
    return f"\n- [{label}] {said}\n" if label else f"\n- {said}\n"


def _date(timestamp: str | None) -> str:
    return timestamp[:10] if timestamp else ""


def _unwrapped(text: str) -> str:
    """Keep a memory that quotes the element from ending it."""
    return _OWN_TAG.sub("\u2039", text)
