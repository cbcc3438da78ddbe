"""Search: what people type finds what was said, and shows it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory.remembered import Local, local, note, talk
from retaind.core.recall import compose_query
from retaind.db import open_readonly
from retaind.errors import UsageError
from retaind.memory.local import erase, optimize, search
from retaind.memory.port import Filters


@pytest.fixture(name="memory")
def _memory(tmp_path: Path) -> Iterator[Local]:
    with local(tmp_path) as opened:
        yield opened


def test_all_words_must_be_in_one_message(memory: Local) -> None:
    memory.take(talk(("user", "the parser drops lines"), ("assistant", "the parser is fine")))

    assert memory.texts("parser lines") == ["the parser drops lines"]


def test_where_nothing_has_all_words_any_of_them_counts(memory: Local) -> None:
    memory.take(talk(("user", "the parser drops lines"), ("assistant", "a tailer reads")))

    assert set(memory.texts("parser tailer")) == {"the parser drops lines", "a tailer reads"}
    assert memory.texts("is the walrus") == []


@pytest.mark.parametrize(
    "query",
    ["", " ", '"', "***", "a AND", "NOT", "()", 'x" OR "y', "\0", "col:umn", "^", "-", "';--"],
)
def test_punctuation_is_no_error(memory: Local, query: str) -> None:
    memory.take(talk(("user", "plain words")))

    assert memory.search(query) == []


def test_phrases_prefixes_stems_and_diacritics_are_understood(memory: Local) -> None:
    memory.take(talk(("user", "Café tailing the files"), ("user", "files the tailing")))

    assert memory.texts('"tailing the files"') == ["Café tailing the files"]
    assert memory.texts("caf*") == memory.texts("cafe") == ["Café tailing the files"]
    assert len(memory.texts("tailed file")) == 2


def test_identifiers_and_scripts_without_spaces_are_found_by_their_parts(memory: Local) -> None:
    memory.take(talk(("user", "call parseHttpResponse"), ("user", "全文検索のテスト")))

    assert memory.texts("response") == ["call parseHttpResponse"]
    assert memory.texts("検索") == ["全文検索のテスト"]


def test_a_snippet_shows_the_words_in_their_place(memory: Local) -> None:
    said = (
        "filler words " * 40
        + "the tailers wait here for 全文検索 and parseHttp "
        + "more words " * 40
    )
    memory.take(talk(("user", said)))

    found = memory.search("tailer")[0]
    assert "the «tailers» wait" in found.snippet
    assert found.snippet.startswith("…")
    assert found.snippet.endswith("…")
    assert len(found.snippet) < 260
    assert "«検索»" in memory.search("検索")[0].snippet.replace("»«", "")
    assert "parse«Http»" in memory.search("http")[0].snippet
    assert "«parseHttp»" in memory.search("parsehttp")[0].snippet


def test_the_marks_are_the_callers_choice(memory: Local) -> None:
    memory.take(talk(("user", "one\ntwo  three")))

    shown = search(memory.reader, '"two three"', 5, Filters(), marks=("<b>", "</b>"))
    assert shown[0].snippet == "one <b>two three</b>"
    assert shown[0].text == "one\ntwo  three"


def test_a_result_says_who_said_it_where_and_when(memory: Local) -> None:
    memory.take(talk(("assistant", "the walrus"), timestamp="2026-08-01T12:00:00+02:00"))

    found = memory.search("walrus")[0]
    assert (found.role, found.session_id, found.stream) == ("assistant", "s1", "stream-s1")
    assert (found.host, found.kind, found.project) == ("claude_code", "session", "proj")
    assert found.timestamp == "2026-08-01T10:00:00.000Z"
    assert found.score > 0 or len(memory.rows("SELECT id FROM local_passage")) == 1


@pytest.mark.parametrize(
    ("filters", "sessions"),
    [
        (Filters(), {"a", "b", "c"}),
        (Filters(hosts=("codex",)), {"b"}),
        (Filters(kinds=("subagent",)), {"c"}),
        (Filters(projects=("proj",)), {"a", "c"}),
        (Filters(projects=("/home/dev",)), {"a", "c"}),
        (Filters(projects=("/home/dev/proj",)), {"a", "c"}),
        (Filters(projects=("/home/de",)), set()),
        (Filters(sessions=("a",)), {"a"}),
        (Filters(sessions=("stream-b", "c")), {"b", "c"}),
        (Filters(roles=("assistant",)), {"b"}),
        (Filters(since="2026-08-02"), {"b", "c"}),
        (Filters(until="2026-08-02"), {"a", "b"}),
        (Filters(since="2026-08-02T00:00:00Z", until="2026-08-02T23:00:00Z"), {"b"}),
        (Filters(exclude_sessions=("a", "stream-b")), {"c"}),
        (Filters(hosts=("codex", "claude_code"), roles=("user",), since="2026-08-02"), {"c"}),
    ],
)
def test_filters_narrow(memory: Local, filters: Filters, sessions: set[str]) -> None:
    memory.take(talk(("user", "walrus"), session="a", timestamp="2026-08-01T10:00:00Z"))
    memory.take(
        talk(
            ("assistant", "walrus"),
            session="b",
            timestamp="2026-08-02T10:00:00Z",
            host="codex",
            project="other",
            cwd="/srv/other",
        )
    )
    memory.take(
        talk(("user", "walrus"), session="c", timestamp="2026-08-03T10:00:00Z", kind="subagent")
    )

    assert {one.session_id for one in memory.search("walrus", filters=filters)} == sessions


def test_a_bound_that_is_no_time_is_the_users_error(memory: Local) -> None:
    memory.take(talk(("user", "walrus")))

    with pytest.raises(UsageError, match="yesterday"):
        memory.search("walrus", filters=Filters(since="yesterday"))


def test_the_better_match_comes_first_and_of_equals_the_newer(memory: Local) -> None:
    for session, day in (("new", 3), ("newest", 9), ("old", 1)):
        memory.take(talk(("user", "the walrus"), session=session, timestamp=f"2026-08-0{day}"))
    memory.take(talk(("user", "walrus walrus walrus"), session="best", timestamp="2026-07-01"))
    for n in range(20):
        memory.take(talk(("user", f"something else {n}"), session=f"x{n}"))

    found = memory.search("walrus")
    assert [one.session_id for one in found] == ["best", "newest", "new", "old"]
    assert [one.score for one in found] == sorted([one.score for one in found], reverse=True)
    assert [one.session_id for one in memory.search("walrus", limit=2)] == ["best", "newest"]


def test_a_limit_of_nothing_is_no_limit(memory: Local) -> None:
    for n in range(60):
        memory.take(talk(("user", f"walrus {n}"), session=f"s{n}"))

    assert len(memory.search("walrus", limit=0)) == len(memory.search("walrus", limit=-1)) == 60


def test_a_named_document_is_found_too(memory: Local) -> None:
    memory.retain(note("notes about the walrus"))

    found = memory.search("walrus")[0]
    assert (found.kind, found.role, found.text) == ("manual", None, "notes about the walrus")


def test_markers_of_the_form_are_neither_shown_nor_searched(memory: Local) -> None:
    memory.take(talk(("user", "the walrus")))

    assert memory.texts("walrus") == ["the walrus"]
    assert memory.texts("role") == memory.texts("end") == []


def test_search_reads_with_the_daemon_stopped(tmp_path: Path) -> None:
    with local(tmp_path) as memory:
        memory.take(talk(("user", "the walrus")))
    reader = open_readonly(tmp_path / "retaind.db")

    assert [one.text for one in search(reader, "walrus", 5, Filters())] == ["the walrus"]
    reader.close()


def test_a_stream_that_is_erased_leaves_no_word_behind(tmp_path: Path) -> None:
    with local(tmp_path) as memory:
        memory.take(talk(("user", "the walrusword parseWalrus"), ("user", "セイウチ")))
        memory.take(talk(("user", "the penguin"), session="s2"))
        erased = memory.database.write_now(lambda c: erase(c, "stream-s1"))
        memory.database.write_now(optimize)

        assert erased == 1
        assert memory.database.write_now(lambda c: erase(c, "stream-s1")) == 0
        assert memory.texts("walrusword OR parseWalrus OR セイウチ") == []
        assert memory.texts("penguin") == ["the penguin"]
        assert memory.is_sound()
        blocks = memory.rows("SELECT block FROM local_index_data")
        assert not any(b"walrusword" in bytes(row[0]) for row in blocks)  # type: ignore[call-overload]


def test_a_composed_query_is_a_question_like_any_other(memory: Local) -> None:
    memory.take(talk(("user", "the walrus sings")))
    query = compose_query("does it sing?", [("user", "about the walrus")], 800)

    assert memory.recall(query).results[0].text == "user: the walrus sings"
