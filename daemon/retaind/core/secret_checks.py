"""What only looks like a secret: stand-ins, names, words, and text with too little chance in it.

Each check takes the bytes that would be replaced and answers whether they are a secret after all.
The bounds were set on 500 MB of source code and documentation, and on 20 MB of real transcripts.
"""

import base64
import binascii
import math
import re
from collections import Counter
from itertools import pairwise

_STAND_INS = (
    *(b"xxxx", b"****", b"....", b"\xe2\x80\xa6", b"<", b">", b"${", b"$(", b"{{", b"{%", b"%("),
    *(b"example", b"changeme", b"change-me", b"change_me", b"placeholder", b"dummy", b"redacted"),
    *(b"your", b"replace"),
)
# What is left of a value's letters when it is no password of anybody's: `password123`, `test-token`.
_STEMS = frozenset(
    b"""
    password passwd pass pwd secret secrets token tokens admin root user username test tests testing
    foo bar baz example demo key value apikey mytoken mypassword mysecret testtoken testpassword
    testsecret none null nil true false undefined string str int bool bytes unknown required
    optional hidden postgres mysql guest default changeme wrong correct new old my your
    """.split()
)
# The neighbours that make up most of the words of English and of names in code.
_COMMON_PAIRS = frozenset(
    b"""
    th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co
    me de hi ri ro ic ne ea ra ce li ch ll be ma si om ur ca el ta la ns di fo ho pe ec pr no ct us
    ac ot il tr ly nc et ut ss so rs un lo wa ge ie wh ee wi em ad ol rt po we na ul ni ts mo ow pa
    im mi ai sh ir su id os iv ia am fi ci vi pl ig tu ev ld ry mp fe bl ab gh ty op wo sa ay ex ke
    fr oo av ag if ap gr od bo sp rd do uc bu ov
    """.split()
)
_SIGNS = re.compile(rb"[^a-z]+")
_PIECES = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_LETTERS = re.compile(rb"[a-z]{2,}")
_DIGITS = re.compile(rb"[0-9]+")
_DIGITS_ONLY = re.compile(rb"[^A-Za-z]*")
_HEX = re.compile(rb"[0-9a-f]{16,}|[0-9A-F]{16,}")
_UUID = re.compile(rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NAME = re.compile(rb"[A-Za-z_$][A-Za-z_$.-]*")
_JOINED_NAME = re.compile(rb"[A-Za-z_$]+[0-9]*(?:[._$/-]+[A-Za-z]*[0-9]*)+")
_PLAIN_NAME = re.compile(rb"[._$-]*(?:(?:[A-Z]?[a-z]+|[A-Z]+)(?:[._$-]+|$))+")
_VERSION = re.compile(rb"\d+(?:\.\d+)+")
_CODE = re.compile(rb"[$/~@%#]|\.{1,2}/|http|--|.*(?:[(\[ ]|::|->|=>)")
_TEMPLATE = re.compile(rb"[$%]|\*{3}|.*(?:\{|\[\^|\]\+|\(\?|\.{3}|\[redacted:|xxx|\xe2\x80\xa6)")
_MADE_FOR = (b"sk-", b"ghp_", b"gho_", b"github_pat_", b"glpat-", b"xox", b"hf_", b"npm_", b"pypi-")
_COOKIE_ATTRIBUTES = frozenset((b"expires", b"max-age", b"path", b"domain", b"samesite"))

_STAND_IN_SHOWS_BYTES = 80
_LEAST_ENTROPY_BITS = 2.8
_SHORT_RUN = 2.5
_LONG_RUN = 4.5
_PASSWORD_RUN = 5.5
_COMMON_BY_CHANCE = 0.23
_SIGNIFICANT = 1.05  # 2.5 standard deviations of a pair that is common by chance
_LEAST_PAIRS = 4
_LEAST_DIGITS = 4
_LEAST_OF_EITHER = 2  # digits and letters in a hexadecimal number
_LEAST_KEY_BYTES = 16
_LEAST_PREFIXED_BYTES = 10
_LEAST_PASSWORD_BYTES = 6


def is_filled_in(value: bytes) -> bool:
    """Tell whether this is no stand-in, such as `xxxx`, `<token>`, `${VAR}` or an example's key."""
    # In long values chance itself makes four equal letters; a stand-in shows itself early.
    lowered = value[:_STAND_IN_SHOWS_BYTES].lower()
    return not any(mark in lowered for mark in _STAND_INS)


def is_always(_: bytes) -> bool:
    """Tell nothing: the form alone is proof enough."""
    return True


def is_varied(value: bytes) -> bool:
    """Tell whether this is filled in, and not with a few signs over and over."""
    return len(set(value.lower())) >= min(8, 3 + len(value) // 8) and is_filled_in(value)


def is_random(value: bytes) -> bool:
    """Tell whether chance made it: signs of many sorts mixed, as in no word, name or path."""
    if not is_varied(value) or entropy_bits(value) < _LEAST_ENTROPY_BITS:
        return False
    if _HEX.fullmatch(value):
        return _LEAST_OF_EITHER <= len(_DIGITS.sub(b"", value)) <= len(value) - _LEAST_OF_EITHER
    run = mean_run(value)
    return run < _SHORT_RUN or (run < _LONG_RUN and not is_wordy(value))


def is_mixed(value: bytes) -> bool:
    """Tell whether letters stand beside several digits, as in made-up tokens: `tok_live_1234567890abcdef`."""
    digits = len(value) - len(_DIGITS.sub(b"", value))
    return is_varied(value) and digits >= _LEAST_DIGITS and not _DIGITS_ONLY.fullmatch(value)


def entropy_bits(value: bytes) -> float:
    """Return Shannon's entropy per byte, from the bytes' own frequencies."""
    size = len(value)
    return -sum(n / size * math.log2(n / size) for n in Counter(value).values())


def mean_run(value: bytes) -> float:
    """Return the mean length of the words and numbers in a value, which signs only divide.

    Names and paths have pieces of four and more (`get_user_token`), keys below three (`q7Rz0vK2`).
    A capital letter and the small ones after it are one piece.
    """
    pieces = _PIECES.findall(value)
    return sum(map(len, pieces)) / max(1, len(pieces))


def is_wordy(value: bytes) -> bool:
    """Tell whether its letters follow each other as in words: too many common pairs to be chance.

    By chance 23 % of the pairs are common, in words and names about 70 %.
    """
    pairs = [bytes(pair) for piece in _LETTERS.findall(value.lower()) for pair in pairwise(piece)]
    common = sum(pair in _COMMON_PAIRS for pair in pairs)
    bound = _COMMON_BY_CHANCE * len(pairs) + _SIGNIFICANT * math.sqrt(len(pairs))
    return len(pairs) >= _LEAST_PAIRS and common > bound


def is_assigned_key(value: bytes) -> bool:
    """Tell whether the value of a name like `api_key` or `token` is a secret: long and made by chance.

    A UUID alone is an id more often than a key, and stays. A vendor's prefix makes a short value one.
    """
    if value.startswith(_MADE_FOR) and len(value) >= _LEAST_PREFIXED_BYTES:
        return is_varied(value)
    if len(value) < _LEAST_KEY_BYTES or _is_code(value) or _UUID.fullmatch(value):
        return False
    return is_random(value) or is_mixed(value)


def is_assigned_password(value: bytes) -> bool:
    """Tell whether the value of a name like `password` is a secret: people's are short and half words."""
    if len(value) < _LEAST_PASSWORD_BYTES or _is_code(value) or not is_varied(value):
        return False
    one_case = value.isalpha() and (value.islower() or value.isupper())
    return not one_case and not _is_stem(value) and mean_run(value) < _PASSWORD_RUN


def is_url_password(value: bytes) -> bool:
    """Tell whether what stands between `user:` and `@host` is a password, and not a template or a version."""
    return not (_TEMPLATE.match(value) or _VERSION.fullmatch(value) or _is_stem(value))


def is_basic_credential(value: bytes) -> bool:
    """Tell whether base64 holds `user:password`, as in an Authorization header or a Docker login."""
    try:
        plain = base64.b64decode(value + b"=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    _, colon, password = plain.partition(b":")
    return bool(colon and password) and plain.isascii() and plain.decode().isprintable()


def holds_private_key(value: bytes) -> bool:
    """Tell whether base64 of an envelope holds a private key, and not a certificate."""
    return b"PRIVATE KEY" in base64.b64decode(value[:80])


def is_cookie_value(value: bytes) -> bool:
    """Tell whether one of the cookies in a header's value is long and made by chance."""
    pairs = (part.strip().partition(b"=") for part in value.split(b";"))
    return any(
        len(held) >= _LEAST_KEY_BYTES and name.lower() not in _COOKIE_ATTRIBUTES and is_random(held)
        for name, _, held in pairs
    )


def _is_code(value: bytes) -> bool:
    """Tell whether a value is a path, a name, a call or a type rather than text of its own."""
    if _PLAIN_NAME.fullmatch(value) or (_NAME.fullmatch(value) and is_wordy(value)):
        return True
    if _JOINED_NAME.fullmatch(value) and is_wordy(value):
        return True
    return _CODE.match(value) is not None


def _is_stem(value: bytes) -> bool:
    return _SIGNS.sub(b"", value.lower()) in _STEMS


def is_header_token(value: bytes) -> bool:
    """Tell whether what an Authorization header carries is a token, and not the name of one."""
    return not _is_code(value) and (is_random(value) or is_mixed(value))
