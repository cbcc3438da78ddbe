"""What a reload of the configuration changes."""

from dataclasses import fields

from retaind.config import Settings


def changed_sections(before: Settings, after: Settings) -> list[str]:
    """Return the sections of the settings that differ."""
    sections = [field.name for field in fields(before) if field.name != "origins"]
    return [name for name in sections if getattr(before, name) != getattr(after, name)]
