"""What each kind of setting accepts, from a TOML value and from an environment variable's text."""

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

TRUE = frozenset({"true", "1", "yes", "on"})
FALSE = frozenset({"false", "0", "no", "off"})
MAX_DAYS = 36_500
_WHOLE = re.compile(r"[+-]?\d+")


class Unfit(ValueError):
    """The value is not what the rule expects.

    `at` is the way to what is at fault in a table; `why` says it in words where the rule's do not do.
    """

    def __init__(self, *at: str, why: str = "") -> None:
        self.at = at
        self.why = why
        super().__init__(*at)


@dataclass(frozen=True, slots=True)
class Rule:
    """`read` checks a TOML value and gives the setting; `from_text` makes a TOML value of text.

    `expects` completes the sentence "KEY must be ...". Values of a secret are never shown.
    """

    expects: str
    read: Callable[[object], object]
    from_text: Callable[[str], object] = str
    secret: bool = False
    is_map: bool = False


def choice(*names: str) -> Rule:
    """Accept one of some words."""

    def read(value: object) -> object:
        if value not in names:
            raise Unfit
        return value

    return Rule("one of " + ", ".join(f'"{name}"' for name in names), read)


def number(low: float, high: float, unit: str) -> Rule:
    """Accept a number of `unit`, whole or not."""

    def read(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Unfit
        if not (math.isfinite(value) and low <= value <= high):
            raise Unfit
        return float(value)

    return Rule(f"a number of {unit} from {low:g} to {high:g}", read, _number_from_text)


def whole(low: int, high: int, unit: str) -> Rule:
    """Accept a whole number of `unit`."""

    def read(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise Unfit
        return value

    return Rule(f"a whole number of {unit} from {low} to {high}", read, _number_from_text)


def days(*words: str) -> Rule:
    """Accept one of some words, or a number of days."""

    def read(value: object) -> object:
        if value in words and isinstance(value, str):
            return value
        if isinstance(value, str) and _WHOLE.fullmatch(value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= MAX_DAYS:
            raise Unfit
        return value

    known = ", ".join(f'"{word}"' for word in words)
    return Rule(f"{known}, or a whole number of days", read)


def switch() -> Rule:
    """Accept true or false."""

    def read(value: object) -> object:
        if not isinstance(value, bool):
            raise Unfit
        return value

    def from_text(text: str) -> object:
        word = text.strip().lower()
        if word in TRUE:
            return True
        return False if word in FALSE else text

    return Rule("true or false", read, from_text)


def text(*, secret: bool = False) -> Rule:
    """Accept any text without NUL."""
    return Rule("a text", _read_text, secret=secret)


def url() -> Rule:
    """Accept an http or https address, or none; a slash at its end is dropped."""

    def read(value: object) -> object:
        address = _read_text(value).rstrip("/")
        try:
            parts = urlsplit(address)
            known = not address or (parts.scheme in {"http", "https"} and bool(parts.hostname))
            _ = parts.port
        except ValueError:
            known = False
        if not known or any(character.isspace() for character in address):
            raise Unfit
        return address

    return Rule('an address such as "http://127.0.0.1:8888"', read)


def folders() -> Rule:
    """Accept absolute folders; `~` is expanded later."""

    def read(value: object) -> object:
        found = _read_texts(value)
        if not all(part.startswith(("/", "~")) for part in found):
            raise Unfit
        return found

    return Rule("a list of absolute paths", read, _list_from_text)


def texts(*names: str) -> Rule:
    """Accept a list of texts, each one of `names` if there are any."""

    def read(value: object) -> object:
        found = _read_texts(value)
        if names and not set(found) <= set(names):
            raise Unfit
        return tuple(dict.fromkeys(found)) if names else found

    of = " of " + ", ".join(f'"{name}"' for name in names) if names else " of texts"
    return Rule("a list" + of, read, _list_from_text)


def text_map() -> Rule:
    """Accept a table from text to text."""

    def read(value: object) -> object:
        pairs = _read_map(value)
        return tuple((key, _read_text(part)) for key, part in pairs.items())

    return Rule("a table of texts", read, _map_from_text, is_map=True)


def number_map() -> Rule:
    """Accept a table from text to number."""

    def read(value: object) -> object:
        pairs = _read_map(value)
        if any(isinstance(n, bool) or not isinstance(n, int | float) for n in pairs.values()):
            raise Unfit
        return tuple((key, float(str(n))) for key, n in pairs.items())

    def from_text(given: str) -> object:
        pairs = _map_from_text(given)
        if not isinstance(pairs, dict):
            return pairs
        return {
            key: _number_from_text(part) if isinstance(part, str) else part
            for key, part in pairs.items()
        }

    return Rule("a table of numbers", read, from_text, is_map=True)


def modes(*names: str) -> Rule:
    """Accept a table of folders: `[projects."PATH"]` with `mode`, or PATH = mode."""
    *most, last = (f'"{name}"' for name in names)
    known = f"{', '.join(most)} or {last}"

    def read(value: object) -> object:
        found: dict[str, str] = {}
        for folder, given in _read_map(value).items():
            mode = given
            if isinstance(given, Mapping):
                if set(given) != {"mode"}:
                    raise Unfit(folder, why=f"takes one key, mode: {known}")
                mode = given["mode"]
            if not folder.startswith(("/", "~")):
                raise Unfit(folder, why="must be an absolute path, or begin with ~")
            if mode not in names:
                shown = f'"{mode}"' if isinstance(mode, str) else repr(mode)
                raise Unfit(folder, "mode", why=f"has the mode {shown[:60]}; it must be {known}")
            found[folder] = str(mode)
        return tuple(found.items())

    return Rule(f"absolute paths, each with mode = {known}", read, _json_from_text, is_map=True)


def tables() -> Rule:
    """Accept a table of tables, passed on as it is."""

    def read(value: object) -> object:
        found = _read_map(value)
        if not all(isinstance(part, Mapping) for part in found.values()):
            raise Unfit
        return dict(found)

    return Rule("a table of tables", read, _json_from_text, is_map=True)


def anything() -> Rule:
    """Accept any value, passed on as it is."""
    return Rule("any value", lambda value: value, _json_from_text, is_map=True)


def _read_text(value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise Unfit
    return value


def _read_texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise Unfit
    return tuple(_read_text(part) for part in value)


def _read_map(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise Unfit
    return value


def _number_from_text(given: str) -> object:
    stripped = given.strip()
    if _WHOLE.fullmatch(stripped):
        return int(stripped)
    try:
        return float(stripped)
    except ValueError:
        return given


def _json_from_text(given: str) -> object:
    try:
        return json.loads(given)
    except ValueError:
        return given


def _list_from_text(given: str) -> object:
    if given.lstrip().startswith("["):
        return _json_from_text(given)
    return [part.strip() for part in given.split(",") if part.strip()]


def _map_from_text(given: str) -> object:
    if given.lstrip().startswith("{"):
        return _json_from_text(given)
    pairs = [part.partition("=") for part in given.split(",") if part.strip()]
    if not all(middle for _, middle, _ in pairs):
        return given
    return {key.strip(): value.strip() for key, _, value in pairs}
