"""The agent as a person runs it: in a terminal, typed to, and read from the screen."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from agents.claude import AGENT_S, KEY, Claude
from harness.process import wait_until

_SIZE: Final = struct.pack("HHHH", 50, 160, 0, 0)
_CONTROL: Final = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\a\x1b]*(?:\a|\x1b\\)|\x1b.|\s")


class Terminal:
    """What is on the screen, and the keys. The screen is read all the time, or the agent would wait."""

    def __init__(self, process: subprocess.Popen[bytes], descriptor: int) -> None:
        self._process = process
        self._descriptor = descriptor
        self._screen = bytearray()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._descriptor, 65_536)
            except OSError:
                return  # the agent has left
            self._screen += data

    def wait_for(self, text: str) -> None:
        """Wait until the screen shows a text; how far apart its words stand does not matter."""
        self._wait_for(text, 0)

    def _wait_for(self, text: str, start: int) -> None:
        bare = "".join(text.split())

        def shows() -> bool:
            seen = bytes(self._screen[start:]).decode("utf-8", "replace")
            return bare in _CONTROL.sub("", seen)

        wait_until(shows, f"the screen shows {text}", AGENT_S)

    def wait_for_end(self) -> int:
        """Wait until the agent has left; returns its exit code."""
        return self._process.wait(AGENT_S)

    def say(self, text: str) -> None:
        """Type a line and, once it can be seen, the return key."""
        start = len(self._screen)
        self.press(text)
        self._wait_for(text, start)
        self.press("\r")

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._descriptor, keys.encode())


@contextmanager
def in_terminal(claude: Claude, *arguments: str) -> Iterator[Terminal]:
    """Run the agent in a terminal; it is killed at the block's end if it still runs."""
    _skip_greetings(claude)
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, _SIZE)
    process = subprocess.Popen(
        [claude.program, *arguments],
        env=claude.environ(),
        cwd=claude.work,
        stdin=inner,
        stdout=inner,
        stderr=inner,
        start_new_session=True,
    )
    os.close(inner)
    terminal = Terminal(process, outer)
    try:
        yield terminal
    finally:
        process.kill()
        process.wait()
        terminal.reader.join(AGENT_S)
        os.close(outer)


def _skip_greetings(claude: Claude) -> None:
    """Leave the state of a user who has been welcomed, trusts the folder and uses this key."""
    claude.work.mkdir(parents=True, exist_ok=True)
    claude.config.mkdir(parents=True, exist_ok=True)
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    state = {
        "hasCompletedOnboarding": True,
        "lastOnboardingVersion": "2.1.197",
        "theme": "dark",
        "numStartups": 5,
        "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
        "projects": {str(claude.work.resolve()): trusted},
    }
    claude.state_file.write_text(json.dumps(state))
