"""How a part that is not always installed is added: by the installer, or else by pip."""

import shlex
import sys
from pathlib import Path

_VERSIONS = "versions"
_INSTALLER = "install.sh"


def how_to_add(extra: str, prefix: str = sys.prefix) -> str:
    """Return the command that installs an extra into the environment `prefix`.

    An environment that install.sh made has no pip, and is replaced at each upgrade: there, it is the
    copy of install.sh beside it, which remembers the extra.
    """
    environment = Path(prefix).resolve()
    installer = environment.parent.parent / _INSTALLER
    if environment.parent.name == _VERSIONS and installer.is_file():
        return f"{shlex.quote(str(installer))} --extra {extra}"
    return f"pip install 'retaind[{extra}]'"
