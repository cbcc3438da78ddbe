"""Real transcripts: every record is accounted for, and turns are what people said."""

import csv
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.process import Home, home
from policies.transcripts import local, settings, totals

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpus"
MACHINES = ("<", "[Request interrupted", "Caveat:")


@pytest.fixture(name="place", scope="module")
def _place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home with each real transcript of Claude Code in a project folder of its own."""
    if not CORPUS.is_dir():
        pytest.skip("the corpus of real transcripts is not on this machine")
    with home(tmp_path_factory.mktemp("real")) as place:
        settings(place, "recall.max_query_chars = 0")
        with (CORPUS / "MANIFEST.tsv").open(encoding="utf-8") as manifest:
            rows = list(csv.DictReader(manifest, delimiter="\t", quoting=csv.QUOTE_NONE))
        for number, row in enumerate(rows):
            name = row["path"].rpartition("/")[2]
            if row["host"] == "claude-code" and name.endswith(".jsonl") and "history" not in name:
                target = place.claude / "projects" / f"-real-{number}" / name
                target.parent.mkdir()
                shutil.copyfile(CORPUS / row["path"], target)
        place.start()
        place.flush()
        yield place


@pytest.fixture(name="rows", scope="module")
def _rows(place: Home) -> Mapping[str, Any]:
    return {row["id"]: row for row in place.ask("GET", "/v1/sessions")}


def test_each_record_ends_in_exactly_one_state(place: Home, rows: Mapping[str, Any]) -> None:
    proof = place.json("verify")

    assert proof["ok"]
    assert len(proof["sessions"]) == len(rows) > 50
    for one in proof["sessions"]:
        account, verified = local(rows[one["id"]]), one["memories"]["local"]
        ends = account["retained"] + account["pending"] + account["set_aside"]
        assert verified["records"] == ends + sum(account["dropped"].values()), one
        assert verified["dropped"] == sum(account["dropped"].values())
        assert verified["duplicate"] == account["dropped"].get("duplicate", 0)
        assert min([*account["dropped"].values(), account["retained"]]) >= 0
        assert account["pending_bytes"] == 0


def test_the_sums_are_those_of_status(place: Home, rows: Mapping[str, Any]) -> None:
    summed = place.status()["memories"]["local"]
    found = totals(rows.values())

    assert summed["retained"] == found.pop("retained") > 500
    assert summed["pending"] + summed["set_aside"] == found.pop("pending") == 0
    assert summed["dropped"] == found


def test_lines_of_each_kind_are_dropped_for_the_reason_that_fits(rows: Mapping[str, Any]) -> None:
    for row in rows.values():
        records = [record for line in _lines(row) if (record := _record(line)) is not None]
        if len(records) != len(_lines(row)) or row["kind"] != "session":
            continue  # broken lines may hold several records, or none
        dropped = local(row)["dropped"]
        meta = [r for r in records if r.get("isMeta") and r["type"] in {"user", "assistant"}]
        summaries = [r for r in records if r.get("isCompactSummary") and not r.get("isMeta")]
        assert dropped.get("compact_summary", 0) == len(summaries), row["path"]
        assert dropped.get("meta", 0) >= len(meta), row["path"]
        queued = [r for r in records if r["type"] in {"queue-operation", "progress", "summary"}]
        assert dropped.get("transport", 0) >= len(queued), row["path"]


def _lines(row: Any) -> list[bytes]:
    return [line for line in Path(row["path"]).read_bytes().split(b"\n") if line.strip()]


def _record(line: bytes) -> Any:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) and "type" in found else None


def _prompts(row: Any) -> list[str]:
    """Return what people typed, as told by the record's own flags and the host's own markup."""
    found = []
    for record in map(_record, _lines(row)):
        if (
            record is None
            or record["type"] != "user"
            or not isinstance(record.get("message"), dict)
        ):
            continue
        if record.get("isMeta") or record.get("isCompactSummary") or record.get("isSidechain"):
            continue
        content = record["message"].get("content")
        texts = [content] if isinstance(content, str) else [
            block["text"] for block in content or [] if block.get("type") == "text"
        ]  # fmt: skip
        spoken = "\n".join(text.strip() for text in texts if text.strip())
        if spoken and not spoken.startswith(MACHINES):
            found.append(spoken)
    return found


def _results_share(row: Any) -> float:
    users = [r for r in map(_record, _lines(row)) if r is not None and r["type"] == "user"]
    results = sum(b'"tool_result"' in json.dumps(r).encode() for r in users)
    return results / max(len(users), 1)


def test_three_turns_are_three_prompts_also_where_nearly_all_is_results(
    place: Home, rows: Mapping[str, Any]
) -> None:
    busy = [
        row
        for row in rows.values()
        if row["kind"] == "session" and _results_share(row) > 0.9 and len(_prompts(row)) > 3
    ]
    assert len(busy) >= 2, "sessions of which more than 90 % of users' records are results"
    for row in busy:
        asked = {"prompt": "what next?", "session_id": row["id"], "turns": 3}
        query = place.ask("POST", "/v1/recall", asked)["query"]
        prompts = _prompts(row)

        said = [
            line.removeprefix("user: ") for line in query.splitlines() if line.startswith("user: ")
        ]
        assert [line[:40] for line in said] == [
            text.strip().splitlines()[0].strip()[:40] for text in prompts[-3:]
        ], row["path"]
