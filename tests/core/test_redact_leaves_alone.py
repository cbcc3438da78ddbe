"""What looks a little like a secret, and is left alone."""

import base64
import hashlib
import json
import random
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from retaind.core.redact import redact

LEFT_ALONE = (
    "password = os.environ['DB_PASSWORD']",
    "password: ${DB_PASSWORD}",
    "DB_PASSWORD=changeme",
    "DB_PASSWORD=password123",
    'api_key = "<your-api-key>"',
    "API_KEY=your-api-key-goes-here-1234567",
    "OPENAI_API_KEY=sk-...",
    "export GH_TOKEN=github_pat_xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "token: '********************'",
    "const token = await getToken(request, options2);",
    "self.access_token = response2.json()['access_token']",
    "access_token=credentials.access_token_v2,",
    "password=self.db_password1_value,",
    "interface Options { apiKey: string; password?: string }",
    "input_tokens: 123456789012, max_tokens=4096",
    "PWD=/home/dev/lab/project-2/src",
    "token_count = 9f86d081884c7d65",
    "postgres://user:password@localhost/app",
    "postgres://${USER}:${PASS}@${HOST}/app",
    "f'postgres://{user}:{password}@{host}/app'",
    "https://example.com:8080/path?next=a@b",
    "git clone git@github.com:owner/repository.git",
    "docker pull docker://alpine:3.19@sha256:0f1e2d3c4b5a",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    "uses bearer authentication-mechanisms everywhere",
    "risk-assessment-of-long-words task-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "the header -----BEGIN RSA PRIVATE KEY----- is followed by lines of base64",
    "Cookie: theme=dark; lang=en",
    "AKIAXXXXXXXXXXXXXXXX",
    "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "arn:aws:iam::123456789012:role/service-role/lambda",
)


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_code_and_stand_ins_are_left_alone(text: str) -> None:
    assert redact(text) == (text, {})


def test_an_example_key_is_left_alone() -> None:
    for text in (
        "AKIA" + "IOSFODNN7EXAMPLE",
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG" + "/bPxRfiCYEXAMPLEKEY",
    ):
        assert redact(text) == (text, {})


def test_hashes_ids_and_images_are_left_alone() -> None:
    chance = random.Random(13)
    blob = chance.randbytes(300_000)
    ids = [str(uuid.UUID(int=chance.getrandbits(128), version=4)) for _ in range(2000)]
    text = "\n".join(
        (
            *(f"{hashlib.sha1(i.encode(), usedforsecurity=False).hexdigest()} commit" for i in ids),
            *(f"sha256:{hashlib.sha256(i.encode()).hexdigest()} session_id={i}" for i in ids),
            "data:image/png;base64," + base64.b64encode(blob).decode(),
            base64.encodebytes(blob).decode(),
            base64.urlsafe_b64encode(blob[:100_000]).decode(),
            *(
                f'"integrity": "sha512-{base64.b64encode(chance.randbytes(64)).decode()}"'
                for _ in range(500)
            ),
        )
    )
    assert redact(text) == (text, {})


def transcript_texts(folder: Path) -> Iterator[str]:
    """Yield every text that stands anywhere in the lines of a folder's transcripts."""

    def texts(value: object) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | dict):
            for part in value.values() if isinstance(value, dict) else value:
                yield from texts(part)

    for path in sorted(folder.rglob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            try:
                yield from texts(json.loads(line))
            except ValueError:
                continue


def test_real_transcripts_have_at_most_one_false_hit_in_ten_megabytes() -> None:
    corpus = Path(__file__).resolve().parents[3] / "shared" / "corpus"
    if not corpus.is_dir():
        pytest.skip("there is no folder of real transcripts beside this repository")
    size = hits = 0
    for text in transcript_texts(corpus):
        size += len(text)
        hits += sum(redact(text).kinds.values())
    assert hits <= size / 10_000_000


# Pieces that make, end, hide or spoil secrets, so that chance puts together what nobody thought of.
