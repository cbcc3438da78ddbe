"""Real files and a real database that holds them, as the capturing side leaves both."""

import json
import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path

from retaind.db import Database
from retaind.vault import blocks, streams
from retaind.vault.identity import Evidence, locator


class Vaulted:
    """A state with one database; `keep` writes a transcript and stores it, `cursor` retains it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = Database.open(folder / "retaind.db")

    def keep(
        self,
        name: str,
        content: bytes,
        *,
        captured: bytes | None = None,
        kind: str = "session",
        owner: str | None = None,
        mode: streams.Mode = "full",
        block_bytes: int = 1000,
    ) -> streams.OpenGeneration:
        path = self.folder / name
        path.write_bytes(content)
        found = path.stat()
        raw = content if captured is None else captured
        place = locator(found.st_dev, found.st_ino)
        sighting = streams.Sighting(place, None, len(raw), found.st_mtime_ns, found.st_ctime_ns)
        new = streams.NewStream(
            "claude_code", kind, path.stem, owner, os.fsencode(path), "/work/app", "app", mode
        )

        def store(connection: sqlite3.Connection) -> streams.OpenGeneration:
            opened = streams.create(connection, new, sighting, 1_700_000_000.0)
            self._append(connection, opened.generation_id, raw, sighting, block_bytes)
            return opened

        return self.database.write_now(store)

    def rewrite(self, opened: streams.OpenGeneration, content: bytes) -> int:
        """Close the generation, and store the next; returns its row id."""
        path = Path(os.fsdecode(opened.path))
        path.write_bytes(content)
        found = path.stat()
        place = locator(found.st_dev, found.st_ino)
        sighting = streams.Sighting(place, None, len(content), found.st_mtime_ns, found.st_ctime_ns)

        def store(connection: sqlite3.Connection) -> int:
            streams.close_generation(connection, opened.generation_id, "rewritten")
            id_ = streams.open_generation(connection, opened.stream_id, opened.n + 1, sighting)
            self._append(connection, id_, content, sighting, 1000)
            return id_

        return self.database.write_now(store)

    def cursor(
        self,
        generation_id: int,
        offset: int,
        *,
        memory: str = "local",
        records: int = 0,
        retained: int = 0,
        pending: int = 0,
        set_aside: int = 0,
        dropped: Mapping[str, int] | None = None,
    ) -> None:
        counts = (records, retained, pending, set_aside, json.dumps(dict(dropped or {})))
        self.run(
            "INSERT OR REPLACE INTO cursor (memory, generation_id, offset, carry, records, retained,"
            " pending, set_aside, dropped, redacted, messages, turns, policy_hash, parser_version)"
            " VALUES (?, ?, ?, x'', ?, ?, ?, ?, ?, '{}', ?, 1, 'h', 1)",
            (memory, generation_id, offset, *counts, records),
        )

    def run(self, statement: str, values: tuple[object, ...] = ()) -> None:
        self.database.write_now(lambda connection: connection.execute(statement, values))

    def _append(
        self,
        connection: sqlite3.Connection,
        generation_id: int,
        raw: bytes,
        sighting: streams.Sighting,
        block_bytes: int,
    ) -> None:
        pieces = [
            blocks.compress(at, raw[at : at + block_bytes])
            for at in range(0, len(raw), block_bytes)
        ]
        evidence = Evidence(len(raw), 0, b"", None, b"")
        streams.append(connection, generation_id, pieces, evidence, sighting)
