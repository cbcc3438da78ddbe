"""Extraction by a model, behind retention: pending chunks are completed one by one, after their commit.

Whatever the model's server does, capture and retention go on; a chunk is pending until it is done.
"""

import time
from collections.abc import Callable
from typing import Any, Final
from uuid import uuid4

import anyio

from retaind.db import Database
from retaind.errors import MemoryRefused, RetaindError
from retaind.failpoint import reach
from retaind.memory.local import extracting
from retaind.memory.local.extracting import Key, Waiting
from retaind.memory.local.llm import Endpoint, Extracted, Unavailable
from retaind.memory.port import RetainResult
from retaind.runtime.circuit import Circuit, backoff_s

_POLL_S: Final = 2.0
_CHUNK_PAUSE_S: Final = 30.0
_TROUBLE_S: Final = 2.0
_LONGEST_SLEEP_S: Final = 60.0


class Extraction:
    """Asks the model for what is in the chunks that wait. `run` is its task."""

    def __init__(
        self,
        database: Database,
        endpoint: Endpoint,
        memory: str,
        tokenizer: str,
        on_result: Callable[[], None],
        log: Callable[..., object],
        *,
        concurrency: int,
        settle_s: float,
    ) -> None:
        self._database = database
        self._endpoint = endpoint
        self._memory = memory
        self._tokenizer = tokenizer
        self._on_result = on_result
        self._log = log
        self._concurrency = concurrency
        self._settle_s = settle_s
        self._busy: set[Key] = set()
        self._failed: dict[Key, tuple[int, float]] = {}
        self._wake = anyio.Event()
        self._circuit = Circuit(_POLL_S)

    def announce(self) -> None:
        """Say that there may be chunks to extract."""
        self._wake.set()

    async def run(self) -> None:
        """Extract until cancelled; what is cut off is asked again at the next start."""
        try:
            async with anyio.create_task_group() as tasks:
                while True:
                    self._wake = anyio.Event()
                    waits = False
                    try:
                        for chunk in await self._next():
                            self._busy.add(chunk.key)
                            tasks.start_soon(self._work, chunk)
                        waits = bool(await self._database.read(extracting.count))
                    except RetaindError as error:
                        self._log("extraction_unreadable", why=error.why)
                        await anyio.sleep(_TROUBLE_S)
                    with anyio.move_on_after(self._sleep_s() if waits else float("inf")):
                        await self._wake.wait()
        finally:
            with anyio.CancelScope(shield=True):
                await self._endpoint.close()

    def state(self) -> dict[str, Any]:
        """Return what `status` says of the extractor."""
        circuit, now = self._circuit, time.monotonic()
        return {
            "state": "paused" if circuit.paused else circuit.state(now),
            "detail": circuit.detail or None,
            "failing_chunks": len(self._failed),
        }

    def troubles(self) -> list[str]:
        """Say in plain words what is wrong."""
        if not self._circuit.until:
            return []
        how = "is paused" if self._circuit.paused else "waits"
        return [f"the extractor {how}: {self._circuit.detail}; chunks stay pending"]

    async def _next(self) -> list[Waiting]:
        now = time.monotonic()
        room = self._concurrency - len(self._busy)
        if self._circuit.state(now) == "half_open":
            room = 0 if self._busy else 1
        if room <= 0 or not self._circuit.permits(now, len(self._busy)):
            return []
        resting = {key for key, (_, until) in self._failed.items() if until > now}
        settled_by = time.time() - self._settle_s
        leave_out = resting | self._busy
        return await self._database.read(
            lambda c: extracting.waiting(c, room, settled_by, leave_out)
        )

    def _sleep_s(self) -> float:
        """Return when to look again: a pause is over, or what was still growing has settled."""
        now = time.monotonic()
        dues = [until - now for _, until in self._failed.values() if until > now]
        if self._circuit.until > now:
            dues = [self._circuit.until - now]
        return min([*dues, max(self._settle_s, _TROUBLE_S), _LONGEST_SLEEP_S])

    async def _work(self, chunk: Waiting) -> None:
        try:
            found = await self._endpoint.extract(chunk.text, chunk.context)
            reach("extract.answered")
            await self._complete(chunk, found)
        except Unavailable as error:
            self._note_trouble(chunk, error)
        except MemoryRefused as error:
            self._rest(chunk)
            self._log("chunk_refused", document=chunk.name, start=chunk.start, why=error.what)
        except RetaindError as error:
            self._rest(chunk)
            self._log("extraction_failed", why=error.what)
        finally:
            self._busy.discard(chunk.key)
            self._wake.set()

    async def _complete(self, chunk: Waiting, found: Extracted) -> None:
        result = self._result(chunk, found)
        now = time.time()
        await self._database.write(
            lambda c: extracting.complete(c, chunk, found.facts, result, now)
        )
        reach("extract.completed")
        self._failed.pop(chunk.key, None)
        self._circuit.succeed(time.monotonic())
        self._on_result()

    def _note_trouble(self, chunk: Waiting, error: Unavailable) -> None:
        now = time.monotonic()
        detail = f"{error.what} ({error.why})" if error.why else error.what
        if error.denied:
            if self._circuit.pause(now, f"{detail}; {error.fix}"):
                self._log("extraction_paused", why=detail)
            return
        if not error.whole:
            self._rest(chunk)
        opened = self._circuit.fail(now, detail, whole=error.whole, wait_s=error.retry_after_s)
        if opened:
            self._log("extraction_waits", why=detail)

    def _rest(self, chunk: Waiting) -> None:
        failures = self._failed.get(chunk.key, (0, 0.0))[0] + 1
        wait = backoff_s(failures, _CHUNK_PAUSE_S)
        self._failed[chunk.key] = (failures, time.monotonic() + wait)

    def _result(self, chunk: Waiting, found: Extracted) -> RetainResult:
        """Describe the extraction of one chunk. Its content was counted when it was retained."""
        return RetainResult(
            execution_id=str(uuid4()),
            memory=self._memory,
            bank=self._memory,
            session_id=chunk.session_id,
            document_ids=(chunk.name,),
            range=None,
            success=True,
            error=None,
            chunks=1,
            chunks_extracted=1,
            processed_content_tokens=0,
            tokenizer=self._tokenizer,
            llm_input_tokens=found.input_tokens,
            llm_output_tokens=found.output_tokens,
        )
