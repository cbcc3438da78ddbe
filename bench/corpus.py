"""Made-up transcripts in the shape that Claude Code writes: the same arguments give the same bytes.

What they have of the real thing: the mix of records (prompts, thinking, tool calls and their results
twice over, snapshots, now and then a result of some hundred kilobytes), uneven sizes, chained uuids,
compact JSON. What they lack: forks, sub-agents, torn tails. Those are for tests, not for budgets.
"""

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

_STEMS = """
    accept adjust align append apply archive arrange attach batch bind block borrow branch bridge
    buffer build cache call cancel capture change check clean clear close collect commit compare
    compile compose connect copy count cover crawl create cursor declare decode defer delete
    deliver derive detach detect divide drain draw drop edit emit encode enter escape expand
    export extend fetch field filter find finish fold follow format forward frame gather grant
    graph group guard handle hash header hold import index infer insert install join keep label
    launch layout lease level limit link list load lock log match measure merge message migrate
    mirror mount move name nest notify number observe offset open order output pack page panel
    parse patch pause place plan point poll prepare print probe prune publish pull push query
    queue quote raise range read reader record reduce refer refresh reject release remove render
    repair replace report request resolve restore result retry return reverse revise rotate route
    sample scan schedule scope search section seek select send serve session settle shape share
    shift signal skip slice socket sort source split stage start state step store stream strip
    submit summary switch table tail task test thread throttle timer token trace track transfer
    trim tune turn type union unpack update upload validate value verify view visit wait walk
    watch window wrap write yield
""".split()  # noqa: SIM905 - words read best as text
_ENDINGS = ("", "", "", "s", "ed", "er", "ing", "able")
_SMALL = """
    the a of to in and is that it for on with as this but not be by or from when which then so
    after before
""".split()  # noqa: SIM905
_NAMES = [stem + ending for stem in _STEMS for ending in ("", "er", "_id", "_at")]
_WORDS = (
    [stem + ending for stem in _STEMS for ending in _ENDINGS]
    + _SMALL * 40
    + ["größer", "naïve", "→", "✓"] * 3
)
_TOOLS = ("Bash", "Read", "Edit", "Grep", "Write")
_UNEVEN = (0.12, 0.28, 0.5, 0.75, 1.0, 1.3, 1.7, 2.35)
_RESULT_LINES = (1, 3, 6, 12, 25, 60, 150, 260)
_LARGE_RESULT_LINES = 8000
_LARGE_RESULT_SHARE = 0.015
_WHOLE_TURNS = 0.87  # what is aimed at, because a session overshoots by part of a turn


@dataclass(slots=True)
class Session:
    """One conversation, line by line; go on with it for as long as there is to be more."""

    cwd: str
    chance: random.Random
    now: datetime = datetime(2026, 3, 2, 9, tzinfo=UTC)
    session_id: str = field(init=False)
    _parent: str | None = field(init=False, default=None)
    _turns: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.session_id = self._uuid()

    def opening(self) -> bytes:
        """The line at the top of the file."""
        return _line({"type": "summary", "summary": self._prose(7), "leafUuid": self._uuid()})

    def turn(self) -> Iterator[bytes]:
        """One prompt, and all that follows from it."""
        self._turns += 1
        self._pass_time(20, 300)
        yield self.prompt()
        for _ in range(self.chance.randint(1, 7)):
            yield from self._tool_round()
        yield self._assistant(
            {"type": "text", "text": self._prose(self.chance.randint(15, 260))}, "end_turn"
        )
        if self._turns % 8 == 0:
            snapshot: dict[str, object] = {
                "messageId": self._parent,
                "trackedFileBackups": {},
                "timestamp": self._time(),
            }
            yield _line(
                {"type": "file-history-snapshot", "messageId": self._uuid(), "snapshot": snapshot}
            )

    def prompt(self) -> bytes:
        """A line that a user wrote."""
        return self._chained(
            "user", {"role": "user", "content": self._prose(self.chance.randint(4, 70))}
        )

    def _tool_round(self) -> Iterator[bytes]:
        self._pass_time(1, 25)
        if self.chance.random() < 0.35:
            thought = {"type": "thinking", "thinking": self._prose(self.chance.randint(25, 140))}
            yield self._assistant(
                {**thought, "signature": f"{self.chance.getrandbits(1024):x}"}, None
            )
        name = self.chance.choice(_TOOLS)
        call = {
            "type": "tool_use",
            "id": self._short("toolu_"),
            "name": name,
            "input": self._input(name),
        }
        yield self._assistant(call, "tool_use")
        large = self.chance.random() < _LARGE_RESULT_SHARE
        output = self._code(_LARGE_RESULT_LINES if large else self.chance.choice(_RESULT_LINES))
        result = {"tool_use_id": call["id"], "type": "tool_result", "content": output}
        twice = {"stdout": output, "stderr": "", "interrupted": False}
        yield self._chained("user", {"role": "user", "content": [result]}, toolUseResult=twice)

    def _input(self, tool: str) -> dict[str, str]:
        path = f"{self.cwd}/src/{self.chance.choice(_NAMES)}.py"
        if tool == "Bash":
            return {"command": f"make {self.chance.choice(_NAMES)}", "description": self._prose(5)}
        if tool == "Grep":
            return {"pattern": self.chance.choice(_NAMES), "path": self.cwd}
        if tool == "Edit":
            return {"file_path": path, "old_string": self._code(4), "new_string": self._code(6)}
        if tool == "Write":
            return {"file_path": path, "content": self._code(self.chance.randint(8, 90))}
        return {"file_path": path}

    def _assistant(self, block: Mapping[str, object], stop: str | None) -> bytes:
        draw = self.chance.randint
        usage = {
            "input_tokens": draw(1, 30),
            "cache_read_input_tokens": draw(0, 150_000),
            "output_tokens": draw(3, 2000),
        }
        message = {
            "id": self._short("msg_"), "type": "message", "role": "assistant", "model": "claude-opus-4-6",
            "content": [block], "stop_reason": stop, "stop_sequence": None, "usage": usage,
        }  # fmt: skip
        return self._chained("assistant", message, requestId=self._short("req_"))

    def _chained(self, kind: str, message: Mapping[str, object], **more: object) -> bytes:
        parent, self._parent = self._parent, self._uuid()
        return _line({
            "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": self.cwd,
            "sessionId": self.session_id, "version": "2.1.197", "gitBranch": "main", "type": kind,
            "message": message, "uuid": self._parent, "timestamp": self._time(), **more,
        })  # fmt: skip

    def _prose(self, words: int) -> str:
        return " ".join(self.chance.choices(_WORDS, k=words))

    def _code(self, lines: int) -> str:
        names = iter(self.chance.choices(_NAMES, k=4 * lines))
        numbers = (self.chance.getrandbits(16) for _ in range(lines))
        return "\n".join(
            f"{'    ' * (number % 4)}{next(names)} = {next(names)}.{next(names)}({next(names)}, {number})"
            for number in numbers
        )

    def _uuid(self) -> str:
        return str(UUID(int=self.chance.getrandbits(128), version=4))

    def _short(self, prefix: str) -> str:
        return f"{prefix}{self.chance.getrandbits(96):024x}"

    def _pass_time(self, least_s: int, most_s: int) -> None:
        self.now += timedelta(seconds=self.chance.randint(least_s, most_s))

    def _time(self) -> str:
        return f"{self.now:%Y-%m-%dT%H:%M:%S}.{self.chance.randrange(1000):03d}Z"


def write_session(
    folder: Path, size_bytes: int, seed: str, cwd: str = "/home/dev/lab"
) -> tuple[Path, Session]:
    """Write one transcript of at least `size_bytes` that ends with a whole turn; the session can go on."""
    session = Session(cwd, random.Random(seed))
    path = folder / f"{session.session_id}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        written = file.write(session.opening())
        while written < size_bytes:
            written += file.write(b"".join(session.turn()))
    return path, session


def write_tree(projects: Path, files: int, total_bytes: int, *, folders: int = 20) -> list[Path]:
    """Write sessions of uneven sizes, together about `total_bytes`, below a `projects` folder."""
    paths = []
    for number in range(files):
        cwd = f"/home/dev/lab/part-{number % folders:02d}"
        size_bytes = int(total_bytes / files * _UNEVEN[number * 5 % len(_UNEVEN)] * _WHOLE_TURNS)
        path, _ = write_session(
            projects / cwd.replace("/", "-"), size_bytes, f"session {number}", cwd
        )
        paths.append(path)
    return paths


def _line(record: Mapping[str, object]) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
