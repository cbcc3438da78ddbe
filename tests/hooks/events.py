"""Hooks as an agent runs them: a process with an event on its standard input."""

import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.process import DEADLINE_S, Home

HERON = "11111111-0000-4000-8000-000000000001"
WEIR = "22222222-0000-4000-8000-000000000002"
ASKING = "33333333-0000-4000-8000-000000000003"
PROJECT = "/work/river"


def said(session: str, *texts: str, cwd: str = PROJECT, first: int = 1) -> bytes:
    """Return a conversation, user and assistant in turn, as Claude Code writes it."""
    lines = []
    for number, text in enumerate(texts, first):
        role = ("assistant", "user")[number % 2]
        record = {
            "type": role,
            "uuid": f"{session[:24]}{number:012}",
            "sessionId": session,
            "cwd": cwd,
            "timestamp": f"2026-02-03T10:00:{number:02}.000Z",
            "message": {"role": role, "content": text},
        }
        lines.append(json.dumps(record).encode() + b"\n")
    return b"".join(lines)


@dataclass(frozen=True)
class Answer:
    """How a hook ended."""

    code: int
    output: bytes
    errors: bytes
    took_s: float
    cpu_s: float

    @property
    def is_silent(self) -> bool:
        return (self.code, self.output, self.errors) == (0, b"", b"")

    @property
    def block(self) -> str:
        """What the agent is given; "" for nothing."""
        assert (self.code, self.errors) == (0, b"")
        if not self.output:
            return ""
        answer = json.loads(self.output)["hookSpecificOutput"]
        assert answer["hookEventName"] == "UserPromptSubmit"
        return str(answer["additionalContext"])


@dataclass(frozen=True)
class Hooked:
    """A home in which hooks are run."""

    home: Home

    def write(self, session: str, data: bytes) -> Path:
        path = self.home.project / f"{session}.jsonl"
        path.write_bytes(data)
        return path

    def configure(self, text: str) -> None:
        """Have the running daemon go by these settings."""
        self.home.config.write_text(text)
        self.home.ask("POST", "/v1/reload", {})

    def run(self, event: str, payload: object = None, **environ: str) -> Answer:
        """Run the hook of an event; a payload of bytes is sent as it is."""
        data = payload if isinstance(payload, bytes) else json.dumps(payload or {}).encode()
        return self.start("-m", "retaind", "hook", event, data=data, **environ)

    def start(self, *arguments: str, data: bytes = b"", **environ: str) -> Answer:
        """Run the interpreter as a hook does."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.monotonic()
        finished = subprocess.run(
            [sys.executable, "-I", *arguments],
            env={**self.home.environ, **environ},
            cwd=self.home.folder,
            input=data,
            capture_output=True,
            check=False,
            timeout=DEADLINE_S,
        )
        took_s = time.monotonic() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Answer(finished.returncode, finished.stdout, finished.stderr, took_s, cpu_s)

    def prompt(self, text: str, session: str = ASKING, cwd: str = PROJECT, **more: Any) -> str:
        """Return the block that a session is given for a prompt."""
        environ = more.pop("environ", {})
        payload = {"prompt": text, "session_id": session, "cwd": cwd, **more}
        return self.run("UserPromptSubmit", payload, **environ).block
