"""Sessions as chains of documents: bounded, only ever appended to, whole."""

import json
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.remembered import local, note, paragraph, talk
from retaind.memory.local import Limits, LocalMemory
from retaind.memory.local.frames import Place, read
from retaind.memory.port import Memory

SMALL = Limits(chunk_chars=200, batch_tokens=300)


def test_the_local_memory_is_a_memory(tmp_path: Path) -> None:
    with local(tmp_path) as opened:
        memory: Memory = opened.memory

        assert isinstance(memory, LocalMemory)
        assert memory.name == "local"


def test_a_session_is_a_chain_of_bounded_documents_of_which_the_last_is_open(
    tmp_path: Path,
) -> None:
    with local(tmp_path, SMALL) as memory:
        for n in range(20):
            memory.take(talk(("user", paragraph(f"m{n}")[:300]), start=n * 100))

        rows = memory.rows("SELECT name, state, tokens FROM local_document ORDER BY n")
        assert [row[0] for row in rows] == [f"s1#{n}" for n in range(len(rows))]
        assert [row[1] for row in rows] == ["closed"] * (len(rows) - 1) + ["open"]
        assert all(int(str(row[2])) <= 300 for row in rows)
        assert len(rows) > 4
        assert memory.rows("SELECT start, end FROM local_span WHERE document_id = 1")


def test_closed_documents_never_change(tmp_path: Path) -> None:
    with local(tmp_path, SMALL) as memory:
        memory.take(talk(*[("user", paragraph(f"m{n}")[:300]) for n in range(6)]))
        sql = "SELECT * FROM local_document WHERE state = 'closed'"
        closed = memory.rows(sql)
        memory.take(talk(("user", "short"), start=100))

        assert closed
        assert memory.rows(sql)[: len(closed)] == closed


def test_sessions_of_one_id_in_two_folders_share_nothing(tmp_path: Path) -> None:
    with local(tmp_path) as memory:
        memory.take(
            talk(("user", "the walrus"), stream="x"), talk(("user", "a walrus"), stream="y")
        )
        memory.take(talk(("assistant", "more of x"), stream="x"))

        rows = memory.rows("SELECT name, chunks FROM local_document ORDER BY id")
        assert rows == [("s1#0", 1), ("s1#0", 1)]
        assert {one.stream for one in memory.search("walrus")} == {"x", "y"}


def test_another_generation_begins_another_document(tmp_path: Path) -> None:
    with local(tmp_path) as memory:
        memory.take(talk(("user", "before the rewrite")))
        memory.take(talk(("user", "after it"), generation=1))

        rows = memory.rows("SELECT name, generation, state FROM local_document ORDER BY n")
        assert rows == [("s1#0", 0, "closed"), ("s1#1", 1, "open")]


def test_a_message_larger_than_a_document_is_spread_over_several_and_found(tmp_path: Path) -> None:
    with local(tmp_path, SMALL) as memory:
        memory.take(talk(("user", paragraph("one") + " " + paragraph("two") + " lastword")))

        assert len(memory.rows("SELECT id FROM local_document")) == 2
        assert memory.texts("lastword")
        assert memory.texts("one000")
        assert memory.is_sound()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(st.integers(1, 60), min_size=1, max_size=4), min_size=1, max_size=12))
def test_every_message_is_stored_whole_and_found_however_it_arrives(
    windows: list[list[int]],
) -> None:
    with tempfile.TemporaryDirectory() as folder, local(Path(folder), SMALL) as memory:
        contents = []
        for at, window in enumerate(windows):
            said = [("user", " ".join([f"w{at}x{n}"] * size)) for n, size in enumerate(window)]
            item = talk(*said, start=at * 100)
            memory.take(item)
            contents.append(item.content)

        documents = memory.rows("SELECT id, chars FROM local_document ORDER BY n")
        text = "".join(
            read(memory.reader, Place(int(str(id_)), 0, int(str(n)))) for id_, n in documents
        )
        assert text.replace("\n", "") == "".join(contents).replace("\n", "")
        assert memory.is_sound()
        for at, window in enumerate(windows):
            for n in range(len(window)):
                assert memory.texts(f"w{at}x{n}")


def test_an_addition_reads_and_writes_a_part_of_the_session_only(tmp_path: Path) -> None:
    with local(tmp_path) as memory:
        memory.take(talk(*[("user", paragraph(f"m{n}")) for n in range(200)]))
        before = memory.rows("SELECT id, data FROM local_frame")
        memory.take(talk(("assistant", "one more line"), start=100))

        kept = memory.rows("SELECT id, data FROM local_frame")
        assert kept[: len(before)] == before
        assert len(kept) == len(before) + 1


def test_small_additions_are_compressed_together(tmp_path: Path) -> None:
    with local(tmp_path) as memory:
        for n in range(80):
            memory.take(talk(("user", f"line {n} says what all lines say " * 3), start=n * 100))

        frames = memory.rows("SELECT packed, chars, length(data) FROM local_frame ORDER BY start")
        plain = [row for row in frames if not row[0]]
        assert sum(int(str(row[1])) for row in plain) < 4096
        assert len(frames) - len(plain) == 2
        assert all(int(str(row[2])) < int(str(row[1])) / 4 for row in frames if row[0])


def test_json_messages_are_searched_by_what_they_say(tmp_path: Path) -> None:
    body = [{"role": "user", "content": [{"type": "text", "text": "first\nwalrus " + "x " * 900}]}]
    with local(tmp_path) as memory:
        item = talk(("user", "-"))
        content = json.dumps(body)
        part = item.parts[0]
        memory.take(
            type(item)(
                item.source,
                content,
                item.range_,
                (type(part)("user", 1, len(content) - 1, part.timestamp, 0),),
            )
        )

        assert memory.texts("walrus")[0].startswith("first\nwalrus x")
        assert not memory.texts("content")


def test_the_result_is_a_row_of_ids_and_sizes_without_content(tmp_path: Path) -> None:
    with local(tmp_path) as memory:
        result = memory.take(talk(("user", "the walrus"), start=300, context="claude-code"))

        stored = json.loads(str(memory.rows("SELECT body FROM result")[0][0]))
        assert stored["execution_id"] == result.execution_id == "execution"
        assert (stored["range"], stored["session_id"]) == ([300, 400], "s1")
        assert (stored["bank"], stored["tokenizer"]) == ("local", "bytes/4")
        assert "walrus" not in json.dumps(stored)


def test_labels_are_those_of_the_newest_addition(tmp_path: Path) -> None:
    with local(tmp_path) as memory:
        memory.retain(note("one", context="old"))
        memory.retain(note("two", append=True, context="new"))

        assert memory.rows("SELECT context FROM local_document") == [("new",)]
