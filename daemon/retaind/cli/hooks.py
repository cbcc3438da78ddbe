"""`retaind hooks`: the hooks in Claude Code. They are a convenience: nothing that is kept depends on them."""

import os
from pathlib import Path
from typing import Any

import click

from retaind.cli import agent_hooks, agent_settings, context
from retaind.cli.output import paint, print_json, short_path
from retaind.errors import NotFound

_SAID = {
    "installed": "installed",
    "outdated": "installed, but with another command: retaind hooks install",
    "partly": "some are missing: retaind hooks install",
    "none": "not installed",
}
_config_dirs = click.option(
    "--config-dir",
    "config_dirs",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A folder of Claude Code; by default all that retaind watches. Repeatable.",
)


@click.group()
def command() -> None:
    """Install, remove or look at retaind's hooks in Claude Code.

    With them an agent is given what was said in earlier sessions, at each prompt. Everything is kept
    without them, too.
    """


@command.command()
@_config_dirs
def install(config_dirs: tuple[Path, ...]) -> None:
    """Add the hooks to settings.json.

    Everything else in it stays, and a copy of it is kept.
    """
    for folder in _folders(config_dirs):
        changed = agent_settings.change(folder, agent_hooks.installed)
        print(f"{_file(folder)}: {'installed' if changed else 'installed already'}")
        _warn(agent_settings.read(folder))


@command.command()
@_config_dirs
def uninstall(config_dirs: tuple[Path, ...]) -> None:
    """Remove exactly the hooks that `install` adds."""
    for folder in _folders(config_dirs):
        changed = agent_settings.undo(folder, agent_hooks.removed)
        print(f"{_file(folder)}: {'removed' if changed else 'there are none'}")


@command.command()
@_config_dirs
@click.option("--json", "as_json", is_flag=True, help="Print the facts as JSON.")
def status(config_dirs: tuple[Path, ...], *, as_json: bool) -> int:
    """Say where the hooks are installed. Exit 1 unless they are everywhere."""
    rows: list[dict[str, Any]] = []
    for folder in _folders(config_dirs):
        settings = agent_settings.read(folder)
        found = agent_hooks.look(settings)
        rows.append(
            {
                "config_dir": str(folder),
                "state": found.state,
                "commands": found.commands,
                "all_hooks_disabled": settings.get("disableAllHooks") is True,
            }
        )
        if not as_json:
            color = "green" if found.state == "installed" else "yellow"
            print(f"{_file(folder)}: {paint(_SAID[found.state], color)}")
            _warn(settings)
    if as_json:
        print_json({"hooks": rows})
    return 0 if all(row["state"] == "installed" for row in rows) else 1


def _warn(settings: dict[str, Any]) -> None:
    if settings.get("disableAllHooks") is True:
        print('  but "disableAllHooks" is true there: Claude Code runs none')


def _file(folder: Path) -> str:
    return short_path(str(folder / agent_settings.FILE_NAME))


def _folders(named: tuple[Path, ...]) -> list[Path]:
    """Return the folders that were named, or those of Claude Code that exist. Raises NotFound for none."""
    from retaind.runtime.reported import reported_folders
    from retaind.runtime.roots import claude_roots

    if named:
        return [folder.absolute() for folder in named]
    home = Path(os.path.expanduser("~"))
    told = reported_folders(context.paths().state_dir)
    roots = claude_roots(home, os.environ, context.settings().roots.claude_code, told)
    found = [root for root in roots if root.is_dir()]
    if not found:
        raise NotFound(
            "there is no folder of Claude Code yet",
            why=f"{short_path(str(roots[0]))} does not exist",
            fix="start Claude Code once, or name it with --config-dir",
        )
    return found
