"""What an agent is given at its prompts where a server is the memory that is asked."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.process import home
from hindsight.conftest import delivering
from hindsight.fake_hindsight import Asked, FakeHindsight, Reply, fake_hindsight
from hooks.events import HERON, Hooked, said

QUESTION = "Where does the heron nest?"
RIVER = {"text": "The heron nests at the river.", "document_id": "other@0-x", "metadata": {}}
HARBOUR = {"text": "A heron was seen in the harbour.", "document_id": "third@0-x", "metadata": {}}


@pytest.fixture(name="fake")
def _fake() -> Iterator[FakeHindsight]:
    with fake_hindsight() as fake:
        yield fake


@pytest.fixture(name="asking")
def _asking(tmp_path: Path, fake: FakeHindsight) -> Iterator[Hooked]:
    with home(tmp_path, RETAIND_RECALL_MEMORY="hindsight", **delivering(fake.url)) as place:
        hooked = Hooked(place)
        hooked.write(HERON, said(HERON, QUESTION, "By the old weir."))
        place.start()
        place.flush()
        yield hooked


def test_the_servers_memories_are_given_and_none_of_them_twice(
    asking: Hooked, fake: FakeHindsight
) -> None:
    fake.recalled = [RIVER]
    first = asking.prompt(QUESTION)
    fake.recalled = [RIVER, HARBOUR]
    second = asking.prompt("And where else does the heron nest?")
    third = asking.prompt("Does the heron nest anywhere else?")

    assert "at the river" in first
    assert "at the river" not in second
    assert "in the harbour" in second
    assert third == ""


def test_a_server_that_is_slow_gives_way_to_the_local_memory_before_the_deadline(
    asking: Hooked, fake: FakeHindsight
) -> None:
    go_on = threading.Event()

    def hold(asked: Asked) -> Reply | None:
        if asked.path.endswith("/recall"):
            go_on.wait(10)
        return None

    fake.fault = hold

    block = asking.prompt(QUESTION)
    go_on.set()

    assert "By the old weir." in block


def test_a_server_that_refuses_gives_way_to_the_local_memory(
    asking: Hooked, fake: FakeHindsight
) -> None:
    fake.fault = lambda asked: Reply(500) if asked.path.endswith("/recall") else None

    assert "By the old weir." in asking.prompt(QUESTION)
