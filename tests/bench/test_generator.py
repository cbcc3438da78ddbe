"""The made-up transcripts that budgets are measured on, and the meter that measures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bench.__main__ import main
from bench.corpus import write_session, write_tree

from bench import meter

MB = 1_000_000


def records(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    first, again = (write_tree(tmp_path / name, 8, MB) for name in ("first", "again"))
    assert [path.name for path in first] == [path.name for path in again]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]


def test_a_tree_has_its_files_its_folders_and_about_its_size(tmp_path: Path) -> None:
    paths = write_tree(tmp_path, 40, 40 * MB, folders=4)
    assert len(set(paths)) == 40
    assert len({path.parent for path in paths}) == 4
    sizes = [path.stat().st_size for path in paths]
    assert 32 * MB < sum(sizes) < 56 * MB
    assert max(sizes) > 5 * min(sizes)


def test_every_line_is_a_record_of_its_session_and_follows_the_one_before(tmp_path: Path) -> None:
    path, session = write_session(tmp_path, MB, "one")
    assert path.read_bytes().endswith(b"\n")
    last = None
    for record in records(path)[1:]:
        if record["type"] in {"user", "assistant"}:
            assert record["sessionId"] == session.session_id == path.stem
            assert record["parentUuid"] == last
            last = record["uuid"]


def test_all_kinds_of_records_are_there_and_tool_results_answer_calls(tmp_path: Path) -> None:
    path, _ = write_session(tmp_path, 3 * MB, "two")
    kinds, called, answered = set(), [], []
    for record in records(path):
        message = record.get("message")
        content = message["content"] if isinstance(message, dict) else []
        blocks = content if isinstance(content, list) else [{"type": "prompt"}]
        kinds |= {str(record["type"]), *(block["type"] for block in blocks)}
        called += [block["id"] for block in blocks if block["type"] == "tool_use"]
        answered += [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    assert kinds >= {"summary", "file-history-snapshot", "prompt", "thinking", "text"}
    assert called == answered


def test_a_session_goes_on_where_its_file_ends(tmp_path: Path) -> None:
    path, session = write_session(tmp_path, 100_000, "three")
    last = next(record for record in reversed(records(path)) if "uuid" in record)
    assert json.loads(session.prompt())["parentUuid"] == last["uuid"]


def test_two_sessions_share_no_uuid(tmp_path: Path) -> None:
    seen: set[object] = set()
    for seed in ("four", "five"):
        path, _ = write_session(tmp_path, 200_000, seed)
        uuids = [record["uuid"] for record in records(path) if "uuid" in record]
        assert seen.isdisjoint(uuids)
        seen.update(uuids)


linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the meter reads /proc")


def python(text: str) -> list[str]:
    return [sys.executable, "-I", "-c", text]


@linux
def test_the_meter_reads_a_command_s_time_memory_and_answer(tmp_path: Path) -> None:
    busy = (
        "import time, os\n"
        "held = b'x' * 60_000_000\n"
        "while time.process_time() < 0.2: pass\n"
        "print(os.environ['HOME'])"
    )
    cost, printed = meter.run(python(busy), meter.private_environ(tmp_path))
    assert cost.exit_code == 0
    assert 0.2 <= cost.cpu_s <= cost.wall_s + 0.05
    assert cost.peak_rss_bytes > 60_000_000
    assert printed.decode().strip() == str(tmp_path)


@linux
def test_the_meter_counts_children_and_exit_codes(tmp_path: Path) -> None:
    child = "import time\nwhile time.process_time() < 0.15: pass"
    parent = (
        f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {child!r}])\nsys.exit(3)"
    )
    cost, _ = meter.run(python(parent), meter.private_environ(tmp_path))
    assert cost.exit_code == 3
    assert cost.cpu_s >= 0.15


@linux
def test_the_meter_reads_a_running_process(tmp_path: Path) -> None:
    """It does nothing until it is told to: read a megabyte, wait twenty times, work for a moment."""
    (tmp_path / "file").write_bytes(b"x" * MB)
    work = (
        "import sys, time\n"
        "for line in sys.stdin:\n"
        "    open('file', 'rb').read()\n"
        "    for _ in range(20): time.sleep(0.001)\n"
        "    until = time.process_time() + 0.1\n"
        "    while time.process_time() < until: pass\n"
        "    print('done', flush=True)\n"
    )
    with subprocess.Popen(
        python(work), cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def tell() -> None:
            assert process.stdin is not None
            assert process.stdout is not None
            print("go", file=process.stdin, flush=True)
            assert process.stdout.readline() == "done\n"

        tell()
        before = meter.read(process.pid)
        tell()
        used = meter.read(process.pid) - before
        assert meter.peak_rss_bytes(process.pid) >= meter.rss_bytes(process.pid) > MB
        process.stdin.close()
    assert MB <= used.read_bytes < 2 * MB
    assert used.wakeups >= 20
    assert 0.1 <= used.cpu_s <= used.at_s


@linux
def test_the_meter_says_when_the_process_is_gone() -> None:
    with subprocess.Popen(python("")) as process:
        process.wait()
    with pytest.raises(ProcessLookupError):
        meter.read(process.pid)


@linux
def test_one_case_prints_its_rows_against_their_budgets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "--only", "redaction"]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.split() == ["case", "measured", "budget", "ratio"]
    assert row.startswith("redaction")
    assert ">= 100  MB/s" in row
