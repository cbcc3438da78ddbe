"""Metrics as Prometheus reads them, of the process and of what it has done. No label names a file."""

import resource
import sys
import time
from collections.abc import Mapping
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
    return [f"{name} {value:g}" for name, value in values.items()] + [
        f'retaind_oddities_total{{kind="{kind}"}} {count}' for kind, count in counted
    ]
