"""Named documents: replaced and appended to, whatever is stored already, and against a model."""

import tempfile
from pathlib import Path

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.remembered import NOW, Local, local, note, talk
from retaind.core.chunks import separator
from retaind.errors import RetentionError
from retaind.memory.local import Limits
from retaind.memory.local.additions import fold
from retaind.memory.local.frames import Place, read
from retaind.memory.local.named import plan

TINY = Limits(chunk_chars=40, batch_tokens=25)
WORDS = st.sampled_from(["ant", "bee", "cat", "dog", "eel", "fox", "gnu"])
LINES = st.lists(st.lists(WORDS, min_size=1, max_size=12), min_size=1, max_size=8)
BODIES = LINES.map(lambda lines: "\n".join(" ".join(line) for line in lines))
CHANGES = st.lists(st.tuples(st.booleans(), BODIES), min_size=1, max_size=6)


def whole_text(memory: Local, name: str = "note") -> str:
    rows = memory.rows("SELECT id, chars FROM local_document WHERE name = ?", name)
    ((id_, chars),) = rows
    return read(memory.reader, Place(int(str(id_)), 0, int(str(chars))))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(CHANGES)
def test_a_document_is_what_was_written_to_it_and_is_found_by_its_words(
    changes: list[tuple[bool, str]],
) -> None:
    expected = ""
    with tempfile.TemporaryDirectory() as folder, local(Path(folder), TINY) as memory:
        for append, body in changes:
            between = separator(expected[-80:], body) if append else ""
            expected = expected + between + body if append else body
            memory.retain(note(body, append=append))

        assert whole_text(memory) == expected
        assert memory.is_sound()
        found = " ".join(memory.texts("ant OR bee OR cat OR dog OR eel OR fox OR gnu"))
        assert set(found.split()) == set(expected.split())
        chunks = memory.rows("SELECT chunks FROM local_document")
        assert chunks == memory.rows("SELECT count(*) FROM local_chunk")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(BODIES, BODIES)
def test_in_one_transaction_or_in_many_the_rows_are_the_same(first: str, second: str) -> None:
    sql = (
        "SELECT c.start, c.hash FROM local_chunk c ORDER BY c.start",
        "SELECT start, chars, role FROM local_passage ORDER BY start",
    )
    seen = []
    for together in (False, True):
        with tempfile.TemporaryDirectory() as folder, local(Path(folder), TINY) as memory:
            results = [
                (memory.take if together else memory.retain)(item)
                for item in (note(first), note(second), note(first, append=True))
            ]
            rows = [memory.rows(one) for one in sql]
            seen.append((rows, [one.processed_content_tokens for one in results]))

    assert seen[0] == seen[1]


def test_messages_in_a_named_document_keep_their_speakers(tmp_path: Path) -> None:
    with local(tmp_path) as memory:
        memory.retain(note(talk(("user", "a walrus"), ("assistant", "an answer")).content))
        memory.retain(note('{"role":"user","text":"one penguin"}', "lines"))
        memory.retain(note('{"role":"tool","text":"two penguins"}', "lines", append=True))

        assert [one.role for one in memory.search("answer")] == ["assistant"]
        assert {(one.role, one.text) for one in memory.search("penguin")} == {
            ("user", "one penguin"),
            ("tool", "two penguins"),
        }


def test_several_items_for_one_document_are_one_pass(tmp_path: Path) -> None:
    with local(tmp_path) as memory:
        result = memory.retain(
            note("gone", append=True), note("one"), note("two", append=True), note("x", "other")
        )

        assert result.document_ids == ("note", "other")
        assert whole_text(memory) == "one\ntwo"
        assert (result.chunks, result.chunks_extracted) == (2, 2)


def test_text_that_cannot_be_stored_is_mended(tmp_path: Path) -> None:
    with local(tmp_path) as memory:
        memory.retain(note("nul \0 and half \ud800 a pair"))

        assert memory.texts("pair") == ["nul  and half \ufffd a pair"]


@pytest.mark.parametrize("begun", [0, 1])
@pytest.mark.parametrize("append", [True, False], ids=["append", "replace"])
def test_an_execution_that_another_one_overtakes_is_told(
    tmp_path: Path, *, append: bool, begun: int
) -> None:
    body = "\n".join(f"line {n} with words" for n in range(40))
    with local(tmp_path, TINY) as memory:
        memory.retain(note("the first words"))
        write = memory.database.write_now
        work = write(lambda c: plan(c, fold([note(body, append=append)])[0], TINY))
        for _ in range(begun):
            write(lambda c: work.step(c, NOW))
        memory.take(note("something else"))

        with pytest.raises(RetentionError, match="retain it again"):
            write(lambda c: work.step(c, NOW))
        assert whole_text(memory) == "something else"
        assert memory.is_sound()


def test_forgetting_a_named_document_leaves_the_others(tmp_path: Path) -> None:
    with local(tmp_path) as memory:
        memory.retain(note("the walrus", "a"), note("a walrus", "b"))

        assert anyio.run(memory.memory.forget, ["a"]) == 1
        assert memory.texts("walrus") == ["a walrus"]
        assert memory.is_sound()


@pytest.mark.parametrize("update", ["append", "replace"])
def test_an_empty_body_is_an_empty_document(tmp_path: Path, update: str) -> None:
    with local(tmp_path) as memory:
        memory.retain(note("", append=update == "append"))
        memory.retain(note("now words", append=True))

        assert whole_text(memory) == "now words"
