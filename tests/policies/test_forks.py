"""Forks and copies: each record is retained once, whoever comes first, and the copy knows its parent."""

import itertools
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.process import Home, home, running_daemon
from policies.transcripts import answer, append, local, prompt, record, result, totals, write

TITLE = record("custom-title", 900, "x", customTitle="a name")


def conversation(first: int, last: int, session: str) -> list[bytes]:
    """Prompts and answers, three lines each, as a fork copies them: with a session id of its own."""
    lines: list[bytes] = []
    for number in range(first, last):
        lines += [
            prompt(number * 10, f"question {number} about copper", session),
            answer(number * 10 + 1, f"answer {number} about copper", session=session),
            prompt(number * 10 + 2, [result(f"t{number}", "output")], session),
        ]
    return lines


def shared_and_own(name: str, first: int, shared: int, own: int) -> list[bytes]:
    """A session of `shared` turns that others have, too, and `own` turns from number `first` on."""
    return [TITLE, *conversation(0, shared, name), *conversation(first, first + own, name)]


FAMILY = {
    "parent.jsonl": shared_and_own("parent", 20, 6, 3),
    "child.jsonl": shared_and_own("child", 40, 5, 2),
    "grandchild.jsonl": shared_and_own("grandchild", 60, 4, 1),
}


@pytest.fixture(name="at_once", scope="module")
def _at_once(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    with home(tmp_path_factory.mktemp("family")) as place:
        for name, lines in FAMILY.items():
            write(place, name, *lines)
        place.start()
        place.flush()
        return totals(place.sessions().values())


def test_each_record_is_retained_once(at_once: dict[str, int]) -> None:
    turns = 6 + 3 + 2 + 1
    copied = 5 + 4

    assert at_once == {
        "retained": turns * 2,
        "tool_result": turns,
        "duplicate": copied * 3,
        "transport": 3,
        "pending": 0,
    }


@pytest.mark.parametrize("order", list(itertools.permutations(FAMILY)), ids="-".join)
def test_the_order_of_files_changes_no_total(
    order: Sequence[str], at_once: dict[str, int], tmp_path: Path
) -> None:
    with running_daemon(tmp_path) as place:
        for name in order:
            write(place, name, *FAMILY[name])
            place.flush()
        rows = place.sessions()

        assert totals(rows.values()) == at_once
        first = rows[order[0]]
        assert first["parent_id"] is None, "whoever comes first owns what the others repeat"
        assert rows[order[1]]["parent_id"] == first["id"]
        assert rows[order[2]]["parent_id"] in {first["id"], rows[order[1]]["id"]}
        assert place.cli("verify", "--deep").returncode == 0


@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_however_two_copies_grow_each_record_is_retained_once(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    names = {"one": [TITLE, *conversation(0, 4, "one")], "two": [*conversation(0, 4, "two")]}
    with running_daemon(tmp_path_factory.mktemp("growing")) as place:
        while any(names.values()):
            name = data.draw(st.sampled_from([n for n, lines in names.items() if lines]))
            some = data.draw(st.integers(1, len(names[name])))
            path = place.project / f"{name}.jsonl"
            append(path, *names[name][:some])
            del names[name][:some]
            if data.draw(st.booleans()):
                place.flush()
        place.flush()

        found = totals(place.sessions().values())
        assert found.pop("transport") == 1
        assert found == {"retained": 8, "tool_result": 4, "duplicate": 12, "pending": 0}


def test_the_stream_that_owns_the_most_becomes_the_parent(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as place:
        write(place, "less.jsonl", *conversation(0, 1, "less"))
        write(place, "more.jsonl", *conversation(5, 8, "more"))
        place.flush()
        write(place, "both.jsonl", *conversation(0, 1, "both"), *conversation(5, 8, "both"))
        place.flush()
        rows = place.sessions()

        assert rows["both.jsonl"]["parent_id"] == rows["more.jsonl"]["id"]
        assert rows["less.jsonl"]["parent_id"] is rows["more.jsonl"]["parent_id"] is None


def test_two_that_own_records_of_each_other_are_no_circle(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as place:
        one = write(place, "one.jsonl", *conversation(0, 2, "one"))
        place.flush()
        two = write(place, "two.jsonl", *conversation(0, 2, "two"), *conversation(7, 8, "two"))
        place.flush()
        append(one, *conversation(7, 8, "one"))
        place.flush()
        rows = place.sessions()

        assert rows[two.name]["parent_id"] == rows[one.name]["id"]
        assert rows[one.name]["parent_id"] is None


def test_a_fork_is_not_reminded_of_what_it_was_copied_with(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as place:
        write(place, "parent.jsonl", *conversation(0, 2, "parent"))
        place.flush()
        write(place, "child.jsonl", *conversation(0, 2, "child"), *conversation(5, 6, "child"))
        place.flush()

        asked_by_child = place.json("recall", "copper question", "--session", "child")
        asked_by_nobody = place.json("recall", "copper question")
        assert asked_by_child["results"] == []
        assert {hit["session_id"] for hit in asked_by_nobody["results"]} == {"parent", "child"}


# without identities


def flat(*texts: str) -> list[bytes]:
    """Lines in which nothing tells one record from another."""
    return [
        json.dumps({"role": ("user", "assistant")[at % 2], "content": text}).encode() + b"\n"
        for at, text in enumerate(texts)
    ]


COMMON = flat(*(f"part {number} " + "of copper and tin " * 20 for number in range(8)))
PAIR = {
    "first.jsonl": [*COMMON, *flat("only in the first", "indeed")],
    "second.jsonl": [*COMMON, *flat("nowhere else", "but in the second")],
}


@pytest.mark.parametrize("order", [("first", "second"), ("second", "first"), ("", "")])
def test_a_shared_beginning_is_retained_once_where_records_have_no_identity(
    order: tuple[str, str], tmp_path: Path
) -> None:
    with home(tmp_path) as place:
        if not order[0]:
            for name, lines in PAIR.items():
                write(place, name, *lines)
        place.start()
        for name in filter(None, order):
            write(place, f"{name}.jsonl", *PAIR[f"{name}.jsonl"])
            place.flush()
        place.flush()
        rows = place.sessions()

        assert totals(rows.values()) == {"retained": 12, "duplicate": 8, "pending": 0}
        linked = [row for row in rows.values() if row["parent_id"]]
        assert len(linked) == 1
        assert place.found("nowhere") == ["second"]
        assert place.found("indeed") == ["first"]


def test_a_copy_goes_on_being_compared_as_long_as_it_is_one(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as place:
        write(place, "first.jsonl", *COMMON, *flat("only here"))
        place.flush()
        copy = write(place, "second.jsonl", *COMMON[:4])
        place.flush()
        append(copy, *COMMON[4:], *flat("from here on", "on its own"))
        place.flush()
        append(copy, *flat("only here"))
        place.flush()

        assert local(place.sessions()["second.jsonl"])["dropped"] == {"duplicate": 8}
        assert local(place.sessions()["second.jsonl"])["retained"] == 3


def test_an_edit_inside_a_copy_is_retained(tmp_path: Path) -> None:
    edited = [line.replace(b"part 5", b"tart 5") for line in COMMON]
    with running_daemon(tmp_path) as place:
        write(place, "first.jsonl", *COMMON)
        place.flush()
        write(place, "second.jsonl", *edited)
        place.flush()

        assert local(place.sessions()["second.jsonl"])["retained"] == 3
        assert place.found("tart") == ["second"]


def test_a_few_equal_words_make_no_copy(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as place:
        for name in ("first.jsonl", "second.jsonl"):
            write(place, name, *flat("hello", "Hello! What shall we do?"))
            place.flush()

        assert totals(place.sessions().values()) == {"retained": 4, "pending": 0}


def test_a_rewritten_transcript_repeats_nothing(tmp_path: Path) -> None:
    with running_daemon(tmp_path) as place:
        path = write(place, "first.jsonl", *COMMON)
        place.flush()
        replacement = place.folder / "new"
        replacement.write_bytes(b"".join([*COMMON[:6], *flat("rewritten from here")]))
        replacement.replace(path)
        place.flush()
        row = place.sessions()["first.jsonl"]

        assert row["generation"] == 2
        assert local(row)["dropped"] == {"duplicate": 6}
        assert row["parent_id"] is None


# sub-agents


def test_a_flat_sub_agent_belongs_to_the_session_that_its_records_name(tmp_path: Path) -> None:
    working = [
        answer(70, "looking into copper", session="boss", isSidechain=True, agentId="a1"),
        answer(71, "found copper", session="boss", isSidechain=True, agentId="a1"),
    ]
    with running_daemon(tmp_path) as place:
        early = write(place, "agent-0a1b2c3d.jsonl")
        place.flush()
        append(early, *working)
        write(place, "boss.jsonl", prompt(1, "look into copper", "boss"))
        nested = place.project / "boss" / "subagents"
        write(place, "agent-9.jsonl", answer(80, "copper", session="boss"), folder=nested)
        place.flush()
        rows = place.sessions()

        assert rows["agent-0a1b2c3d.jsonl"]["owner_session"] == "boss"
        assert rows["agent-0a1b2c3d.jsonl"]["kind"] == "subagent"
        assert rows["agent-9.jsonl"]["owner_session"] == "boss"
        assert rows["boss.jsonl"]["owner_session"] is None
        assert local(rows["agent-0a1b2c3d.jsonl"])["retained"] == 2
        recalled = place.json("recall", "copper", "--session", "boss")
        assert recalled["results"] == [], "its own sub-agents tell a session nothing new"


def test_real_forks_and_resumed_copies_are_retained_once(tmp_path: Path) -> None:
    corpus = Path(__file__).resolve().parents[3] / "shared" / "corpus" / "produced-claude-code"
    if not corpus.is_dir():
        pytest.skip("the corpus of real transcripts is not on this machine")
    (copies,) = (corpus / "co1" / "projects").iterdir()
    found = []
    for turn in (1, -1):
        with running_daemon(tmp_path / str(turn)) as place:
            for path in sorted(copies.glob("*.jsonl"))[::turn]:
                shutil.copyfile(path, place.project / path.name)
                place.flush()
            found.append(totals(place.sessions().values()))
            assert _uuids_retained(place) == _uuids_written(copies)

    assert found[0] == found[1]
    assert found[0]["duplicate"] > 0


def _uuids_written(folder: Path) -> int:
    """How many different records of the conversation there are."""
    lines = [line for path in folder.glob("*.jsonl") for line in path.read_bytes().splitlines()]
    records = [json.loads(line) for line in lines]
    kept = [r for r in records if r["type"] in {"user", "assistant"} and not r.get("isMeta")]
    return len({r["uuid"] for r in kept if not r["isSidechain"]})


def _uuids_retained(place: Home) -> int:
    """How many records of the conversation were decided on, each once."""
    import sqlite3

    database = sqlite3.connect(f"file:{place.state / 'retaind.db'}?mode=ro", uri=True)
    try:
        return int(database.execute("SELECT count(*) FROM record_owner").fetchone()[0])
    finally:
        database.close()
