"""Queries: whatever people type becomes an expression that SQLite takes."""

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retaind.core.query import expression, read_query, recall_terms
from retaind.core.words import folded, index_text, spaced, unspaced


@pytest.fixture(name="index", scope="module")
def _index() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE words USING fts5(text, extra,"
        " tokenize = 'porter unicode61 remove_diacritics 2')"
    )
    yield connection
    connection.close()


def found(index: sqlite3.Connection, query: str, text: str) -> bool:
    index.execute("DELETE FROM words")
    index.execute("INSERT INTO words VALUES (?, ?)", index_text(text))
    match = read_query(query).every
    if not match:
        return False
    row = index.execute("SELECT count(*) FROM words WHERE words MATCH ?", (match,)).fetchone()
    return bool(row[0])


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("tailing files", "we tail a file"),
        ('"exact phrase"', "an exact phrase here"),
        ("pref*", "a prefix"),
        ("foo_ba*", "call foo_bar()"),
        ("foo OR bar", "only bar"),
        ("foo AND bar", "bar foo"),
        ("src/core/query.py", "open src/core/query.py now"),
        ("query.py", "open src/core/query.py now"),
        ("parse", "calls parseHttpResponse()"),
        ("response", "calls parseHTTPResponse()"),
        ("parseHTTPResponse", "calls parseHTTPResponse()"),
        ("parsehttpresponse", "calls parseHTTPResponse()"),
        ("parseHttp", "call parse_http"),
        ("全文検索", "これは全文検索です"),
        ("検索", "これは全文検索です"),
        ("索", "これは全文検索です"),
        ("で", "これは全文検索です"),
        ("검색", "전문검색입니다"),
        ("cafe", "the Café is open"),
        ("café", "the cafe is open"),
        ("naïve", "nai\u0308ve"),
        ("v1.2.3", "release v1.2.3 is out"),
        ("don't", "I don't know"),
        ("C++", "written in c"),
    ],
)
def test_a_query_finds(index: sqlite3.Connection, query: str, text: str) -> None:
    assert found(index, query, text)


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("tail missing", "we tail a file"),
        ('"phrase exact"', "an exact phrase here"),
        ("foo_bar", "foo then bar"),
        ("検文", "これは全文検索です"),
        ("pref", "a prefix"),
        ("", "anything"),
        ("*** ... !!", "anything"),
        ("本語", "日本 語"),
    ],
)
def test_a_query_does_not_find(index: sqlite3.Connection, query: str, text: str) -> None:
    assert not found(index, query, text)


@given(
    st.text(max_size=80) | st.text(st.sampled_from('"*()^:+-{}[]~ANDORNOTEX\0 語a'), max_size=60)
)
def test_no_query_is_an_error(query: str) -> None:
    index = sqlite3.connect(":memory:")
    index.execute("CREATE VIRTUAL TABLE words USING fts5(text, extra)")
    asked = read_query(query)
    expressions = [asked.every, asked.either, *map(expression, recall_terms(query))]

    for match in filter(None, expressions):
        index.execute("SELECT count(*) FROM words WHERE words MATCH ?", (match,)).fetchall()
    index.close()


def test_halves_of_surrogate_pairs_are_no_error() -> None:
    assert read_query("\ud800 word").every.endswith('"word"')


def test_a_thousand_words_are_cut_to_what_the_index_takes() -> None:
    assert read_query(" ".join(f"w{n}" for n in range(1000))).every.count("AND") < 64


def test_stop_words_count_only_where_there_is_nothing_else() -> None:
    assert read_query("what is the parser").either == '"parser"'
    assert read_query("what is it").either == '"what" OR "is" OR "it"'


def test_a_question_is_asked_by_its_telling_words() -> None:
    query = "Prior context:\n\nuser: the tailer drops lines\nassistant: I see\n\nWhy did the tailer do it?"

    assert [term.text for term in recall_terms(query)] == ["drops", "lines", "tailer"]


def test_of_many_words_those_of_the_prompt_are_kept() -> None:
    query = " ".join(f"old{n}" for n in range(100)) + "\n\nthe newest words"

    terms = [term.text for term in recall_terms(query)]
    assert len(terms) == 32
    assert terms[-2:] == ["newest", "words"]


@given(st.text(max_size=80))
def test_what_was_spaced_can_be_taken_back(text: str) -> None:
    text = text.replace("\u200b", "")

    assert unspaced(spaced(text)) == text
    assert index_text(text)[0] == text


def test_encoded_data_adds_no_words() -> None:
    assert index_text("aB3" * 40) == ("aB3" * 40, "")


def test_words_are_compared_without_case_and_diacritics() -> None:
    assert folded("ÉCOLE") == folded("ecole")
