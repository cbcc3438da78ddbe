"""Missions: what a bank is told of its purpose, once for each wording."""

import hashlib
from collections.abc import Callable

from retaind.db import Connection, Database
from retaind.errors import RetentionError
from retaind.memory.hindsight import Client


class Missions:
    """Tells a bank its mission before the first document of this process goes there."""

    def __init__(
        self,
        database: Database,
        client: Client,
        mission: str,
        retain_mission: str,
        log: Callable[..., object],
    ) -> None:
        self._database = database
        self._client = client
        self._texts = (mission, retain_mission)
        self._hash = hashlib.sha256("\0".join(self._texts).encode()).hexdigest()
        self._log = log
        self._told: set[str] = set()

    async def tell(self, bank: str) -> None:
        """Tell a bank, unless it has this very wording; a failure keeps no document back."""
        if bank in self._told or not any(text.strip() for text in self._texts):
            return
        url = self._client.url
        if await self._database.read(lambda c: _told(c, url, bank)) != self._hash:
            try:
                await self._client.set_mission(bank, *self._texts)
            except RetentionError as error:
                self._log("mission_not_set", bank=bank, why=error.what)
                return
            await self._database.write(lambda c: _note(c, url, bank, self._hash))
        self._told.add(bank)


def _told(connection: Connection, url: str, bank: str) -> str | None:
    row = connection.execute(
        "SELECT hash FROM bank_mission WHERE url = ? AND bank = ?", (url, bank)
    ).fetchone()
    return row[0] if row else None


def _note(connection: Connection, url: str, bank: str, text_hash: str) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO bank_mission (url, bank, hash) VALUES (?, ?, ?)",
        (url, bank, text_hash),
    )
