"""The real Claude Code in a home of its own, with no hook installed, against a model on loopback."""

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final
from uuid import uuid4

import pytest

from harness.process import wait_until

AGENT_S: Final = 90.0
"""How long anything that the agent does may take; a start alone takes seconds on busy cores."""

KEY: Final = "sk-none-for-a-model-on-loopback"

_HERE: Final = Path(__file__).resolve().parent
_INSTALLER: Final = _HERE.parents[1] / ".ci" / "agents.sh"
_PRINT: Final = (
    "--allowedTools=Bash,Agent", "--verbose",
    "--output-format=stream-json", "--include-partial-messages",
)  # fmt: skip
_LOOK_BYTES: Final = 1 << 20


def installed_program() -> Path:
    """Return the pinned program. Where it is not installed, CI installs it, and everyone else skips."""
    pinned = json.loads((_HERE / "package.json").read_text())["dependencies"]
    version = pinned["@anthropic-ai/claude-code"]
    in_ci = os.environ.get("CI") == "true"
    if in_ci:
        subprocess.run(["sh", _INSTALLER], check=True, timeout=600)
    folder = Path(os.environ.get("RETAIND_AGENTS") or Path.home() / ".cache" / "retaind-agents")
    packages = folder / f"claude-code-{version}" / "node_modules" / "@anthropic-ai"
    program = next(packages.glob("claude-code-*/claude"), None)
    if program is None:
        reason = f"Claude Code {version} is not installed; .ci/agents.sh does it"
        if in_ci:
            pytest.fail(reason)
        pytest.skip(reason)
    return program


@dataclass(frozen=True)
class Claude:
    """How the agent is run: by whom, against which model, and with which configuration folder."""

    program: Path
    home: Path
    model_port: int
    config: Path
    """Claude Code's folder: `~/.claude`, or the one that CLAUDE_CONFIG_DIR names."""
    work: Path
    """Where the agent is started."""

    @property
    def state_file(self) -> Path:
        """Where the agent keeps what it knows of its user."""
        folder = self.home if self._at_home() else self.config
        return folder / ".claude.json"

    def _at_home(self) -> bool:
        return self.config == self.home / ".claude"

    def environ(self) -> dict[str, str]:
        """Return all that the agent sees of the environment. What is not on loopback is out of reach."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL") if name in os.environ}
        if not self._at_home():
            kept["CLAUDE_CONFIG_DIR"] = str(self.config)
        return {
            **kept,
            "HOME": str(self.home),
            "TERM": "xterm-256color",
            "TMPDIR": str(self.home),
            "ANTHROPIC_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{self.model_port}",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_TELEMETRY": "1",
            "HTTPS_PROXY": "http://127.0.0.1:9",
            "NO_PROXY": "127.0.0.1",
            "IS_SANDBOX": "1",  # CI may run as root
        }

    def on_session_end(self, command: str) -> None:
        """Have the agent run a command of the user's own, which has nothing to do with retaind."""
        hook = {"hooks": [{"type": "command", "command": command}]}
        self.config.mkdir(parents=True, exist_ok=True)
        settings = self.config / "settings.json"
        settings.write_text(json.dumps({"hooks": {"SessionEnd": [hook]}}))

    @contextmanager
    def started(self, prompt: str, *arguments: str) -> Iterator["Running"]:
        """Start a session of its own in print mode; whatever still runs at the block's end is killed."""
        session = str(uuid4())
        self.work.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                [self.program, "-p", prompt, "--session-id", session, *_PRINT, *arguments],
                env=self.environ(),
                cwd=self.work,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            try:
                yield Running(self, session, process, output)
            finally:
                process.kill()
                process.wait()

    def run(self, prompt: str, *arguments: str) -> None:
        """Run the agent in print mode to its end."""
        self.work.mkdir(parents=True, exist_ok=True)
        finished = subprocess.run(
            [self.program, "-p", prompt, *_PRINT, *arguments],
            env=self.environ(),
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=AGENT_S,
        )
        assert finished.returncode == 0, finished.stdout.decode() + finished.stderr.decode()

    def new_session(self, prompt: str) -> Path:
        """Run the agent to its end in a session of its own; returns the session's transcript."""
        session = str(uuid4())
        self.run(prompt, "--session-id", session)
        return self.transcript(session)

    def transcript(self, session: str) -> Path:
        """Return the transcript of a session, once it is there."""

        def there() -> list[Path]:
            return list(self.config.glob(f"projects/*/{session}.jsonl"))

        wait_until(there, "the session has a transcript", AGENT_S)
        return there()[0]


@dataclass(frozen=True)
class Running:
    """An agent at work."""

    claude: Claude
    session: str
    process: subprocess.Popen[bytes]
    output: IO[bytes]

    @property
    def transcript(self) -> Path:
        """The session's transcript."""
        return self.claude.transcript(self.session)

    def printed(self, text: str) -> None:
        """Wait until the agent has printed a text."""
        self._waits_for(text, lambda: os.pread(self.output.fileno(), _LOOK_BYTES, 0))

    def wrote(self, text: str) -> None:
        """Wait until a text stands in the transcript."""
        self._waits_for(text, self.transcript.read_bytes)

    def end(self, number: signal.Signals) -> None:
        """Send a signal, and wait for the end."""
        self.process.send_signal(number)
        self.process.wait(AGENT_S)

    def _waits_for(self, text: str, read: Callable[[], bytes]) -> None:
        def is_there() -> bool:
            assert self.process.poll() is None, os.pread(self.output.fileno(), _LOOK_BYTES, 0)
            return text.encode() in read()

        wait_until(is_there, f"the agent says {text}", AGENT_S)
