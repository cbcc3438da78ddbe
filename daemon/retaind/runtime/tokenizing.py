"""The unit in which content is counted: UTF-8 bytes / 4, or exact cl100k tokens.

The tables of cl100k take 38 MiB. They are loaded by a child process that ends by itself once nothing has
been counted for a while, so that the daemon stays small.
"""

import json
import subprocess
import sys
import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import Final

from retaind.core.metering import tokens
from retaind.errors import ConfigError, RetentionError
from retaind.extras import how_to_add
from retaind.runtime.lifecycle import child_environment

BYTES_PER_4: Final = "bytes/4"
CL100K: Final = "cl100k"
_LIBRARY: Final = "toktok"
_IDLE_S: Final = 20.0
_FIX: Final = f'{how_to_add(CL100K)}, or set metering.tokenizer = "bytes/4"'
# Runs in the child. A line is one text as JSON, the answer to it one number.
_CHILD: Final = """
import json, select, sys
import toktok
while select.select([sys.stdin], [], [], float(sys.argv[1]))[0]:
    line = sys.stdin.buffer.readline()
    if not line:
        break
    print(toktok.batch_count([json.loads(line)], "cl100k_base", threads=1)[0], flush=True)
"""


def counter(tokenizer: str, library: str = _LIBRARY) -> Callable[[str], int]:
    """Return what counts a text's tokens.

    Raises ConfigError when cl100k is chosen and its library is not installed.
    """
    if tokenizer != CL100K:
        return tokens
    if find_spec(library) is None:
        raise ConfigError(
            'metering.tokenizer = "cl100k" needs a library that is not installed',
            why=f"there is no module {library}",
            fix=_FIX,
        )
    return Cl100k().count


class Cl100k:
    """Counts in a child that is started when it is needed, and ends after `idle_s` without a question."""

    def __init__(self, idle_s: float = _IDLE_S) -> None:
        self._idle_s = idle_s
        self._child: subprocess.Popen[bytes] | None = None
        self._turn = threading.Lock()

    def count(self, text: str) -> int:
        """Return the tokens of a text. Raises RetentionError when they cannot be counted now."""
        if not text:
            return 0
        question = json.dumps(text).encode() + b"\n"
        with self._turn:
            found = self._ask(question)
            if found is None:  # it had just ended
                self._let_go()
                found = self._ask(question)
        if found is None:
            raise RetentionError(
                "cl100k tokens cannot be counted", why="its process fails", fix=_FIX
            )
        return found

    def _ask(self, question: bytes) -> int | None:
        child = self._child or self._begin()
        if child.stdin is None or child.stdout is None:
            return None
        try:
            child.stdin.write(question)
            child.stdin.flush()
            answer = child.stdout.readline()
        except OSError:
            return None
        return int(answer) if answer.strip().isdigit() else None

    def _begin(self) -> subprocess.Popen[bytes]:
        self._child = subprocess.Popen(  # noqa: S603 - our own interpreter and text
            [sys.executable, "-P", "-c", _CHILD, str(self._idle_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=child_environment(),
        )
        return self._child

    def close(self) -> None:
        """End the child, if there is one."""
        with self._turn:
            self._let_go()

    def _let_go(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue
        child.wait()
