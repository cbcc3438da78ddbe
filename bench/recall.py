"""How much of what was said does recall bring back: `python -m bench.recall [FOLDER QUESTIONS.json]`.

Imports a folder of transcripts into a throw-away daemon, asks each question, and prints the share of
evidence that stands in the results within each budget of tokens (characters / 4). The questions are a list
of {"question": ..., "evidence": [...]}. Without a folder it takes the set in bench/recall_set.
"""

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench import recall_set
from bench.daemon import Daemon, running
from retaind.cli import client

TOKENS = (512, 1024, 2048)


class Share(NamedTuple):
    """What one budget gave. `missed` are the places of the questions of which no evidence was found."""

    tokens: int
    found: int
    evidence: int
    whole: int
    missed: tuple[int, ...]
    p50_ms: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print a line per budget."""
    parser = argparse.ArgumentParser(prog="python -m bench.recall", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("questions", type=Path, nargs="?")
    parser.add_argument("--tokens", default=",".join(map(str, TOKENS)), help="budgets, with commas")
    parser.add_argument(
        "--missed", action="store_true", help="print questions without any evidence"
    )
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="rr-") as scratch:
        home = Path(scratch) / "home"
        if chosen.folder is None:
            folder = Path(scratch) / "set"
            questions = recall_set.write(folder)
        elif chosen.questions is None:
            parser.error("QUESTIONS.json is missing")
        else:
            folder, questions = chosen.folder, json.loads(chosen.questions.read_text())
        for share in measure(
            folder, questions, home, [int(one) for one in chosen.tokens.split(",")]
        ):
            _print(share, questions, missed=chosen.missed)
    return 0


def measure(
    folder: Path, questions: Sequence[dict[str, Any]], home: Path, budgets: Sequence[int]
) -> list[Share]:
    """Import the folder into a daemon below `home`, and ask the questions within each budget."""
    daemon = Daemon(home)
    for file, inner in _transcripts(folder):
        place = daemon.projects / (inner if len(inner.parts) > 1 else Path("-bench") / inner)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    with running(daemon):
        client.post(daemon.paths, "flush", {"timeout_s": 600}, timeout_s=610)
        return [_asked(daemon.paths, questions, tokens) for tokens in budgets]


def _transcripts(folder: Path) -> list[tuple[Path, Path]]:
    return [(file, file.relative_to(folder)) for file in sorted(folder.rglob("*.jsonl"))]


def _asked(paths: Any, questions: Sequence[dict[str, Any]], tokens: int) -> Share:
    found = evidence = whole = 0
    missed = []
    took = []
    for place, one in enumerate(questions):
        began = time.perf_counter()
        body = {"prompt": one["question"], "max_tokens": tokens}
        answer = client.post(paths, "recall", body, timeout_s=60)
        took.append((time.perf_counter() - began) * 1000)
        text = _plain("\n".join(result["text"] for result in answer["results"]))
        there = sum(_plain(part) in text for part in one["evidence"])
        found += there
        evidence += len(one["evidence"])
        whole += there == len(one["evidence"])
        if not there:
            missed.append(place)
    return Share(tokens, found, evidence, whole, tuple(missed), statistics.median(took))


def _plain(text: str) -> str:
    return " ".join(text.split())


def _print(share: Share, questions: Sequence[dict[str, Any]], *, missed: bool) -> None:
    part = 100 * share.found / max(share.evidence, 1)
    whole = 100 * share.whole / max(len(questions), 1)
    print(
        f"{share.tokens:5} tokens: {part:5.1f} % of {share.evidence} texts, {whole:5.1f} % of the questions"
        f" whole; p50 {share.p50_ms:.1f} ms"
    )
    if missed:
        for place in share.missed:
            print(f"      {questions[place]['question']}")


if __name__ == "__main__":
    raise SystemExit(main())
