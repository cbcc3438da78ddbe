"""Files that scans no longer meet: when they count as gone, and what is read of them before."""

from collections.abc import Callable, Sequence
from typing import Final

import anyio.to_thread

from retaind.db import Connection, Database
from retaind.runtime.capture import Capture
from retaind.runtime.examine import is_there
from retaind.runtime.index import Index, Tracked
from retaind.runtime.rounds import Round
from retaind.runtime.scanning import ScanRun
from retaind.vault import streams

_UNSEEN_IS_GONE: Final = 2


async def note_absent(
    database: Database, capture: Capture, run: ScanRun, absorb: Callable[[Round], None]
) -> bool:
    """Count the clean scans that missed a file; the second one, and a look, make it gone.

    One whose path another stream has taken is gone at once. `absorb` takes what is read of such files
    through descriptors that are still held. Says whether a file was missed for the first time, so that
    another scan should follow.
    """
    first, again = _missed(capture, run)
    gone = await anyio.to_thread.run_sync(_without_file, capture.index, again) if again else []
    if gone:
        absorb(await capture.drain_held())
        await database.write(lambda connection: _mark(connection, gone))
        for tracked in gone:
            capture.index.replace(tracked, tracked.row._replace(source_state="gone"))
            capture.held.release(tracked.stream_id)
    return first


def _missed(capture: Capture, run: ScanRun) -> tuple[bool, list[Tracked]]:
    first = False
    again = []
    for tracked in capture.index:
        if run.is_alive(tracked) or tracked.source_state == "gone":
            continue
        tracked.unseen += 1
        displaced = capture.index.at_path(tracked.path) is not tracked
        if tracked.unseen < _UNSEEN_IS_GONE and not displaced:
            first = True
        else:
            again.append(tracked)
    return first, again


def _without_file(index: Index, missed: Sequence[Tracked]) -> list[Tracked]:
    """Return the streams whose path names nothing, or by now the file of another stream."""
    return [
        tracked
        for tracked in missed
        if index.at_path(tracked.path) is not tracked or is_there(tracked.path) is False
    ]


def _mark(connection: Connection, gone: Sequence[Tracked]) -> None:
    for tracked in gone:
        streams.mark_source(connection, tracked.stream_id, "gone")
