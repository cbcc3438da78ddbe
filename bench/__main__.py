"""Measure the budgets and print them as a table: `python -m bench [--quick] [--only NAME]`."""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.cases import CASES
from bench.scale import FULL, QUICK, Row, Scale


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases; the exit code is 0 whatever they show, because machines differ."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="minutes instead of half an hour")
    parser.add_argument(
        "--only", action="append", choices=sorted(CASES), metavar="NAME", help=", ".join(CASES)
    )
    parser.add_argument(
        "--scratch", type=Path, help="where to put transcripts and databases (5 GB)"
    )
    chosen = parser.parse_args(arguments)
    if not sys.platform.startswith("linux"):
        print("the meter reads /proc, which only Linux has", file=sys.stderr)
        return 0
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="rb-", dir=chosen.scratch) as folder:
        for name in chosen.only or CASES:
            rows += _measured(name, QUICK if chosen.quick else FULL, Path(folder) / name)
    _print_table(rows)
    return 0


def _measured(name: str, scale: Scale, folder: Path) -> Iterator[Row]:
    folder.mkdir()
    began = time.monotonic()
    print(f"{name} ...", file=sys.stderr, flush=True)
    try:
        yield from CASES[name](scale, folder)
    except Exception as error:  # noqa: BLE001 - one case that fails must not hide the others
        print(f"{name} failed: {error!r}", file=sys.stderr)
        for log in folder.rglob("daemon.log"):
            print(log.read_text()[-2000:], file=sys.stderr)
    print(f"{name} took {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


def _print_table(rows: Sequence[Row]) -> None:
    width = max((len(row.what) for row in rows), default=4)
    print(f"{'case':{width}}  {'measured':>10}  {'budget':>10}  {'':5}  ratio")
    for row in rows:
        bound = f"{'>=' if row.at_least else '<='} {row.budget:.3g}"
        note = "" if row.ratio <= 1 else "  over"
        print(
            f"{row.what:{width}}  {row.measured:10.4g}  {bound:>10}  {row.unit:5}  {row.ratio:5.2f}{note}"
        )


if __name__ == "__main__":
    raise SystemExit(main())
