"""Configuration: a TOML file and `RETAIND_<SECTION>_<KEY>` variables become frozen `Settings`."""

from retaind.config.loading import effective, load
from retaind.config.settings import (
    Bank,
    Hindsight,
    Hooks,
    Llm,
    Local,
    Log,
    Metering,
    Recall,
    Roots,
    Settings,
    Vault,
    Watch,
)

__all__ = [
    "Bank",
    "Hindsight",
    "Hooks",
    "Llm",
    "Local",
    "Log",
    "Metering",
    "Recall",
    "Roots",
    "Settings",
    "Vault",
    "Watch",
    "effective",
    "load",
]
