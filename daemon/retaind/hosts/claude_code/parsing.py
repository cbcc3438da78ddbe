"""From one line's bytes to records: what is said in it, by whom, and whether it is conversation at all."""

from typing import Final

import msgspec

from retaind.core.lines import Piece, is_utf8, salvage
from retaind.core.records import Block, Fate, Record, raw_value, record_key, storable
from retaind.hosts.claude_code.fates import FATES, REASONS
from retaind.hosts.claude_code.shapes import Attachment, Line, Message, decode_line, read_line

_SYNTHETIC_MODEL: Final = "<synthetic>"
# What the host writes where the agent said nothing. Any other text that is no error is what the agent
# had said when someone pressed Esc: the host writes it under the same model.
_PLACEHOLDERS: Final = ("No response requested.", "(no content)")
_PROMPT_MODES: Final = (None, "prompt")
_HUMAN: Final = (None, "human")
_FLAT_TYPES: Final = ("", "message")
_KEPT: Final = ("", "sidechain")
_NO_MESSAGE: Final = Message()


def parse(start: int, line: bytes) -> tuple[Record, ...]:
    """Read one line without its newline; see `Host.parse`. A blank line has no records."""
    try:
        parsed = decode_line(line)
    except msgspec.ValidationError:
        return _parse_odd(start, line)
    except (msgspec.DecodeError, RecursionError):
        return _parse_broken(start, line)
    if line.isascii() or is_utf8(line):
        return (_record(parsed, start, start + len(line) + 1, lossy=False),)
    return _parse_broken(start, line)


def _parse_odd(start: int, line: bytes) -> tuple[Record, ...]:
    """Read a line with a field of an unexpected type."""
    try:
        parsed = read_line(line)
    except (msgspec.DecodeError, RecursionError):
        return _parse_broken(start, line)
    if is_utf8(line):
        return (_record(parsed, start, start + len(line) + 1, lossy=False),)
    return _parse_broken(start, line)


def _parse_broken(start: int, line: bytes) -> tuple[Record, ...]:
    """Read the records that a broken line still holds."""
    records = []
    for piece in salvage(start, line):
        if piece.reason != "blank":
            end = piece.end + (piece.end == start + len(line))
            records.append(_salvaged(piece, line[piece.start - start : piece.end - start], end))
    return tuple(records)


def _salvaged(piece: Piece, source: bytes, end: int) -> Record:
    if piece.reason:
        return Record(piece.start, end, Fate.CORRUPT, "", piece.reason)
    try:
        parsed = read_line(piece.data)
    except (msgspec.DecodeError, RecursionError):
        return Record(piece.start, end, Fate.CORRUPT, "", "not_json")
    return _record(parsed, piece.start, end, lossy=piece.data not in source)


def _record(line: Line, start: int, end: int, *, lossy: bool) -> Record:
    """Judge a line by the table, and by the flags that it carries."""
    kind = line.type or ""
    if kind == "system":
        kind = f"system/{line.subtype or ''}"
    elif kind == "attachment":
        kind = f"attachment/{(line.attachment and line.attachment.type) or ''}"
    fate = FATES.get(kind, Fate.UNKNOWN)
    if fate is Fate.UNKNOWN and kind in _FLAT_TYPES:
        kind = _bare_role(line)
        fate = Fate.CONVERSATION if kind else Fate.UNKNOWN
    if fate is Fate.CONVERSATION:
        return _conversation(line, kind, start, end, lossy=lossy)
    return Record(
        start,
        end,
        fate,
        kind,
        REASONS[fate],
        uuid=line.uuid or "",
        timestamp=line.timestamp or "",
        cwd=line.cwd or "",
        lossy=lossy,
    )


def _bare_role(line: Line) -> str:
    """Return the role of a message that stands without a record around it, or ""."""
    if line.message is not None:
        return line.message.role or ""
    return (line.role or "") if line.content is not None else ""


def _conversation(line: Line, kind: str, start: int, end: int, *, lossy: bool) -> Record:
    message = line.message or _NO_MESSAGE
    content = line.content if message.content is None else message.content
    if line.attachment is not None and kind.startswith("attachment/"):
        role = "user"
        content = _attached(line.attachment)
    else:
        role = message.role or kind
    if content is None:
        content = ()
    reason = _drop_reason(line, message)
    is_kept = reason in _KEPT
    uuid = line.uuid or ""
    return Record(
        start,
        end,
        Fate.CONVERSATION if is_kept else Fate.TRANSPORT,
        kind,
        reason,
        role,
        content,
        (message.id or "") if role == "assistant" else "",
        uuid,
        line.timestamp or "",
        line.cwd or "",
        record_key(uuid, role, content) if is_kept else 0,
        lossy,
    )


def _drop_reason(line: Line, message: Message) -> str:
    """Say why a record of the conversation is none that was held; the strongest reason wins."""
    if line.is_meta:
        return "meta"
    if line.attachment is not None and _is_queued_by_host(line.attachment):
        return "meta"
    if line.is_compact_summary:
        return "compact_summary"
    if line.is_api_error_message or _is_synthetic(line, message):
        return "synthetic"
    return "sidechain" if line.is_sidechain else ""


def _is_synthetic(line: Line, message: Message) -> bool:
    """Tell whether the host speaks for the agent, and not the agent itself up to an interruption."""
    if message.model != _SYNTHETIC_MODEL:
        return False
    if line.is_api_error_message is None or not isinstance(message.content, tuple):
        return True
    return all(block.text in _PLACEHOLDERS for block in message.content)


def _is_queued_by_host(attachment: Attachment) -> bool:
    """Tell whether a queued prompt comes from the host itself, or from another agent."""
    if attachment.is_meta or attachment.command_mode not in _PROMPT_MODES:
        return True
    return attachment.origin is not None and attachment.origin.kind not in _HUMAN


def _attached(attachment: Attachment) -> str | tuple[Block, ...]:
    """Return a queued prompt as what was said, and a file as what a tool read."""
    if attachment.type == "queued_command":
        return attachment.prompt or ()
    value = raw_value(attachment.content)
    file = value.get("file") if isinstance(value, dict) else None
    text = file.get("content") if isinstance(file, dict) else None
    if not isinstance(text, str):
        return ()
    name = attachment.filename or ""
    return (
        Block("tool_result", name=name, content=msgspec.Raw(msgspec.json.encode(storable(text)))),
    )
