"""Questions to a Hindsight server, one method each, every failure as an error of ours."""

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

import anyio
import anyio.to_thread

from retaind import __version__
from retaind.memory.hindsight.documents import Held, body, held
from retaind.memory.hindsight.faults import (
    BankMissing,
    Busy,
    Denied,
    Misconfigured,
    Refused,
    fault,
)
from retaind.memory.hindsight.token import Token

if TYPE_CHECKING:
    import httpx

_ANSWER_BYTES: Final = 16 << 20
_PAGE: Final = 100
_ACTIVE: Final = frozenset({"pending", "processing"})


class Operation(NamedTuple):
    """What the server says of an operation: pending, processing, completed, failed, cancelled, not_found."""

    status: str

    @property
    def is_active(self) -> bool:
        """Whether the server is still to finish it."""
        return self.status in _ACTIVE


class Client:
    """One server. Requests end within `timeout_s`, however slowly the server speaks."""

    def __init__(self, url: str, token: Token, timeout_s: float, connections: int) -> None:
        self.url = url
        self.token = token
        self._timeout_s = timeout_s
        self._connections = connections
        self._http: httpx.AsyncClient | None = None

    async def close(self) -> None:
        """Close every connection."""
        if self._http is not None:
            await self._http.aclose()
            self._http = None

    async def version(self) -> str:
        """Return the version of the server's API."""
        found = await self._ask("GET", "/version", retaining=True)
        return str(found.get("api_version", "")) or "unknown"

    async def is_healthy(self) -> bool:
        """Whether the server and its database answer."""
        try:
            await self._ask("GET", "/health", retaining=True)
        except Busy:
            return False
        return True

    async def retain(self, bank: str, item: bytes, operation: str) -> str:
        """Hand over a document; returns the id of the operation that will retain it.

        Raises a fault, also where the document may have been taken: asking again is no second retain.
        """
        sent = body(item, operation)
        found = await self._ask("POST", f"{_at(bank)}/memories", sent, retaining=True)
        if found.get("success") is False:
            raise Refused("the server took the request, but not the document")
        accepted = found.get("operation_id")
        if not isinstance(accepted, str):
            raise Misconfigured("the server's answer to a retain is not Hindsight's")
        return accepted

    async def operation(self, bank: str, operation: str) -> Operation:
        """Return how an operation is; one that the server does not know is `not_found`.

        Only the status counts: what came of the work may not be in the answer that first says `completed`.
        """
        try:
            found = await self._ask("GET", f"{_at(bank)}/operations/{operation}")
        except BankMissing:
            return Operation("not_found")
        return Operation(str(found.get("status")))

    async def retry(self, bank: str, operation: str) -> None:
        """Have the server run a failed operation again."""
        await self._ask("POST", f"{_at(bank)}/operations/{operation}/retry", b"{}")

    async def windows(self, bank: str, session_id: str) -> list[Held]:
        """Return the window documents of a session that the bank has."""
        found: list[Held] = []
        offset = 0
        while True:
            query = f"q={quote(session_id, safe='')}&limit={_PAGE}&offset={offset}"
            try:
                page = await self._ask("GET", f"{_at(bank)}/documents?{query}")
            except BankMissing:
                return found
            items = page.get("items") or []
            found += [one for listed in items if (one := held(session_id, listed)) is not None]
            offset += len(items)
            if len(items) < _PAGE:
                return found

    async def forget(self, bank: str, document_id: str) -> bool:
        """Erase a document with all that was made of it; says whether it was there."""
        try:
            await self._ask("DELETE", f"{_at(bank)}/documents/{quote(document_id, safe='')}")
        except BankMissing:
            return False
        return True

    async def set_mission(self, bank: str, mission: str, retain_mission: str) -> None:
        """Tell a bank what it is for; the bank is created if need be."""
        texts = {"reflect_mission": mission, "retain_mission": retain_mission}
        updates = {name: text for name, text in texts.items() if text.strip()}
        sent = json.dumps({"updates": updates}).encode()
        await self._ask("PATCH", f"{_at(bank)}/config", sent)

    async def recall(self, bank: str, question: Mapping[str, object]) -> Sequence[dict[str, Any]]:
        """Return what the bank remembers, best first; a bank that does not exist remembers nothing."""
        sent = json.dumps(question).encode()
        try:
            found = await self._ask("POST", f"{_at(bank)}/memories/recall", sent)
        except BankMissing:
            return ()
        results = found.get("results") or []
        return [one for one in results if isinstance(one, dict)]

    async def _ask(
        self, method: str, path: str, content: bytes | None = None, *, retaining: bool = False
    ) -> dict[str, Any]:
        """Ask, and once more with the token as it is now when the one at hand is not taken."""
        try:
            return await self._exchange(method, path, content, retaining=retaining)
        except Denied:
            if not self.token.refresh():
                raise
            return await self._exchange(method, path, content, retaining=retaining)

    async def _exchange(
        self, method: str, path: str, content: bytes | None, *, retaining: bool
    ) -> dict[str, Any]:
        http = self._http or await self._opened()
        import httpx

        try:
            with anyio.fail_after(self._timeout_s):
                status, headers, raw = await self._answer(http, method, path, content)
        except TimeoutError:
            raise Busy(f"no answer within {self._timeout_s:g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError) as error:
            raise Busy("the server cannot be reached", why=type(error).__name__) from None
        wrong = fault(status, headers, retaining=retaining)
        if wrong is not None:
            raise wrong
        return _decoded(raw)

    async def _answer(
        self, http: "httpx.AsyncClient", method: str, path: str, content: bytes | None
    ) -> tuple[int, Mapping[str, str], bytes]:
        headers: dict[bytes, bytes] = {}
        if content is not None:
            headers[b"Content-Type"] = b"application/json"
        token = self.token.current()
        if token:
            headers[b"Authorization"] = f"Bearer {token}".encode()
        raw = bytearray()
        async with http.stream(method, self.url + path, content=content, headers=headers) as answer:
            async for piece in answer.aiter_bytes():
                raw += piece
                if len(raw) > _ANSWER_BYTES:
                    raise Busy("the server's answer is too long", whole=False)
            return answer.status_code, answer.headers, bytes(raw)

    async def _opened(self) -> "httpx.AsyncClient":
        # A quarter of a second on a busy machine, in which nothing else would go on.
        await anyio.to_thread.run_sync(import_module, "httpx")
        if self._http is None:
            import httpx

            self._http = httpx.AsyncClient(
                # Certificates are 5 MiB of memory, and of no use to a plain http address.
                verify=self.url.startswith("https"),
                timeout=httpx.Timeout(self._timeout_s),
                limits=httpx.Limits(max_connections=self._connections, max_keepalive_connections=2),
                headers={"User-Agent": f"retaind/{__version__}", "Accept": "application/json"},
            )
        return self._http


def _at(bank: str) -> str:
    return f"/v1/default/banks/{quote(bank, safe='')}"


def _decoded(raw: bytes) -> dict[str, Any]:
    if raw.startswith(b"{"):
        try:
            found: dict[str, Any] = json.loads(raw)
        except ValueError:
            raise Busy("the server's answer is cut off", whole=False) from None
        return found
    if raw:
        raise Misconfigured(
            "what answers is not a Hindsight server", fix="check memory.hindsight.url"
        )
    return {}
