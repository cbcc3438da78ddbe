"""What the real engine reports (R3): small documents, those of many batches, and after being killed."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from memory.remembered import Local, local, note, paragraph, paragraphs, talk
from retaind.core.chunks import chunk_ends, pieces
from retaind.core.metering import tokens
from retaind.memory.local import Limits

NAMES = ["alpha", "bravo", "charly", "delta", "echo", "fox"]
BODY = paragraphs(NAMES)
LARGE = Limits(batch_tokens=500)
SIZES = pytest.mark.parametrize("limits", [Limits(), LARGE], ids=["small", "oversized"])


def spent(text: str, before: str = "", context: str = "") -> int:
    """Return the tokens of the chunks of a text that are no chunks of another one."""
    known = set(pieces(before, chunk_ends(before)))
    fresh = [one for one in pieces(text, chunk_ends(text)) if one not in known]
    return sum(tokens(one) + tokens(context) for one in fresh)


def reported(memory: Local, text: str, *, append: bool = False, context: str = "") -> int | None:
    result = memory.retain(note(text, append=append, context=context))
    assert memory.is_sound()
    return result.processed_content_tokens


@SIZES
def test_a_first_retain_has_no_signal(tmp_path: Path, limits: Limits) -> None:
    with local(tmp_path, limits) as memory:
        assert reported(memory, BODY) is None


@SIZES
def test_an_unchanged_body_costs_nothing(tmp_path: Path, limits: Limits) -> None:
    with local(tmp_path, limits) as memory:
        reported(memory, BODY)

        result = memory.retain(note(BODY))
        assert result.processed_content_tokens == 0
        assert (result.chunks, result.chunks_extracted) == (6, 0)


@SIZES
@pytest.mark.parametrize("context", ["", "claude-code"])
def test_an_edit_costs_the_chunks_that_it_changes(
    tmp_path: Path, limits: Limits, context: str
) -> None:
    edited = BODY.replace(paragraph("charly"), paragraph("changd"))
    with local(tmp_path, limits) as memory:
        reported(memory, BODY, context=context)

        assert reported(memory, edited, context=context) == spent(edited, BODY, context)
        assert 0 < spent(edited, BODY, context) < tokens(edited) / 4
        assert memory.texts("changd001")
        assert not memory.texts("charly001")


@SIZES
def test_what_is_not_extracted_is_not_indexed_again(tmp_path: Path, limits: Limits) -> None:
    edited = BODY.replace(paragraph("charly"), paragraph("changd"))
    with local(tmp_path, limits) as memory:
        reported(memory, BODY)
        before = {row[0] for row in memory.rows("SELECT id FROM local_passage")}
        reported(memory, edited)

        after = {row[0] for row in memory.rows("SELECT id FROM local_passage")}
        assert len(before) == len(after) == 6
        assert len(before & after) == 5


@SIZES
def test_an_edit_that_shifts_all_boundaries_costs_all_behind_it(
    tmp_path: Path, limits: Limits
) -> None:
    body = " ".join(f"{n:06d}" for n in range(900))
    shifted = body[:1500] + "inserted " + body[1500:]
    with local(tmp_path, limits) as memory:
        reported(memory, body)

        report = reported(memory, shifted)
        assert report == spent(shifted, body)
        assert tokens(shifted) * 0.7 < report < tokens(shifted)


@SIZES
def test_a_body_with_nothing_in_common_has_no_signal(tmp_path: Path, limits: Limits) -> None:
    with local(tmp_path, limits) as memory:
        reported(memory, BODY)

        assert reported(memory, paragraphs(["other", "words", "here", "now", "then"])) is None
        assert not memory.texts("alpha001")


@SIZES
@pytest.mark.parametrize("append", [True, False], ids=["appended", "sent again whole"])
def test_a_tail_costs_itself_and_the_last_chunk(
    tmp_path: Path, limits: Limits, *, append: bool
) -> None:
    tail = "\n" + paragraphs(["tail", "tell"])
    whole = BODY + "\n" + tail if append else BODY + tail
    with local(tmp_path, limits) as memory:
        reported(memory, BODY)

        report = reported(memory, tail if append else whole, append=append)
        assert report is not None
        assert tokens(tail) <= report <= tokens(tail) + 260
        assert memory.texts("alpha001 alpha002")
        assert memory.texts("tell001")


def test_a_single_chunk_that_grows_has_no_signal_while_it_is_small(tmp_path: Path) -> None:
    with local(tmp_path) as memory:
        reported(memory, "one short line")

        assert reported(memory, "and another", append=True) is None


@pytest.mark.parametrize("append", [True, False], ids=["appended", "sent again whole"])
def test_a_single_chunk_that_grows_beyond_a_batch_costs_all_of_it(
    tmp_path: Path, *, append: bool
) -> None:
    first = "one short line"
    with local(tmp_path, LARGE) as memory:
        reported(memory, first)

        report = reported(memory, BODY if append else f"{first}\n{BODY}", append=append)
        assert report == spent(f"{first}\n{BODY}")


@SIZES
def test_removing_costs_nothing(tmp_path: Path, limits: Limits) -> None:
    with local(tmp_path, limits) as memory:
        reported(memory, BODY)

        assert reported(memory, paragraphs(NAMES[:4])) == 0
        assert not memory.texts("fox001")
        assert reported(memory, "") == 0
        assert memory.texts("alpha001") == []


def test_a_call_with_one_new_document_has_no_signal(tmp_path: Path) -> None:
    with local(tmp_path) as memory:
        memory.retain(note(BODY, "known"))

        both = memory.retain(note(BODY, "known"), note("new words", "new"))
        assert both.processed_content_tokens is None
        assert memory.retain(note(BODY, "known"), note("new words", "new")) != both
        again = memory.retain(note(BODY, "known"), note("new words", "new"))
        assert again.processed_content_tokens == 0


def test_nothing_to_retain_costs_nothing(tmp_path: Path) -> None:
    with local(tmp_path) as memory:
        assert memory.retain().processed_content_tokens == 0
        assert memory.take(talk()).processed_content_tokens == 0


def test_an_addition_to_a_session_costs_itself_and_the_chunk_that_it_joins(tmp_path: Path) -> None:
    with local(tmp_path) as memory:
        half = paragraph("half")[:500]
        memory.take(talk(*[("user", paragraph(name)) for name in NAMES], ("user", half)))
        joined = talk(("user", half), ("assistant", "an answer"))

        result = memory.take(talk(("assistant", "an answer"), start=100, context="claude-code"))
        assert result.processed_content_tokens == tokens("\n\n" + joined.content) + 3
        assert (result.chunks, result.chunks_extracted) == (7, 1)
        assert memory.take(talk(("user", paragraph("next")), start=200)).chunks_extracted == 1


def test_a_growing_session_is_extracted_less_than_twice(tmp_path: Path) -> None:
    extracted = appended = 0
    with local(tmp_path) as memory:
        for n in range(1000):
            item = talk(("user", paragraph(f"m{n}x")[: 400 + n % 90]), start=n * 100)
            report = memory.take(item).processed_content_tokens
            appended += tokens(item.content)
            extracted += tokens(item.content) if report is None else report

        assert extracted <= 2 * appended
        assert len(memory.rows("SELECT id FROM local_document")) > 5
        assert memory.is_sound()


KILLED = """
import sys, anyio
from pathlib import Path
from memory.remembered import Local, note
from retaind.memory.local import Limits
memory = Local(Path(sys.argv[1]), Limits(batch_tokens=500))
item = note(Path(sys.argv[2]).read_text(), append=sys.argv[3] == "append")
memory.retain(item)
"""


def retain_and_be_killed(folder: Path, text: str, at: str, update: str = "replace") -> None:
    body = folder / "body.txt"
    body.write_text(text)
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, str(folder), str(body), update],
        env={
            **os.environ,
            "RETAIND_FAILPOINT": at,
            "PYTHONPATH": str(Path(__file__).parent.parent),
        },
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL


def test_killed_before_the_first_batch_it_is_a_first_retain(tmp_path: Path) -> None:
    retain_and_be_killed(tmp_path, BODY, "local.planned")

    with local(tmp_path, LARGE) as memory:
        assert reported(memory, BODY) is None


@pytest.mark.parametrize("batches", [1, 2])
def test_killed_between_batches_only_the_rest_is_extracted(tmp_path: Path, batches: int) -> None:
    retain_and_be_killed(tmp_path, BODY, f"local.batch:{batches}")

    with local(tmp_path, LARGE) as memory:
        committed = "".join(pieces(BODY, chunk_ends(BODY))[: 2 * batches])
        assert reported(memory, BODY) == spent(BODY, committed)
        assert all(memory.texts(f"{name}001") for name in NAMES)
        assert len(memory.rows("SELECT id FROM local_document")) == 1


def test_what_was_committed_is_not_written_again(tmp_path: Path) -> None:
    retain_and_be_killed(tmp_path, BODY, "local.batch:2")

    with local(tmp_path, LARGE) as memory:
        begun = memory.rows("SELECT id FROM local_document")
        passages = memory.rows("SELECT id, start FROM local_passage ORDER BY id")
        reported(memory, BODY)
        assert len(passages) == 4
        assert memory.rows("SELECT id FROM local_document") == begun
        assert memory.rows("SELECT id, start FROM local_passage ORDER BY id")[:4] == passages


def test_killed_behind_the_last_batch_nothing_is_extracted(tmp_path: Path) -> None:
    retain_and_be_killed(tmp_path, BODY, "local.batches_done")

    with local(tmp_path, LARGE) as memory:
        assert reported(memory, BODY) == 0
        assert reported(memory, BODY) == 0


def test_a_replacement_that_was_killed_goes_on(tmp_path: Path) -> None:
    edited = BODY.replace(paragraph("bravo"), paragraph("brave")).replace(
        paragraph("fox"), paragraph("fix")
    )
    with local(tmp_path, LARGE) as memory:
        reported(memory, BODY)
    retain_and_be_killed(tmp_path, edited, "local.batch:1")

    with local(tmp_path, LARGE) as memory:
        assert reported(memory, edited) == tokens("\n\n" + paragraph("fix"))
        assert not memory.texts("bravo001")
        assert not memory.texts("fox001")
        assert all(memory.texts(word) for word in ("fix001", "brave001", "alpha001"))


def test_a_replacement_that_was_killed_gives_way_to_another_body(tmp_path: Path) -> None:
    edited = BODY.replace(paragraph("bravo"), paragraph("brave"))
    with local(tmp_path, LARGE) as memory:
        reported(memory, BODY)
    retain_and_be_killed(tmp_path, edited, "local.batch:2")

    with local(tmp_path, LARGE) as memory:
        assert reported(memory, BODY) == 0
        assert memory.texts("bravo001")
        assert not memory.texts("brave001")
        assert len(memory.rows("SELECT id FROM local_document")) == 1


@pytest.mark.parametrize("batches", [1, 2])
def test_an_addition_that_was_killed_is_not_appended_twice(tmp_path: Path, batches: int) -> None:
    tail = paragraphs(["tail", "tell", "till", "toll", "tull"])
    with local(tmp_path, LARGE) as memory:
        reported(memory, paragraphs(NAMES[:3]))
    retain_and_be_killed(tmp_path, tail, f"local.batch:{batches}", "append")

    with local(tmp_path, LARGE) as memory:
        report = reported(memory, tail, append=True)
        assert report is not None
        assert 0 < report < tokens(tail)
        whole = paragraphs(NAMES[:3]) + "\n" + tail
        assert memory.rows("SELECT chars FROM local_document") == [(len(whole),)]
        assert len(memory.texts("tail001")) == len(memory.texts("tull001")) == 1
        assert reported(memory, whole) == 0


def test_an_addition_behind_a_killed_replacement_keeps_the_text_in_force(tmp_path: Path) -> None:
    with local(tmp_path, LARGE) as memory:
        reported(memory, BODY)
    edited = BODY.replace(paragraph("echo"), paragraph("etude"))
    retain_and_be_killed(tmp_path, edited, "local.batch:1")

    with local(tmp_path, LARGE) as memory:
        reported(memory, "appended words", append=True)
        assert all(memory.texts(f"{name}001") for name in NAMES)
        assert memory.texts("appended")
        assert not memory.texts("etude001")
