"""The parts of a line that retention looks at, and how they are read from lines of odd shape.

A line is decoded straight into these structs; everything else in it is skipped, which is most of it.
Where an optional field has a type that nobody expected, the line is read again field by field, and
only that field is lost.
"""

from typing import Any, Final, TypeVar

import msgspec

from retaind.core.records import Block

Content = str | tuple[Block, ...] | None
Shape = TypeVar("Shape", bound=msgspec.Struct)

NOTHING: Final = msgspec.Raw(b"")


class Message(msgspec.Struct, gc=False):
    """The message inside a user's or the agent's record. An agent's may be spread over many lines."""

    role: str | None = None
    content: Content = None
    id: str | None = None
    model: str | None = None


class Origin(msgspec.Struct, gc=False):
    """Who put a prompt into the queue."""

    kind: str | None = None


class Attachment(msgspec.Struct, gc=False, rename="camel"):
    """What the host put beside the conversation; see `fates` for the types that matter."""

    type: str | None = None
    prompt: Content = None
    command_mode: str | None = None
    is_meta: bool | None = None
    origin: Origin | None = None
    filename: str | None = None
    content: msgspec.Raw = NOTHING


class Line(msgspec.Struct, gc=False, rename="camel"):
    """One line. `role` and `content` stand here in the flat form `{"role": …, "content": …}`."""

    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    is_api_error_message: bool | None = None
    message: Message | None = None
    attachment: Attachment | None = None
    role: str | None = None
    content: Content = None


decode_line: Final = msgspec.json.Decoder(Line).decode

_NESTED: Final[dict[str, type[msgspec.Struct]]] = {
    "message": Message,
    "attachment": Attachment,
    "origin": Origin,
}
_CONTENTS: Final = frozenset({"content", "prompt"})


def read_line(data: bytes) -> Line:
    """Read a JSON object as a line, whatever the types of its fields.

    Raises msgspec.DecodeError or RecursionError where `data` is no JSON object.
    """
    try:
        return decode_line(data)
    except msgspec.ValidationError:
        return _tolerant(data, Line)


def _undecoded(shape: type[msgspec.Struct]) -> type[msgspec.Struct]:
    """Return a struct with the same names, whose fields are left as undecoded JSON."""
    names = [field.encode_name for field in msgspec.structs.fields(shape)]
    return msgspec.defstruct(
        f"Undecoded{shape.__name__}", [(name, msgspec.Raw, NOTHING) for name in names]
    )


_UNDECODED: Final[dict[type[msgspec.Struct], msgspec.json.Decoder[Any]]] = {
    shape: msgspec.json.Decoder(_undecoded(shape))
    for shape in (Line, Message, Attachment, Origin, Block)
}


def _tolerant(data: bytes | msgspec.Raw, shape: type[Shape]) -> Shape:
    """Read field by field, and leave out what does not fit. Raises where `data` is no object."""
    parts = _UNDECODED[shape].decode(data)
    values = {}
    for field in msgspec.structs.fields(shape):
        part = getattr(parts, field.encode_name)
        if bytes(part):
            try:
                values[field.name] = _value(part, field)
            except msgspec.ValidationError:
                continue
    return shape(**values)


def _value(part: msgspec.Raw, field: msgspec.structs.FieldInfo) -> Any:
    try:
        return msgspec.json.decode(part, type=field.type)
    except msgspec.ValidationError:
        if field.name in _NESTED:
            return _tolerant(part, _NESTED[field.name])
        if field.name in _CONTENTS:
            return _content(part)
        raise


def _content(part: msgspec.Raw) -> tuple[Block, ...]:
    """Read content that is no text and no list of good blocks; what is odd stays undecoded."""
    try:
        items = msgspec.json.decode(part, type=tuple[msgspec.Raw, ...])
    except msgspec.ValidationError:
        return (Block(content=part),)
    return tuple(_block(item) for item in items)


def _block(part: msgspec.Raw) -> Block:
    try:
        return _tolerant(part, Block)
    except msgspec.ValidationError:
        return Block(content=part)
