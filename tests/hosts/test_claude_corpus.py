"""Real transcripts of Claude Code 1.0 to 2.1: nothing raises, and little is unknown."""

from collections import Counter
from pathlib import Path

import pytest

from hosts.claude_lines import HOST
from retaind.core.conversation import conversational_text, starts_turn
from retaind.core.lines import frame
from retaind.core.policy import RetainPolicy
from retaind.core.records import Fate, Record

CORPUS = next(
    (
        folder / "shared" / "corpus"
        for folder in Path(__file__).resolve().parents[2:]
        if (folder / "shared" / "corpus").is_dir()
    ),
    None,
)
needs_corpus = pytest.mark.skipif(
    CORPUS is None, reason="no corpus of transcripts beside the checkout"
)
POLICY = RetainPolicy()

# Seen one by one: prompt history, fixtures that hold junk on purpose or a made-up attachment, a record
# cut off at a file's end, and a torn line that a later record was written behind.
UNKNOWN = {("", "unknown"): 15, ("attachment/text", "unknown"): 2}
CORRUPT = {("", "not_object"): 3, ("", "truncated"): 3}


def transcripts() -> list[Path]:
    assert CORPUS is not None
    rows = (row.split("\t") for row in (CORPUS / "MANIFEST.tsv").read_text().splitlines()[1:])
    return [
        CORPUS / row[0] for row in rows if row[4] == "claude-code" and row[0].endswith(".jsonl")
    ]


def records_of(path: Path) -> list[Record]:
    data = path.read_bytes()
    lines, rest = frame(data, 0)
    records = [record for start, line in lines for record in HOST.parse(start, line)]
    return records + list(HOST.parse(rest, data[rest:]))


@needs_corpus
def test_every_record_of_the_corpus_is_read_and_few_are_unknown() -> None:
    records = [record for path in transcripts() for record in records_of(path)]
    unread = {
        fate: Counter((r.kind, r.reason) for r in records if r.fate is fate)
        for fate in (Fate.UNKNOWN, Fate.CORRUPT)
    }

    assert len(records) > 3000
    assert unread == {Fate.UNKNOWN: UNKNOWN, Fate.CORRUPT: CORRUPT}


@needs_corpus
def test_every_file_of_the_corpus_is_covered() -> None:
    for path in transcripts():
        at = 0
        for record in records_of(path):
            assert record.start == at
            at = record.end
        assert at in {path.stat().st_size, path.stat().st_size + 1}


@needs_corpus
def test_what_is_said_in_the_corpus_can_be_stored() -> None:
    for path in transcripts():
        for record in records_of(path):
            text = conversational_text(record, POLICY)
            assert text.encode().decode() == text
            assert "<system-reminder>" not in text
            if starts_turn(record, POLICY):
                assert text


@needs_corpus
def test_a_copied_history_has_the_keys_of_its_original() -> None:
    """Claude Code 1.0 copies the history on resume and turns strings into lists of blocks."""
    assert CORPUS is not None
    folder = next((CORPUS / "produced-claude-code" / "co1" / "projects").iterdir())
    keys: dict[str, set[int]] = {}
    seen: Counter[str] = Counter()
    for path in folder.glob("*.jsonl"):
        for record in records_of(path):
            if record.key:
                keys.setdefault(record.uuid, set()).add(record.key)
                seen[record.uuid] += 1

    assert max(seen.values()) > 1
    assert all(len(found) == 1 for found in keys.values())


@needs_corpus
def test_sessions_of_the_corpus_tell_their_folder_early() -> None:
    folders = CORPUS / "produced-claude-code" if CORPUS else Path()
    for path in sorted(folders.glob("c*/projects/*/*.jsonl")):
        peek = HOST.peek(path.read_bytes()[: 64 * 1024])
        assert peek.decided or path.stat().st_size == 0
        assert not peek.memory_tool
