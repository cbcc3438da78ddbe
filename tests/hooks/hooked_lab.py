"""The real Claude Code with retaind's hooks in its settings, as their installer puts them there."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from agents.claude import AGENT_S
from agents.lab import Lab
from retaind.core.conversation import WRAPPER

_PRINT: Final = ("--verbose", "--output-format=stream-json", "--include-hook-events")


@dataclass(frozen=True)
class HookedLab(Lab):
    """A lab in whose home the daemon and the program are where a hook looks for them."""

    @classmethod
    def of(cls, lab: Lab) -> "HookedLab":
        share = lab.home.folder / ".local" / "share" / "retaind"
        state = lab.home.folder / ".local" / "state"
        share.mkdir(parents=True)
        state.mkdir(parents=True)
        (share / "current").symlink_to(sys.prefix)
        (state / "retaind").symlink_to(lab.home.state)
        return cls(lab.home, lab.model, lab.claude)

    def install(self) -> None:
        """Install the hooks as a user does."""
        finished = self.home.cli("hooks", "install", "--config-dir", str(self.claude.config))
        assert finished.returncode == 0, finished.stderr.decode()

    def run(self, prompt: str, *arguments: str, **environ: str) -> list[Any]:
        """Run the agent to its end, which must be a good one; returns its events, with `at` in seconds."""
        self.claude.work.mkdir(parents=True, exist_ok=True)
        with subprocess.Popen(
            [self.claude.program, "-p", prompt, *_PRINT, *arguments],
            env={**self.claude.environ(), **environ},
            cwd=self.claude.work,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            assert process.stdout is not None
            events = list(_timed(process.stdout))
            assert process.wait(AGENT_S) == 0, events
        return events

    def given(self, phrase: str) -> str:
        """Return the block in the last request whose messages hold this phrase; "" for none."""
        requests = [json.dumps(messages, ensure_ascii=False) for messages in self.model.asked]
        request = next(one for one in reversed(requests) if phrase in one)
        if f"<{WRAPPER}>" not in request:
            return ""
        return request.rpartition(f"<{WRAPPER}>")[2].partition(f"</{WRAPPER}>")[0]


def prompt_hook_s(events: list[Any]) -> float:
    """Return how long the agent waited for the hook at its prompt."""
    begun, ended = (
        next(
            one["at"]
            for one in events
            if one.get("subtype") == kind and one.get("hook_event") == "UserPromptSubmit"
        )
        for kind in ("hook_started", "hook_response")
    )
    return float(ended - begun)


def _timed(output: Any) -> Iterator[Any]:
    for line in output:
        yield {**json.loads(line), "at": time.monotonic()}
