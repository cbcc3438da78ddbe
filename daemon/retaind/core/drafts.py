"""Messages into documents that stay within their limit.

Cut between turns, where that is not enough between messages, and only then inside a message.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final

import msgspec

from retaind.core.forms import Form, message_bytes
from retaind.core.messages import Action, Draft, Message, utf8_bytes

_LEAST_BYTES: Final = 64
"""However small the limit, a part of a message holds this much, so that cutting comes to an end."""

_BREAKS: Final = ("\n\n", "\n", " ")


def drafts(
    messages: Sequence[Message],
    start: int,
    end: int,
    form: Form,
    limit_bytes: int,
    context: tuple[Message, ...] = (),
) -> tuple[Draft, ...]:
    """Return documents of at most `limit_bytes` whose ranges follow each other from `start` to `end`.

    The first one carries the context, which takes its share of the limit. No messages, no documents.
    """
    room = limit_bytes - len(form.opening) - len(form.closing)
    reserved = sum(message_bytes(form, message) for message in context)
    groups = _packed(messages, form, room, reserved)
    starts = [start, *(group[0].start for group in groups[1:]), end]
    return tuple(
        Draft(starts[at], starts[at + 1], tuple(group), () if at else context)
        for at, group in enumerate(groups)
    )


def within(messages: Sequence[Message], form: Form, room: int) -> tuple[Message, ...]:
    """Return the last of the messages, as many as fit whole into `room` bytes."""
    first = len(messages)
    while first and (room := room - message_bytes(form, messages[first - 1])) >= 0:
        first -= 1
    return tuple(messages[first:])


def _packed(messages: Sequence[Message], form: Form, room: int, used: int) -> list[list[Message]]:
    """Fill documents with whole turns; a turn that fits in none starts one and is cut further.

    `used` bytes of the first document are taken already.
    """
    groups: list[list[Message]] = []
    for _, turn in groupby(messages, key=attrgetter("turn")):
        sized = [(message, message_bytes(form, message)) for message in turn]
        whole = sum(size for _, size in sized)
        if groups and used + whole <= room:
            groups[-1].extend(message for message, _ in sized)
            used += whole
            continue
        if groups:
            used = 0
        groups.append([])
        for message, size in _cut_to(sized, form, room - used):
            if groups[-1] and used + size > room:
                groups.append([])
                used = 0
            groups[-1].append(message)
            used += size
    return groups


def _cut_to(
    sized: Iterable[tuple[Message, int]], form: Form, room: int
) -> Iterator[tuple[Message, int]]:
    for message, size in sized:
        if size <= room:
            yield message, size
        else:
            yield from ((part, message_bytes(form, part)) for part in _parts(message, form, room))


def _parts(message: Message, form: Form, limit_bytes: int) -> list[Message]:
    """Cut one message into messages that fit. Their texts add up to its text, their ranges to its range."""
    room = max(limit_bytes - form.frame_bytes(message), _LEAST_BYTES)
    contents: list[tuple[str, list[Action]]] = [
        (text, []) for text in _slices(message.text, room, form.text_bytes)
    ] or [("", [])]
    used = form.text_bytes(contents[-1][0])
    for action in _small_actions(message.actions, form, room):
        size = form.action_bytes(action)
        if used + size > room and any(contents[-1]):
            contents.append(("", []))
            used = 0
        contents[-1][1].append(action)
        used += size
    return _placed(message, contents)


def _placed(message: Message, contents: Sequence[tuple[str, list[Action]]]) -> list[Message]:
    """Give each part its share of the message's bytes, in proportion to what it says."""
    weights = [
        1 + utf8_bytes(text) + sum(utf8_bytes(action.body) for action in actions)
        for text, actions in contents
    ]
    total = sum(weights)
    span = message.end - message.start
    parts: list[Message] = []
    at, weight = message.start, 0
    for nth, (text, actions) in enumerate(contents):
        weight += weights[nth]
        end = message.start + span * weight // total
        part = msgspec.structs.replace(
            message, text=text, actions=tuple(actions), start=at, end=end
        )
        parts.append(part if nth == 0 else _continued(part))
        at = end
    return parts


def _continued(part: Message) -> Message:
    return msgspec.structs.replace(part, is_first=False, starts_turn=False, redacted=())


def _small_actions(actions: Iterable[Action], form: Form, room: int) -> Iterator[Action]:
    """Return the actions, those that fit nowhere cut into several of the same name."""
    for action in actions:
        if form.action_bytes(action) <= room:
            yield action
            continue
        bare = form.action_bytes(msgspec.structs.replace(action, body=""))
        for body in _slices(action.body, max(room - bare, _LEAST_BYTES), _escaped_bytes(form)):
            yield msgspec.structs.replace(action, body=body)


def _escaped_bytes(form: Form) -> Callable[[str], int]:
    """Measure a piece of an action's body alone, as the form writes it at the most."""
    nothing = form.action_bytes(Action("result", "", ""))
    return lambda body: form.action_bytes(Action("result", "", body)) - nothing


def _slices(text: str, room: int, size_of: Callable[[str], int]) -> Iterator[str]:
    """Cut a text into slices of at most `room` bytes, behind a paragraph, a line or a word if one is near."""
    data = text.encode()
    at = 0
    while at < len(data):
        whole = data[at : at + room]
        piece = whole.decode("utf-8", "ignore") or data[at : at + 4].decode("utf-8", "ignore")[:1]
        while (size := size_of(piece)) > room and len(piece) > 1:
            piece = piece[: max(1, min(len(piece) - 1, len(piece) * room // size))]
        if at + len(piece.encode()) < len(data):
            piece = _at_break(piece)
        yield piece
        at += len(piece.encode())


def _at_break(piece: str) -> str:
    """Shorten a piece to its last paragraph, else line, else word, that ends in its second half."""
    for mark in _BREAKS:
        found = piece.rfind(mark, len(piece) // 2)
        if found >= 0:
            return piece[: found + len(mark)]
    return piece
