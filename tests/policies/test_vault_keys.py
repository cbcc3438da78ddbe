"""`vault.keep`: bytes are given up when the user says so, never before each memory has them."""

import asyncio
import os
from pathlib import Path
from typing import Any, Literal

import pytest

from harness.process import Home, home, wait_until
from policies.traces import VAULT, traces
from policies.transcripts import answer, append, local, prompt, settings, write
from retaind.db import Database
from retaind.runtime.pruning import Pruner

SAID = [prompt(1, "look at the copper mine"), answer(2, "The copper mine is deep.")]
HOUR_S = 3600
DAY_S = 24 * HOUR_S


def age(path: Path, seconds: float, newest: float) -> None:
    """Let a file look as if it had been written so long before another one."""
    os.utime(path, (newest - seconds, newest - seconds))


def pruned(place: Home, name: str) -> Any:
    """Return what `verify` says of a session, once some of it is pruned."""

    def look() -> Any:
        (row,) = place.json("verify", name)["sessions"]
        return row if row["pruned_bytes"] else None

    return wait_until(look, f"{name} is pruned")


def start(place: Home, keep: str) -> dict[str, bytes]:
    """Start with an old session, an older one, and one of now."""
    settings(place, f"vault.keep = {keep}")
    contents = {}
    now = write(place, "now.jsonl", *SAID).stat().st_mtime
    for name, seconds in (("old", 2 * DAY_S), ("older", 40 * DAY_S)):
        lines = [prompt(n + 50, f"the {name} copper mine {n}", name) for n in range(3)]
        path = write(place, f"{name}.jsonl", *lines)
        contents[name] = path.read_bytes()
        age(path, seconds, now)
    place.start()
    place.flush()
    return contents


def test_what_is_older_than_so_many_days_is_given_up(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        contents = start(place, "30")
        row = pruned(place, "older")

        assert row["ok"]
        assert row["pruned_bytes"] == row["vault_bytes"] == len(contents["older"])
        assert traces(place, "older copper") != [VAULT], "the memory has it"
        assert VAULT not in traces(place, "older copper")
        assert place.restored("old") == contents["old"]
        assert place.restored("now") == b"".join(SAID)
        refused = place.cli("restore", "older")
        assert refused.returncode == 74
        assert b"pruned" in refused.stderr
        assert len(place.found("older")) == 3


def test_what_is_given_up_leaves_its_hash(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        contents = start(place, "30")
        pruned(place, "older")
        path = place.project / "older.jsonl"
        assert place.cli("verify", "older", "--deep").returncode == 0

        place.stop()
        path.write_bytes(contents["older"].replace(b"mine 1", b"mine 9"))
        (proof,) = place.json("verify", "older", "--deep")["sessions"]
        assert "differ" in proof["reason"]


def test_what_every_memory_has_is_given_up_when_that_is_asked_for(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        start(place, '"retained"')

        for name in ("old", "older"):
            assert pruned(place, name)["ok"]
        assert place.restored("now") == b"".join(SAID), "a session of now may be asked about"


@pytest.mark.parametrize("keep", ["1", '"retained"'])
def test_nothing_is_given_up_that_a_memory_does_not_have(keep: str, tmp_path: Path) -> None:
    with home(tmp_path) as place:
        settings(place, f"vault.keep = {keep}")
        now = write(place, "now.jsonl", *SAID).stat().st_mtime
        path = write(place, "old.jsonl", *SAID[:1], b'{"type":"user","message":{"role":"us')
        whole = write(place, "whole.jsonl", prompt(7, "tin", "whole"))
        for one in (path, whole):
            age(one, 2 * DAY_S, now)
        content = path.read_bytes()
        place.start()
        place.flush()
        pruned(place, "whole")

        assert place.restored("old") == content, "an unfinished line is in no memory"


def test_a_session_goes_on_after_its_beginning_was_given_up(tmp_path: Path) -> None:
    with home(tmp_path) as place:
        start(place, "30")
        pruned(place, "older")
        append(place.project / "older.jsonl", answer(99, "a bismuth vein", session="older"))
        place.flush()
        row = place.sessions()["older.jsonl"]

        assert local(row)["retained"] == 4
        assert place.found("bismuth") == ["older"]
        assert place.cli("verify", "older", "--deep").returncode == 0


@pytest.mark.parametrize(
    ("keep", "memories"),
    [("forever", ("local",)), ("retained", ())],
    ids=["forever", "the vault is all there is"],
)
def test_nothing_is_ever_given_up(
    keep: Literal["forever", "retained"], memories: tuple[str, ...], tmp_path: Path
) -> None:
    database = Database.open(tmp_path / "retaind.db")
    try:
        with_deadline = asyncio.wait_for(Pruner(database, keep, memories, print).run(), 1.0)
        asyncio.run(with_deadline)  # it has nothing to do, and ends
    finally:
        database.close()
