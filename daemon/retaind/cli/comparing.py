"""What the Hindsight plugin sent, message by message, against what retaind reads from the vault."""

import json
import re
import sqlite3
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from retaind.cli import context
from retaind.cli.output import counted
from retaind.cli.show import messages_of
from retaind.cli.toml_text import settings_of
from retaind.errors import MemoryDown
from retaind.runtime.banks import derive
from retaind.runtime.catalog import Stream
from retaind.runtime.catalog import load as sessions

_TIMEOUT_S: Final = 30.0
_PAGE: Final = 100
_MESSAGE: Final = re.compile(r"\[role: (\w+)\]\n(.*?)\n\[\1:end\]", re.DOTALL)
Said = tuple[str, str]


class _Server(NamedTuple):
    url: str
    token: str

    def get(self, path: str) -> Any:
        """Ask for JSON; None for what is not there. Raises MemoryDown when there is no answer."""
        request = urllib.request.Request(f"{self.url}{path}")  # noqa: S310 - the settings allow http(s) only
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            if error.code == 404:  # noqa: PLR2004 - not found
                return None
            raise MemoryDown(f"{self.url} answers {error.code}", fix="look at its log") from None
        except (OSError, ValueError) as error:
            why = str(getattr(error, "reason", error))
            raise MemoryDown(f"{self.url} does not answer", why=why, fix="start it") from None


def compare_with_plugin(config: str) -> int:
    """Compare every session that is kept; `config` is the text of config.toml. Returns the exit code.

    Prints ids and counts, never what was said.
    """
    settings = settings_of(config)
    token = settings.hindsight.token
    if settings.hindsight.token_file:
        token = Path(settings.hindsight.token_file).read_text(encoding="utf-8").strip()
    server = _Server(settings.hindsight.url, token)
    lost = compared = 0
    with context.reader() as connection:
        for one in sessions(connection):
            if one.stream.kind != "session":
                continue
            session = one.stream.session_id
            bank = derive(settings.hindsight, settings.bank, session, one.stream.cwd)
            sent = set(_sent(server, bank, session))
            if not sent:
                continue
            compared += 1
            differing = len(sent - _kept(connection, one.stream))
            lost += differing
            same = len(sent) - differing
            print(
                f"{session}: {counted(len(sent), 'message')} of the plugin's, {same} the same here"
            )
    print(f"compared {counted(compared, 'session')}; {counted(lost, 'message')} differ")
    return 1 if lost else 0


def _sent(server: _Server, bank: str, session: str) -> Iterator[Said]:
    """Yield the messages of all documents that the plugin made of a session."""
    documents = f"/v1/default/banks/{quote(bank, safe='')}/documents"
    offset = 0
    while True:
        query = f"q={quote(session, safe='')}&limit={_PAGE}&offset={offset}"
        items = (server.get(f"{documents}?{query}") or {}).get("items") or []
        for item in items:
            if _is_plugins(str(item.get("id")), session):
                found = server.get(f"{documents}/{quote(item['id'], safe='')}") or {}
                yield from _messages(str(found.get("original_text") or ""))
        offset += len(items)
        if len(items) < _PAGE:
            return


def _is_plugins(document: str, session: str) -> bool:
    """Whether an id is the plugin's: the session's, or with a part behind a hyphen. Ours have an @."""
    return document == session or document.startswith(f"{session}-")


def _messages(text: str) -> Iterator[Said]:
    """Yield role and text of each message, from the plugin's text form or its JSON form."""
    for role, said in _MESSAGE.findall(text):
        yield role, _plain(said)
    if text.lstrip().startswith("["):
        try:
            found = json.loads(text)
        except ValueError:
            return
        for one in found if isinstance(found, list) else ():
            if isinstance(one, dict) and (said := _plain(_content(one.get("content")))):
                yield str(one.get("role")), said


def _content(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else ()
    texts = (
        one.get("text") for one in blocks if isinstance(one, dict) and one.get("type") == "text"
    )
    return "\n".join(text for text in texts if isinstance(text, str))


def _kept(connection: sqlite3.Connection, stream: Stream) -> set[Said]:
    """Return role and text of each message that retaind reads from the session, without redaction."""
    policy = replace(context.policy(), redact=False, roles=("user", "assistant"), min_chars=1)
    return {(one.speaker, _plain(one.text)) for one in messages_of(connection, stream, policy)}


def _plain(text: str) -> str:
    return " ".join(text.split())
