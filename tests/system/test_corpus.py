"""Real transcripts, end to end: kept byte for byte, accounted for, and found."""

import csv
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from harness.process import Home, running_daemon

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
WORD = re.compile(r"(?<!\S)[A-Za-z]{5,24}(?!\S)")


@pytest.fixture(name="kept", scope="module")
def _kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Home, dict[Path, bytes]]]:
    """A home with every transcript of the corpus, retained by a running daemon."""
    if not CORPUS.is_dir():
        pytest.skip("the corpus of real transcripts is not on this machine")
    folder = tmp_path_factory.mktemp("corpus")
    sources = _lay_out(folder / ".claude" / "projects")
    with running_daemon(folder) as home:
        home.flush()
        yield home, sources


def _lay_out(projects: Path) -> dict[Path, bytes]:
    """Copy each session into a project folder of its own, because names repeat in the corpus."""
    sources = {}
    with (CORPUS / "MANIFEST.tsv").open(encoding="utf-8") as manifest:
        rows = list(csv.DictReader(manifest, delimiter="\t", quoting=csv.QUOTE_NONE))
    for number, row in enumerate(rows):
        path = CORPUS / row["path"]
        if row["host"] != "claude-code" or path.suffix != ".jsonl" or path.name == "history.jsonl":
            continue
        target = projects / f"-corpus-{number}" / path.name
        target.parent.mkdir(parents=True)
        shutil.copyfile(path, target)
        sources[target] = target.read_bytes()
    return sources


def _rows(home: Home) -> dict[str, dict[str, object]]:
    return {row["path"]: row for row in home.ask("GET", "/v1/sessions")}


def test_every_transcript_is_restored_byte_for_byte(kept: tuple[Home, dict[Path, bytes]]) -> None:
    home, sources = kept
    rows = _rows(home)

    differing = [
        path.name
        for path, data in sources.items()
        if home.restored(str(rows[os.path.realpath(path)]["id"])) != data
    ]
    assert len(sources) > 50
    assert differing == []


def test_what_is_captured_is_the_size_of_the_file(kept: tuple[Home, dict[Path, bytes]]) -> None:
    home, sources = kept
    rows = _rows(home)

    wrong = {
        path.name: row
        for path, data in sources.items()
        if (row := rows[os.path.realpath(path)])["captured_bytes"] != len(data)
        or row["size_bytes"] != len(data)
    }
    assert wrong == {}


def test_verify_proves_it(kept: tuple[Home, dict[Path, bytes]]) -> None:
    home, sources = kept

    finished = home.cli("verify", "--deep", "--json")
    proof = json.loads(finished.stdout)

    assert finished.returncode == 0, [row for row in proof["sessions"] if not row["ok"]]
    assert proof["ok"]
    assert len(proof["sessions"]) == len(sources)
    for row in proof["sessions"]:
        local = row["memories"]["local"]
        ends = local["retained"] + local["dropped"] + local["pending"] + local["set_aside"]
        assert local["records"] == ends, row


def test_words_of_first_middle_and_last_messages_are_found(
    kept: tuple[Home, dict[Path, bytes]],
) -> None:
    home, sources = kept
    rows = _rows(home)
    looked_for = 0
    missed = []
    for path in sources:
        row = rows[os.path.realpath(path)]
        if not row["memories"]["local"]["retained"]:  # type: ignore[index]  # JSON of known shape
            continue
        shown = home.cli("show", str(row["id"]), "--format", "jsonl").stdout.splitlines()
        texts = [json.loads(said).get("text", "") for said in shown]
        said = [text for text in texts if WORD.search(text)]
        for text in {0: said[:1], 1: said[len(said) // 2 :][:1], 2: said[-1:]}.values():
            for words in text:
                phrase = " ".join(WORD.findall(words)[:4])
                looked_for += 1
                if not _is_found(home, phrase, row):
                    missed.append((path.name, row["id"]))
    assert looked_for > 60
    assert missed == []


def _is_found(home: Home, phrase: str, row: dict[str, object]) -> bool:
    """Whether the session has the words, or a session that it shares records with does."""
    mine = home.ask("GET", f"/v1/search?limit=50&session={row['id']}&q={quote(phrase)}")
    if mine["results"]:
        return True
    duplicates = row["memories"]["local"]["dropped"].get("duplicate", 0)  # type: ignore[index]
    everywhere = home.ask("GET", f"/v1/search?limit=50&q={quote(phrase)}")
    return bool(duplicates and everywhere["results"])
