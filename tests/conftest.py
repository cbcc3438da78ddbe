"""What holds for every test."""

import signal


def pytest_configure() -> None:
    """Let Ctrl-C end what the tests start, also where they run behind a shell that ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
