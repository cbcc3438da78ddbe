"""Events to whoever listens: a bounded queue per listener, so that a slow one costs only itself."""

from collections import deque
from collections.abc import AsyncGenerator, Mapping

import anyio
import msgspec

QUEUE_LENGTH = 256


class Events:
    """Hands each published event to all listeners. Publishing never waits."""

    def __init__(self) -> None:
        self._listeners: set[_Listener] = set()

    def publish(self, event: Mapping[str, object]) -> None:
        """Queue an event; a listener with a full queue loses its oldest, and is told how many."""
        for listener in self._listeners:
            listener.put(msgspec.json.encode(event) + b"\n")

    async def lines(self, heartbeat_s: float) -> AsyncGenerator[bytes, None]:
        """Yield a JSON line per event, and a heartbeat when there was none for so long."""
        listener = _Listener()
        self._listeners.add(listener)
        try:
            yield b'{"event":"hello"}\n'
            while True:
                with anyio.move_on_after(heartbeat_s):
                    await listener.filled.wait()
                for line in listener.take() or [b'{"event":"heartbeat"}\n']:
                    yield line
        finally:
            self._listeners.discard(listener)


class _Listener:
    def __init__(self) -> None:
        self.filled = anyio.Event()
        self._queue: deque[bytes] = deque(maxlen=QUEUE_LENGTH)
        self._dropped = 0

    def put(self, line: bytes) -> None:
        self._dropped += len(self._queue) == QUEUE_LENGTH
        self._queue.append(line)
        self.filled.set()

    def take(self) -> list[bytes]:
        lines = list(self._queue)
        if self._dropped:
            lines.insert(0, b'{"event":"dropped","count":%d}\n' % self._dropped)
        self._queue.clear()
        self._dropped = 0
        self.filled = anyio.Event()
        return lines
