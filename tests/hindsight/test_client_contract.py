"""What the client relies on: the fake and the real server both keep to it."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterator
from typing import TypeVar
from uuid import uuid4

import pytest

from harness.process import wait_until
from hindsight.fake_hindsight import FakeHindsight
from retaind.memory.hindsight import Client, Operation, OperationTaken, Payload, Refused, Token

T = TypeVar("T")

pytestmark = pytest.mark.timeout(240)  # the first question to the real server waits for its start


@pytest.fixture(name="url", params=["fake", "real"])
def _url(request: pytest.FixtureRequest) -> str:
    found: str = request.getfixturevalue(request.param).url
    return found


@pytest.fixture(name="ask")
def _ask(url: str) -> Iterator[Callable[[Callable[[Client], Awaitable[T]]], T]]:
    with asyncio.Runner() as runner:
        client = Client(url, Token("", ""), 20.0, 4)

        def ask(question: Callable[[Client], Awaitable[T]]) -> T:
            async def work() -> T:
                return await question(client)

            return runner.run(work())

        yield ask
        runner.run(client.close())


@pytest.fixture(name="bank")
def _bank() -> str:
    return f"contract-{uuid4().hex[:12]}"


Ask = Callable[[Callable[[Client], Awaitable[T]]], T]


def item(name: str, text: str, **more: str) -> bytes:
    metadata = {"range": "0-10", **more}
    return Payload(text, name, "notes", metadata, ("tag",), "2026-10-01T08:00:00Z").encode()


def completed(ask: Ask[Operation], bank: str, operation: str) -> Operation:
    def ended() -> Operation | None:
        found = ask(lambda client: client.operation(bank, operation))
        return None if found.is_active else found

    found: Operation = wait_until(ended, "the operation ends")
    return found


def test_a_retained_document_is_listed_with_its_range(ask: Ask[object], bank: str) -> None:
    raw_hash = hashlib.sha256(b"raw").hexdigest()[:12]
    name, operation = f"s1@0-{raw_hash}", str(uuid4())

    accepted = ask(lambda client: client.retain(bank, item(name, "One. Two."), operation))
    ended = completed(ask, bank, operation)  # type: ignore[arg-type]  # one runner asks all
    windows = ask(lambda client: client.windows(bank, "s1"))

    assert accepted == operation
    assert ended.status == "completed"
    assert windows == [(name, 0, 10, raw_hash)]


def test_the_same_operation_again_is_the_first_one(ask: Ask[object], bank: str) -> None:
    operation = str(uuid4())

    again = [
        ask(lambda client: client.retain(bank, item("s1@0-abc", "One."), operation)) for _ in "ab"
    ]

    assert again == [operation, operation]


def test_an_operation_of_another_bank_is_taken(ask: Ask[object], bank: str) -> None:
    operation = str(uuid4())
    ask(lambda client: client.retain(bank, item("s1@0-abc", "One."), operation))

    with pytest.raises(OperationTaken):
        ask(lambda client: client.retain(bank + "-2", item("s1@0-abc", "One."), operation))


def test_an_operation_that_is_not_there_is_not_found(ask: Ask[Operation], bank: str) -> None:
    assert ask(lambda client: client.operation(bank, str(uuid4()))).status == "not_found"


def test_a_bank_that_is_not_there_holds_nothing(ask: Ask[object], bank: str) -> None:
    assert ask(lambda client: client.windows(bank, "s1")) == []
    assert ask(lambda client: client.recall(bank, {"query": "word"})) in ([], ())


def test_an_erased_document_is_gone(ask: Ask[object], bank: str) -> None:
    operation = str(uuid4())
    ask(lambda client: client.retain(bank, item("s1@0-abc", "One."), operation))
    completed(ask, bank, operation)  # type: ignore[arg-type]  # one runner asks all

    erased = [ask(lambda client: client.forget(bank, "s1@0-abc")) for _ in "ab"]

    assert erased == [True, False]
    assert ask(lambda client: client.windows(bank, "s1")) == []


def test_a_mission_and_the_version_are_understood(ask: Ask[object], bank: str) -> None:
    assert ask(lambda client: client.set_mission(bank, "Remember.", "")) is None
    assert ask(lambda client: client.version()) == "1.1.0"
    assert ask(lambda client: client.is_healthy()) is True


def test_what_is_no_text_is_refused_by_the_real_server(
    ask: Ask[object], url: str, fake: FakeHindsight
) -> None:
    if url == fake.url:
        fake.poison = '{"a'
    bad = b'{"content":"{\\"a","document_id":"d","metadata":{"n":1}}'

    with pytest.raises(Refused):
        ask(lambda client: client.retain("refusals", bad, str(uuid4())))
