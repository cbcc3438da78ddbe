"""A home with a running daemon and a running model, and what a test asks about transcripts there."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from agents.claude import Claude
from agents.fake_model import FakeModel, running_model
from harness.process import Home, running_daemon, wait_until

PROMPTLY_S: Final = 1.0
"""How long after the last write all of a transcript is in the vault."""

_ALL: Final = 1000


@dataclass(frozen=True)
class Lab:
    """The daemon's home, the model, and the agent that runs in `work`."""

    home: Home
    model: FakeModel
    claude: Claude

    def in_folder(self, name: str) -> Claude:
        """Return the agent as it is started in another folder."""
        return replace(self.claude, work=self.home.folder / name)

    def row(self, transcript: Path) -> Any:
        """Return what `sessions` says of a transcript, or None while it is unknown."""
        real = os.path.realpath(transcript)
        rows = self.home.ask("GET", "/v1/sessions")
        return next((row for row in rows if row["path"] == real), None)

    def settled(self, transcript: Path) -> Any:
        """Wait until everything in a transcript is captured and retained; returns its row."""

        def is_settled() -> Any:
            row = self.row(transcript)
            whole = row is not None and row["captured_bytes"] == transcript.stat().st_size
            return row if whole and row["state"] == "idle" else None

        return wait_until(is_settled, f"all of {transcript.name} is retained")

    def is_captured(self, transcript: Path) -> bool:
        """Whether as many bytes are in the vault as the file has now."""
        row = self.row(transcript)
        return row is not None and row["captured_bytes"] == transcript.stat().st_size

    def captured_promptly(self, transcript: Path) -> None:
        """Hold that the vault has the transcript, byte for byte, a second after its last write.

        To be called right after that write.
        """
        wait_until(lambda: self.is_captured(transcript), "all is in the vault", PROMPTLY_S)
        assert self.home.restored(self.row(transcript)["id"]) == transcript.read_bytes()

    def search(self, *words: str, **filters: str) -> list[Any]:
        """Return every result of a search."""
        query = urlencode({"q": " ".join(words), "limit": _ALL, **filters})
        return list(self.home.ask("GET", f"/v1/search?{query}")["results"])

    def found(self, words: str, transcript: Path) -> list[Any]:
        """Wait until words that the transcript holds are found in it; returns the results."""

        def hits() -> list[Any]:
            return self.search(words, session=self.row(transcript)["id"])

        wait_until(hits, f"{words} is found")
        return hits()


@contextmanager
def running_lab(folder: Path, program: Path, config: Path, **environ: str) -> Iterator[Lab]:
    """A lab; `environ` is the daemon's."""
    with running_daemon(folder, **environ) as home, running_model() as model:
        yield Lab(home, model, Claude(program, folder, model.port, config, folder / "work"))
