"""`retaind config`: the settings in force."""

import click

from retaind.cli import context
from retaind.cli.output import paint, print_json, short_path
from retaind.errors import UsageError


@click.command()
@click.argument("key", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print keys, values and origins as JSON.")
def command(key: str | None, *, as_json: bool) -> None:
    """Print every setting with its value, and where that comes from. Tokens are not shown.

    What is printed is TOML, which a configuration file takes.
    """
    from retaind.config import effective

    settings = context.settings()
    values = effective(settings)
    if key is not None:
        values = {name: value for name, value in values.items() if _is_below(name, key)}
        if not values:
            raise UsageError(f"there is no key {key}", fix="retaind config lists every key")
    if as_json:
        print_json(
            {
                name: {"value": value, "origin": settings.origins[name]}
                for name, value in values.items()
            }
        )
        return
    file = context.paths().config_file
    print(paint(f"# {short_path(str(file))}{'' if file.exists() else ' (does not exist)'}", "dim"))
    for name, value in values.items():
        origin = settings.origins[name]
        shown = _line(name, value)
        print(shown if origin == "default" else f"{shown}  {paint('# ' + origin, 'cyan')}")


def _line(name: str, value: object) -> str:
    from retaind.cli.toml_text import written
    from retaind.config.keys import KEYS

    if value is None:
        return f"# {name} is not set"
    if isinstance(value, tuple) and KEYS[name].is_map:
        value = dict(value)
    return f"{name} = {written(value)}"


def _is_below(name: str, key: str) -> bool:
    return name == key or name.startswith(key + ".")
