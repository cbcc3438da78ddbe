"""The bearer token: from the configuration, or from a file that may be replaced at any time."""

from pathlib import Path


class Token:
    """Knows the token, and reads its file again when asked to; a file wins over a value."""

    def __init__(self, value: str, file: str) -> None:
        self._value = value.strip()
        self._file = file
        self._read: str | None = None

    def current(self) -> str:
        """Return the token, or "" when there is none."""
        if not self._file:
            return self._value
        if self._read is None:
            self.refresh()
        return self._read or self._value

    def refresh(self) -> bool:
        """Read the file again; says whether that changed the token. An unreadable file changes nothing."""
        if not self._file:
            return False
        before = self._read
        try:
            found = Path(self._file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return False
        self._read = "".join(found.split())
        return self._read != before
