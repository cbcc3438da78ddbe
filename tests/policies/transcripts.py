"""Transcripts as Claude Code writes them, made of a few words, and what a daemon says of them."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import zstandard

from harness.process import Home

CWD = "/home/dev/lab"


def record(kind: str, number: int, session: str, **fields: Any) -> bytes:
    """One line; `number` gives it its uuid and its second."""
    whole = {
        "parentUuid": None,
        "isSidechain": False,
        "cwd": CWD,
        "sessionId": session,
        "type": kind,
        "uuid": f"00000000-0000-4000-8000-{number:012d}",
        "timestamp": f"2026-10-01T08:{number // 60 % 60:02d}:{number % 60:02d}.000Z",
        **fields,
    }
    return json.dumps(whole, ensure_ascii=False).encode() + b"\n"


def prompt(number: int, content: object, session: str = "s", **fields: Any) -> bytes:
    """What a user typed, or a list of blocks."""
    message = {"role": "user", "content": content}
    return record("user", number, session, message=message, **fields)


def answer(number: int, *content: object, session: str = "s", **fields: Any) -> bytes:
    """What the agent said or did; texts stand for text blocks."""
    blocks = [{"type": "text", "text": one} if isinstance(one, str) else one for one in content]
    message = {"id": f"msg_{number}", "role": "assistant", "model": "m", "content": blocks}
    return record("assistant", number, session, message=message, **fields)


def call(name: str, identifier: str, **given: object) -> dict[str, object]:
    """A tool call."""
    return {"type": "tool_use", "id": identifier, "name": name, "input": given}


def result(identifier: str, text: object) -> dict[str, object]:
    """What a tool returned."""
    return {"type": "tool_result", "tool_use_id": identifier, "content": text}


def write(home: Home, name: str, *lines: bytes, folder: Path | None = None) -> Path:
    """Write a transcript into the project's folder, or another one."""
    path = (folder or home.project) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def append(path: Path, *lines: bytes) -> None:
    """Let a transcript grow."""
    with path.open("ab") as file:
        file.write(b"".join(lines))


def local(row: Any) -> dict[str, Any]:
    """Return what the local memory has of a session."""
    found: dict[str, Any] = row["memories"]["local"]
    return found


def totals(rows: Iterable[Any]) -> dict[str, int]:
    """Return the sums over sessions: retained, and dropped by reason."""
    total: Counter[str] = Counter()
    for row in rows:
        account = local(row)
        total["retained"] += account["retained"]
        total["pending"] += account["pending"] + account["set_aside"]
        total.update(account["dropped"])
    return dict(total)


def settings(home: Home, text: str) -> None:
    """Write the configuration file."""
    home.config.write_text(text, encoding="utf-8")


def documents(home: Home) -> list[str]:
    """Return the texts of the local memory's documents, as they were rendered."""
    connection = sqlite3.connect(f"file:{home.state / 'retaind.db'}?mode=ro", uri=True)
    try:
        rows = connection.execute(
            "SELECT document_id, packed, data FROM local_frame ORDER BY document_id, start"
        ).fetchall()
    finally:
        connection.close()
    texts: dict[int, bytes] = {}
    for document, packed, data in rows:
        piece = zstandard.ZstdDecompressor().decompress(data) if packed else data
        texts[document] = texts.get(document, b"") + piece
    return [text.decode() for text in texts.values()]
