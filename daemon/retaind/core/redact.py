r"""Redaction: secrets in text are replaced by a marker that names their kind, `[redacted:github-token]`.

What a secret is stands in `secret_rules`; here is only the engine. Its time is linear in the text, because
RE2 never goes back. Most text holds nothing, and one pass of the *gate* says so: every pattern at once, with
its repetitions cut short. That keeps the automaton small, and lets through all that a pattern could match.
Where the gate names some rules, their exact patterns are used, one after the other.
"""

import re
from functools import cache
from typing import Any, NamedTuple

from retaind.core.secret_rules import ASSIGNED, PLACED, TOKENS, Rule

# Ahead of a secret: a word's edge, or what an escape leaves there (`\n`, `%3D`, `\u003d`, a colour's end).
_EDGE = rb"(?:\b|\\[nrtbf]|%[0-9A-Fa-f]{2}|\\u[0-9A-Fa-f]{4}|\[[0-9;]*m)"
_RULES = TOKENS + PLACED + ASSIGNED
_REPEAT = re.compile(rb"\{(\d+)(?:,\d*)?\}")
_GATE_REPEATS = 6
_AUTOMATON_BYTES = (
    4 * 1024 * 1024
)  # of states at most, for each pattern; real text needs half of it


class Redaction(NamedTuple):
    """Text without the secrets that are known by form or name, and how many of each kind there were."""

    text: str
    kinds: dict[str, int]


def redact(text: str) -> Redaction:
    """Replace each secret by `[redacted:KIND]`. Never raises; a redacted text comes back unchanged.

    A secret of which the text holds only a part is not recognised: whoever splits a conversation
    must redact before splitting it.
    """
    data = text.encode("utf-8", "surrogatepass")
    gate, behind = _gate()
    found = gate.Match(data)
    if not found:
        return Redaction(text, {})
    kinds: dict[str, int] = {}
    # A marker can uncover what stood behind the secret, so go on until nothing changes. It ends:
    # no marker is replaced by itself, and every other replacement leaves less to replace.
    while found:
        before = data
        for index in sorted({index for place in found for index in behind[place]}):
            data = _replace(data, index, kinds)
        found = gate.Match(data) if data != before else ()
    return Redaction(data.decode("utf-8", "surrogatepass"), kinds) if kinds else Redaction(text, {})


def _replace(data: bytes, index: int, kinds: dict[str, int]) -> bytes:
    rule, exact = _RULES[index], _exact(index)
    innermost = exact.groups
    pieces: list[bytes] = []
    kept = 0
    for match in exact.finditer(data):
        start, end = match.span(innermost)
        if rule.check(data[start:end]):
            pieces += data[kept:start], b"[redacted:" + rule.kind.encode() + b"]"
            kinds[rule.kind] = kinds.get(rule.kind, 0) + 1
            kept = end
    return b"".join((*pieces, data[kept:])) if pieces else data


@cache
def _gate() -> tuple[Any, list[list[int]]]:
    """Return the set of what to look for first, and for each of its members the rules behind it."""
    import re2  # 5 ms and 3 MiB, and not every process redacts

    behind: dict[bytes, list[int]] = {}
    for index, rule in enumerate(_RULES):
        behind.setdefault(rule.hint or _shortened(_whole(rule)), []).append(index)
    gate = re2.Set.SearchSet(_options())
    for pattern in behind:
        gate.Add(pattern)
    gate.Compile()
    return gate, list(behind.values())


@cache
def _exact(index: int) -> Any:
    """Return a rule's pattern, compiled when first needed; its last group is what to replace."""
    import re2

    return re2.compile(_whole(_RULES[index]), _options())


def _whole(rule: Rule) -> bytes:
    """Return a rule's pattern with the edge ahead of it, inside a group."""
    return (_EDGE if rule in TOKENS else b"") + b"(" + rule.pattern + b")"


def _shortened(pattern: bytes) -> bytes:
    return _REPEAT.sub(lambda repeat: b"{%d,}" % min(int(repeat[1]), _GATE_REPEATS), pattern)


def _options() -> Any:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _AUTOMATON_BYTES
    options.log_errors = False
    return options
