"""Private keys in a text: whole, cut off, and with their lines broken in every way that occurs."""

import base64
import json
import random

import pytest

from harness.planted import fill, mark, pem
from retaind.core.redact import Redaction, redact

PEM_NAMES = (
    "PRIVATE KEY",
    "RSA PRIVATE KEY",
    "EC PRIVATE KEY",
    "OPENSSH PRIVATE KEY",
    "ENCRYPTED PRIVATE KEY",
)


@pytest.mark.parametrize("name", [*PEM_NAMES, "PGP PRIVATE KEY BLOCK"])
@pytest.mark.parametrize(
    "newline",
    ["\n", "\r\n", "\\n", "\\\\n", " ", "\n    ", "\n+", "\n> ", '\\n" +\n    "'],
    ids=[
        "lf",
        "crlf",
        "escaped",
        "escaped-twice",
        "one-line",
        "indented",
        "diff",
        "quoted",
        "joined-literals",
    ],
)
def test_a_private_key_goes_whole_however_its_lines_are_broken(name: str, newline: str) -> None:
    key = pem(random.Random(newline), name, 20, newline)
    assert redact(f'key = "{key}" # done') == Redaction(
        f'key = "{mark("private-key")}" # done', {"private-key": 1}
    )


def test_a_private_key_in_a_numbered_listing_goes_whole() -> None:
    key = pem(random.Random(1), "OPENSSH PRIVATE KEY", 6)
    listing = "\n".join(f"{n:6}\u2192{line}" for n, line in enumerate(key.split("\n"), 1))
    assert redact(listing).text == f"     1\u2192{mark('private-key')}"


def test_a_private_key_that_is_cut_off_goes_too() -> None:
    key = pem(random.Random(2), "RSA PRIVATE KEY", 8)
    cut = key[: len(key) // 2].rpartition("\n")[0]
    assert redact(cut + "\n\nand so on").text == mark("private-key") + "\n\nand so on"


def test_headers_inside_a_private_key_go_with_it() -> None:
    key = pem(random.Random(3), "RSA PRIVATE KEY", 8)
    head, _, rest = key.partition("\n")
    encrypted = f"{head}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B2C\n\n{rest}"
    assert redact(encrypted).text == mark("private-key")


def test_a_service_account_keeps_all_but_its_key() -> None:
    account = {
        "type": "service_account",
        "private_key": pem(random.Random(4), "PRIVATE KEY", 20) + "\n",
    }
    redacted = json.loads(redact(json.dumps(account | {"client_email": "robot@project.iam"})).text)
    assert redacted["private_key"].strip() == mark("private-key")
    assert redacted["client_email"] == "robot@project.iam"


def test_a_private_key_in_base64_goes_and_a_certificate_stays() -> None:
    key = base64.b64encode(pem(random.Random(5), "RSA PRIVATE KEY", 8).encode()).decode()
    certificate = base64.b64encode(pem(random.Random(6), "CERTIFICATE", 8).encode()).decode()
    text = f"client-certificate-data: {certificate}\nclient-key-data: {key}\n"
    assert (
        redact(text).text
        == f"client-certificate-data: {certificate}\nclient-key-data: {mark('private-key')}\n"
    )


def test_a_putty_key_loses_its_private_lines() -> None:
    chance = random.Random(7)
    public, private = fill("<b64>\n<b64>", chance), fill("<b64>\n<b64>", chance)
    text = (
        f"PuTTY-User-Key-File-3: ssh-rsa\nPublic-Lines: 2\n{public}\nPrivate-Lines: 2\n{private}\n"
    )
    redacted = redact(text).text
    assert public in redacted
    assert private.split("\n")[1] not in redacted
