"""When a server is asked, and when it is left alone."""

from hypothesis import given
from hypothesis import strategies as st

from retaind.runtime.circuit import Circuit, backoff_s


@given(failures=st.integers(1, 10_000), base=st.floats(0.01, 60), dice=st.floats(0, 1))
def test_waiting_grows_within_bounds(failures: int, base: float, dice: float) -> None:
    wait = backoff_s(failures, base, lambda: dice)

    assert base / 2 <= wait <= 150 * base


@given(failures=st.integers(1, 7), base=st.floats(0.01, 60))
def test_each_failure_doubles_the_wait(failures: int, base: float) -> None:
    shorter, longer = (backoff_s(n, base, lambda: 1.0) for n in (failures, failures + 1))

    assert longer == 2 * shorter


def test_a_circuit_opens_at_once_when_the_server_as_a_whole_fails() -> None:
    circuit = Circuit(1.0)

    assert circuit.fail(100.0, "no answer", whole=True, wait_s=None)
    assert circuit.state(100.0) == "open"
    assert not circuit.permits(100.0, 0)


def test_single_requests_that_fail_open_it_at_the_third() -> None:
    circuit = Circuit(1.0)

    news = [circuit.fail(100.0, "500", whole=False, wait_s=None) for _ in range(3)]

    assert news == [False, False, True]


def test_a_success_between_failures_keeps_it_closed() -> None:
    circuit = Circuit(1.0)
    for _ in range(10):
        circuit.fail(100.0, "500", whole=False, wait_s=None)
        circuit.succeed(100.0)

    assert circuit.state(100.0) == "closed"


def test_half_open_lets_one_request_through() -> None:
    circuit = Circuit(1.0)
    circuit.fail(100.0, "no answer", whole=True, wait_s=5.0)

    assert circuit.state(104.9) == "open"
    assert circuit.state(105.0) == "half_open"
    assert circuit.permits(105.0, 0)
    assert not circuit.permits(105.0, 1)


def test_a_success_closes_it() -> None:
    circuit = Circuit(1.0)
    circuit.fail(100.0, "no answer", whole=True, wait_s=5.0)

    assert circuit.succeed(105.0)
    assert circuit.permits(105.0, 9)
    assert circuit.detail == ""


def test_what_the_server_asks_for_is_never_cut_short_by_another_failure() -> None:
    circuit = Circuit(1.0)
    circuit.fail(100.0, "429", whole=True, wait_s=60.0)
    circuit.fail(101.0, "500", whole=True, wait_s=None)

    assert not circuit.permits(159.0, 0)


def test_what_was_asked_before_it_opened_does_not_close_it() -> None:
    circuit = Circuit(1.0)
    circuit.fail(100.0, "429", whole=True, wait_s=60.0)

    assert not circuit.succeed(101.0)
    assert not circuit.permits(159.0, 0)


def test_looking_at_once_respects_what_the_server_asked_for() -> None:
    circuit = Circuit(1.0)
    circuit.fail(100.0, "no answer", whole=True, wait_s=None)
    circuit.look_now()
    assert circuit.permits(100.0, 0)

    circuit.fail(100.0, "429", whole=True, wait_s=60.0)
    circuit.look_now()
    assert not circuit.permits(159.0, 0)
    assert circuit.permits(160.0, 0)


def test_a_pause_is_news_once_and_ends_with_a_success() -> None:
    circuit = Circuit(1.0)

    assert circuit.pause(100.0, "the token is wrong")
    assert not circuit.pause(200.0, "the token is wrong")
    circuit.succeed(231.0)
    assert circuit.paused == ""
