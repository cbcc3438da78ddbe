"""Metrics as Prometheus reads them, of the process and of what it has done. No label names a file."""

import resource
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

from retaind.runtime.engine import Engine


def lines(sums: Mapping[str, Any], engine: Engine, failing: int, started: float) -> list[str]:
    """Return a line per value. `sums` are those of `report.summary`; `started` is in seconds since 1970."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    unit = 1 if sys.platform == "darwin" else 1024
    values: dict[str, float] = {
        "process_start_time_seconds": started,
        "process_cpu_seconds_total": usage.ru_utime + usage.ru_stime,
        "process_max_resident_memory_bytes": usage.ru_maxrss * unit,
        "retaind_sessions": sums["sessions"],
        "retaind_captured_bytes": sums["captured_bytes"],
        "retaind_pending_bytes": sums["pending_bytes"],
        "retaind_scans_total": engine.scans,
        "retaind_held_descriptors": len(engine.capture.held),
        "retaind_failing_sessions": failing,
        "retaind_last_commit_age_seconds": time.monotonic() - engine.last_commit,
    }
    counted = sorted(engine.oddities().items())
    return [
        *(f"{name} {value:g}" for name, value in values.items()),
        *(f'retaind_oddities_total{{kind="{kind}"}} {count}' for kind, count in counted),
        *_records(sums["memories"]),
    ]


def deliveries(memory: str, documents: Mapping[str, int], circuit: str) -> list[str]:
    """Return a line per state of the documents of a remote memory, and whether it is spoken to."""
    found = [
        f'retaind_documents{{memory="{memory}",state="{state}"}} {count}'
        for state, count in sorted(documents.items())
    ]
    return [*found, f'retaind_circuit_closed{{memory="{memory}"}} {int(circuit == "closed")}']


def _records(memories: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Yield a line per state of each memory's records, and per reason of those that were dropped."""
    for memory, one in memories.items():
        for state in ("retained", "pending", "set_aside"):
            yield f'retaind_records{{memory="{memory}",state="{state}"}} {one[state]}'
        for reason, count in sorted(one["dropped"].items()):
            yield f'retaind_dropped_records{{memory="{memory}",reason="{reason}"}} {count}'
