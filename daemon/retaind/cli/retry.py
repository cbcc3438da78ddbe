"""`retaind retry`: documents that a memory would not take."""

from typing import Any

import click

from retaind.cli import client, context
from retaind.cli.output import counted, facts, harmless, number, print_json, table
from retaind.errors import NotFound, UsageError

_HEADS = ("delivery", "session", "range", "records", "tokens", "why")
_NUMBERS = frozenset({"delivery", "records", "tokens"})
_TIMEOUT_S = 60.0


@click.command()
@click.argument("delivery", required=False, type=int, metavar="[DELIVERY]")
@click.option("--all", "every", is_flag=True, help="Deliver all of them again.")
@click.option("--show", is_flag=True, help="Print what the document says, and deliver nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the facts as JSON.")
def command(delivery: int | None, *, every: bool, show: bool, as_json: bool) -> None:
    """List the documents that were set aside; with a DELIVERY, deliver that one again."""
    if delivery is not None and every:
        raise UsageError("a delivery and --all at once", fix="retaind retry --all")
    if show or (delivery is None and not every):
        _look(delivery, show=show, as_json=as_json)
        return
    if delivery is not None:
        _found(delivery)
    asked = {"deliveries": [] if delivery is None else [delivery]}
    answer = client.post(context.paths(), "retry", asked, _TIMEOUT_S)
    if as_json:
        print_json(answer)
    else:
        print(f"{counted(int(answer['retried']), 'document')} on the way again")


def _look(delivery: int | None, *, show: bool, as_json: bool) -> None:
    if show and delivery is None:
        raise UsageError("--show needs a delivery", fix="retaind retry lists them")
    rows = [_found(delivery)] if delivery is not None else _rows()
    if show and delivery is not None:
        rows[0] |= {"content": _content(delivery)}
    if as_json:
        print_json(rows[0] if show else rows)
    elif show:
        content = rows[0].pop("content")
        facts([(name, str(value)) for name, value in rows[0].items()])
        print(harmless(content))
    elif not rows:
        print("nothing was set aside")
    else:
        table(_HEADS, [_cells(row) for row in rows], _NUMBERS)


def _rows() -> list[dict[str, Any]]:
    from retaind.runtime.deliveries import set_aside

    with context.reader() as connection:
        return set_aside(connection)


def _found(delivery: int) -> dict[str, Any]:
    for row in _rows():
        if row["delivery"] == delivery:
            return row
    raise NotFound(f"delivery {delivery} is not set aside", fix="retaind retry lists them")


def _content(delivery: int) -> str:
    from retaind.runtime.deliveries import content

    with context.reader() as connection:
        return content(connection, delivery)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    start, end = row["range"]
    return (
        str(row["delivery"]),
        row["session_id"],
        f"{start}-{end}",
        number(row["records"]),
        number(row["tokens"]),
        row["error"] or "",
    )
