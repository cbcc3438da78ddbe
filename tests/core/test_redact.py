"""Secrets that are planted in a text, by the form of each kind, and what stays around them."""

import base64
import json
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.planted import FORMS, fill, mark, sample
from retaind.core.redact import Redaction, redact
from retaind.core.secret_rules import ASSIGNED, PLACED, TOKENS

# What may stand before and after a secret.
SETTINGS = (
    ("", ""),
    ("The value is ", " and nothing else."),
    ("     12\u2192", "\n     13\u2192next line"),
    ("first line\\n", "\\nlast line"),
    ("größer \u2026 ", " \U0001f600"),
    ("\x1b[32m", "\x1b[0m"),
)


@pytest.mark.parametrize(
    ("kind", "form"), FORMS, ids=[f"{kind}-{n}" for n, (kind, _) in enumerate(FORMS)]
)
def test_a_planted_secret_becomes_a_marker_and_the_text_around_it_stays(
    kind: str, form: str
) -> None:
    chance = random.Random(form)
    missed = 0
    for before, after in SETTINGS * 10:
        planted, secret = sample(form, chance)
        text = before + planted + after
        redacted = redact(text)
        missed += redacted == Redaction(text, {})
        assert redacted in (
            Redaction(text.replace(secret, mark(kind)), {kind: 1}),
            Redaction(text, {}),
        )
    assert missed <= 3  # of 60: chance also makes what looks like a name


def test_every_kind_is_planted_somewhere() -> None:
    planted = {kind for kind, _ in FORMS} | {
        "private-key",
        "docker-auth",
    }  # these two: further down
    assert planted == {rule.kind for rule in (*TOKENS, *PLACED, *ASSIGNED)}


def test_a_basic_credential_is_known_by_what_it_encodes() -> None:
    credential = base64.b64encode(fill("robot:<p16>", random.Random(8)).encode()).decode()
    assert (
        redact(f"Authorization: Basic {credential}").text
        == f"Authorization: Basic {mark('authorization')}"
    )
    assert redact("follows the Basic principles of accessibility") == (
        "follows the Basic principles of accessibility",
        {},
    )


def test_a_docker_login_loses_its_auth() -> None:
    auth = base64.b64encode(fill("robot:<w20>", random.Random(9)).encode()).decode()
    config = json.dumps({"auths": {"registry.internal": {"auth": auth}}})
    assert redact(config).text == config.replace(auth, mark("docker-auth"))


def test_a_url_keeps_its_user_and_host() -> None:
    password = fill("<p16>", random.Random(11))
    text = f"DATABASE_URL=postgresql+asyncpg://svc:{password}@db.internal/app?sslmode=require"
    assert redact(text).text == text.replace(password, mark("url-password"))


def test_each_secret_is_counted_by_its_kind() -> None:
    chance = random.Random(12)
    text = " ".join(fill(form, chance) for form in ("ghp_<w36>", "npm_<w36>", "ghp_<w36>"))
    assert redact(text).kinds == {"github-token": 2, "npm-token": 1}


PIECES = st.one_of(
    st.sampled_from(FORMS).map(lambda pair: sample(pair[1], random.Random(pair[1]))[0]),
    st.sampled_from(
        [
            "\n",
            " ",
            '"',
            "'",
            "=",
            ":",
            "@",
            "://",
            "password",
            "token=",
            "\\n",
            "%3D",
            ";",
            "Bearer ",
        ]
    ),
    st.sampled_from(
        [mark("jwt"), mark("password"), mark("url-password"), "[redacted:", "]", "Cookie: a="]
    ),
    st.text(max_size=12),
    st.text(st.characters(categories=["Cs"]), max_size=3),
)
TEXTS = st.lists(PIECES, max_size=8).map("".join)


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_redacting_a_redacted_text_changes_nothing(text: str) -> None:
    once = redact(text)
    assert redact(once.text) == (once.text, {})


@given(st.text(st.characters()))
@settings(max_examples=300, deadline=None)
def test_any_text_is_taken_and_one_without_a_count_is_unchanged(text: str) -> None:
    redacted = redact(text)
    assert bool(redacted.kinds) == (redacted.text != text)


@given(st.text(st.characters()), st.text(st.characters()))
@settings(max_examples=200, deadline=None)
def test_what_surrounds_a_secret_comes_through_exactly(before: str, after: str) -> None:
    token = fill("glpat-<u20>", random.Random(14))
    assert mark("gitlab-token") in redact(f"{before} {token} {after}").text


def test_lone_surrogates_come_through_beside_a_secret() -> None:
    token = fill("npm_<w36>", random.Random(15))
    assert redact(f"\ud800 {token} \udfff").text == f"\ud800 {mark('npm-token')} \udfff"


def test_every_rule_has_at_most_one_group_and_a_plain_kind() -> None:
    for rule in (*TOKENS, *PLACED, *ASSIGNED):
        assert re.compile(rule.pattern).groups <= 1, rule.kind
        assert re.fullmatch("[a-z0-9-]+", rule.kind)
