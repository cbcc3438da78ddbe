"""Which of the installing shell's variables the service is given: it sees none of them by itself."""

from collections.abc import Mapping
from dataclasses import dataclass

_BY_NAME = frozenset(
    {
        "CLAUDE_CONFIG_DIR",
        "PATH",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
    }
)
_OWN = "RETAIND_"
# Set for the service by its unit, or for one process by a test: never a user's setting.
_NOT_SETTINGS = ("RETAIND_SUPERVISOR", "RETAIND_FAIL")
_FIRST_PRINTABLE = 0x20
_SECRET_ENDINGS = ("TOKEN", "KEY", "SECRET", "PASSWORD")


@dataclass(frozen=True, slots=True)
class Recording:
    """`kept` is what the service gets; `secrets` are names left out, since a unit is no safe."""

    kept: Mapping[str, str]
    secrets: tuple[str, ...]


def record(environ: Mapping[str, str], earlier: Mapping[str, str] | None = None) -> Recording:
    """Choose what to record: where transcripts, settings and state are, and our own overrides.

    A variable recorded `earlier` and unset now stays, so that an upgrade from a bare shell forgets no
    transcript folder; one that is set to nothing goes.
    """
    kept = dict(earlier or {})
    secrets = []
    for name, value in environ.items():
        if not _is_setting(name):
            continue
        if name.startswith(_OWN) and name.endswith(_SECRET_ENDINGS):
            secrets.append(name)
        else:
            kept[name] = value
    return Recording(
        {name: kept[name] for name in sorted(kept) if _is_text(kept[name])},
        tuple(sorted(secrets)),
    )


def _is_text(value: str) -> bool:
    # Neither a unit nor a property list can hold control characters, or bytes that are not UTF-8.
    printable = all(ord(character) >= _FIRST_PRINTABLE for character in value)
    return bool(value) and printable and value.encode(errors="replace").decode() == value


def _is_setting(name: str) -> bool:
    if name in _BY_NAME:
        return True
    return name.startswith(_OWN) and not name.startswith(_NOT_SETTINGS)
