"""Conversations with a number in each message, and what of them has arrived."""

import re
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.process import DEADLINE_S, Home
from harness.rig import line, lines

__all__ = ["deliver", "line", "lines", "memory", "said", "session", "write"]


def session(number: int) -> str:
    """Return the id of a session, the same each time."""
    return str(uuid.UUID(int=number, version=4))


def write(place: Home, number: int, content: bytes) -> Path:
    """Append to the transcript of a session."""
    path = place.project / f"{session(number)}.jsonl"
    with path.open("ab") as file:
        file.write(content)
    return path


def said(texts: Iterable[str]) -> list[int]:
    """Return the numbers of the messages in documents, in order."""
    return [int(number) for text in texts for number in re.findall(r"said (\d+)", text)]


def deliver(place: Home, timeout_s: float = DEADLINE_S) -> Any:
    """Have everything delivered, and wait for it; returns the answer."""
    return place.ask(
        "POST",
        "/v1/flush",
        {"memories": ["hindsight"], "timeout_s": min(timeout_s, DEADLINE_S - 1)},
    )


def memory(place: Home) -> Any:
    """Return what `status` says of the remote memory."""
    return place.status()["memories"]["hindsight"]
