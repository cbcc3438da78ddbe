"""Lines as Claude Code writes them, and what is read from them."""

import json
from typing import Any, Final

from retaind.core.records import Record
from retaind.hosts.claude_code import ClaudeCode
from retaind.hosts.port import Host

HOST: Final[Host] = ClaudeCode()
ENVELOPE: Final = {
    "parentUuid": "p-1", "isSidechain": False, "userType": "external", "entrypoint": "cli",
    "cwd": "/home/dev/work", "sessionId": "s-1", "version": "2.1.197", "gitBranch": "main",
    "uuid": "u-1", "timestamp": "2026-01-01T00:00:00.000Z",
}  # fmt: skip


def line(kind: str, /, **fields: Any) -> bytes:
    return json.dumps({**ENVELOPE, "type": kind, **fields}).encode()


def user(content: object, /, **fields: Any) -> bytes:
    return line("user", **{"message": {"role": "user", "content": content}, **fields})


def assistant(*content: object, **message: Any) -> bytes:
    whole = {"id": "msg_1", "role": "assistant", "model": "m", "content": list(content), **message}
    return line("assistant", message=whole, requestId="req_1")


def one(data: bytes) -> Record:
    (record,) = HOST.parse(0, data)
    return record
