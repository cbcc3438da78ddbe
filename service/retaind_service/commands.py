"""Running the service managers' own commands."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_MISSING_RC = 127
_TIMEOUT_RC = 124


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended: `rc` as a shell would say it (127 not found, 124 timed out)."""

    rc: int
    out: str
    err: str

    @property
    def ok(self) -> bool:
        """Whether it ended with 0."""
        return self.rc == 0

    @property
    def complaint(self) -> str:
        """Return its first line of error, or else of output, or else its exit status."""
        lines = (self.err.strip() or self.out.strip()).splitlines()
        return lines[0].strip() if lines else f"exit status {self.rc}"


def run(
    argv: Sequence[str], environ: Mapping[str, str] = os.environ, *, timeout_s: float = 20.0
) -> Outcome:
    """Run `argv`, found on the PATH of `environ`, in plain English and with no input; never raises."""
    env = {**environ, "LC_ALL": "C"}
    try:
        done = subprocess.run(  # noqa: S603 - a list of our own words, never a shell
            argv,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome(_TIMEOUT_RC, "", f"no answer within {timeout_s:g} s")
    except OSError as error:
        return Outcome(_MISSING_RC, "", f"{argv[0]}: {error.strerror}")
    return Outcome(done.returncode, done.stdout, done.stderr)
