"""A small set of its own to measure recall with: ten made-up sessions, and questions about them.

`write` gives the same files for the same version of this folder, wherever it runs.
"""

import json
import random
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from bench.recall_set.talks import TALKS, Exchange

_BEGIN: Final = datetime(2026, 8, 3, 8, 0, tzinfo=UTC)
_ASIDES: Final = (
    ("Run the tests please.", "All tests pass, {n} of them in {s} seconds."),
    ("Fix the lint errors.", "Fixed {n} findings, most of them unused imports in {path}."),
    ("Commit this.", "Committed with a message about {path}."),
    (
        "Can you rename that function?",
        "Renamed in {n} places; the old name stays as an alias in {path}.",
    ),
    ("Update the changelog.", "Added a line under Unreleased and sorted the {n} others."),
    (
        "Why is CI red?",
        "One job ran out of time after {s} seconds; I started it again and it is green.",
    ),
    (
        "Write a test for this.",
        "Added one to {path}; it fails without the change and passes with it.",
    ),
    (
        "Is there a faster way?",
        "Not a simple one: {path} is read {n} times, but that costs only {s} ms.",
    ),
    ("Show me the diff.", "The diff touches {n} lines in {path} and nothing else."),
    ("Please clean up the logs.", "Removed {n} messages in {path} that said the same thing twice."),
)
_WORKING: Final = (
    "I read {path} and the {n} places that call it.",
    "The history of {path} shows {n} changes this year, none of them about this.",
    "A first guess was wrong: the numbers in {path} looked odd, but they are from another run.",
    "I compared the result with the last release to be sure, {n} cases in all.",
    "There is a comment in {path} that says the opposite, so I removed it.",
    "The tests around {path} did not cover this; there are {n} of them and they use a fake.",
    "I also looked at the metrics of the last {n} days and saw nothing else.",
)
_NEXT: Final = (
    "Tests pass. Shall I open a pull request?",
    "I have not touched {path}, because others work on it.",
    "The change is {n} lines; I can split it if you like.",
    "If you want to see it in numbers, I can add a dashboard.",
    "Next I would look at {path}, which has the same pattern.",
)
_PATHS: Final = (
    "src/core/{}.py",
    "lib/{}/index.ts",
    "internal/{}/run.go",
    "app/{}.rb",
    "crates/{}/lib.rs",
)


def write(folder: Path) -> list[dict[str, Any]]:
    """Write the transcripts into a folder; returns the questions, each with the evidence it asks for."""
    folder.mkdir(parents=True, exist_ok=True)
    questions: list[dict[str, Any]] = []
    for day, (project, exchanges) in enumerate(TALKS.items()):
        session = _Session(project, _BEGIN + timedelta(days=3 * day))
        lines = list(session.lines(exchanges))
        name = f"{session.id}.jsonl"
        (folder / name).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        for exchange in exchanges:
            evidence = exchange.finding.partition("«")[2].partition("»")[0]
            questions += [
                {"question": question, "evidence": [evidence]} for question in exchange.questions
            ]
    return questions


class _Session:
    """One transcript, in the making."""

    def __init__(self, project: str, begin: datetime) -> None:
        self._chance = random.Random(project)
        self._project = project
        self._now = begin
        self.id = self._uuid()

    def lines(self, exchanges: tuple[Exchange, ...]) -> Iterator[dict[str, Any]]:
        """Yield the records: each exchange with tools in between, and asides around them."""
        for exchange in exchanges:
            for _ in range(self._chance.randint(0, 3)):
                yield from self._aside()
            yield self._user(exchange.ask)
            yield self._assistant(exchange.first)
            for _ in range(self._chance.randint(1, 4)):
                yield from self._tool()
                if self._chance.random() < 0.4:
                    yield self._assistant(self._filled(self._chance.choice(_WORKING)))
            yield self._assistant(self._report(exchange.finding))
            yield self._user(
                self._chance.choice(("Good, thanks.", "Great.", "OK, go on.", "Nice."))
            )
            yield self._assistant(self._filled(self._chance.choice(_NEXT)))

    def _report(self, finding: str) -> str:
        before = self._chance.sample(_WORKING, self._chance.randint(0, 4))
        after = self._chance.sample(_NEXT, self._chance.randint(0, 3))
        said = finding.replace("«", "").replace("»", "")
        return "\n\n".join(
            part
            for part in (
                " ".join(self._filled(one) for one in before),
                said,
                " ".join(self._filled(one) for one in after),
            )
            if part
        )

    def _aside(self) -> Iterator[dict[str, Any]]:
        ask, said = self._chance.choice(_ASIDES)
        yield self._user(ask)
        yield from self._tool()
        yield self._assistant(self._filled(said))

    def _tool(self) -> Iterator[dict[str, Any]]:
        name, given = self._chance.choice(
            (
                ("Read", {"file_path": self._path()}),
                (
                    "Bash",
                    {"command": f"rg -n {self._project} {self._path()}", "description": "Search"},
                ),
                ("Grep", {"pattern": self._project, "path": self._path()}),
            )
        )
        identifier = f"toolu_{self._chance.getrandbits(64):016x}"
        call = {"type": "tool_use", "id": identifier, "name": name, "input": given}
        yield self._message("assistant", [call])
        lines = [
            self._filled(self._chance.choice(_WORKING)) for _ in range(self._chance.randint(1, 30))
        ]
        result = {"type": "tool_result", "tool_use_id": identifier, "content": "\n".join(lines)}
        yield self._message("user", [result])

    def _filled(self, form: str) -> str:
        return form.format(
            n=self._chance.randint(2, 400), s=self._chance.randint(3, 90), path=self._path()
        )

    def _path(self) -> str:
        words = ("cache", "queue", "render", "billing", "parser", "session", "export", "index")
        return self._chance.choice(_PATHS).format(self._chance.choice(words))

    def _user(self, text: str) -> dict[str, Any]:
        return self._message("user", text)

    def _assistant(self, text: str) -> dict[str, Any]:
        return self._message("assistant", [{"type": "text", "text": text}])

    def _message(self, role: str, content: object) -> dict[str, Any]:
        self._now += timedelta(seconds=self._chance.randint(5, 90))
        message: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            message |= {
                "id": f"msg_{self._chance.getrandbits(64):016x}",
                "model": "m",
                "type": "message",
            }
        return {
            "parentUuid": None,
            "isSidechain": False,
            "cwd": f"/home/dev/{self._project}",
            "sessionId": self.id,
            "type": role,
            "message": message,
            "uuid": self._uuid(),
            "timestamp": self._now.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        }

    def _uuid(self) -> str:
        return str(uuid.UUID(int=self._chance.getrandbits(128), version=4))
