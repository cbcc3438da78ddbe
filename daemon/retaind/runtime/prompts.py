"""What an agent is given unasked at its prompts: little, in time, of other sessions, and nothing twice."""

import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread

from retaind.config import Settings
from retaind.core.recall import Memory, only_urges, render_block
from retaind.db import Connection, Database
from retaind.errors import Ambiguous, RetentionError
from retaind.memory.local.conversations import message_key
from retaind.runtime.admission import Admission
from retaind.runtime.controls import Facts, PromptRequest, RecallRequest
from retaind.runtime.given import given_to, note_given
from retaind.runtime.lineage import Lineage
from retaind.runtime.projects import project_name
from retaind.runtime.recalling import ask_local, lines_of, question

if TYPE_CHECKING:
    from retaind.runtime.remote import Remote

_SESSIONS: Final = 256
_LOCAL_S: Final = 0.2
"""What is left of a deadline for the local memory, when a remote one has not answered."""
_NOTHING: Final[Facts] = {"block": ""}


@dataclass(frozen=True, slots=True)
class _Given:
    block: str
    keys: frozenset[int]


@dataclass(slots=True)
class Prompts:
    """Answers prompts; remembers what each session was given, and for which prompt last."""

    database: Database
    lineage: Lineage = field(default_factory=Lineage)
    _answered: OrderedDict[str, str] = field(default_factory=OrderedDict)

    async def answer(
        self, request: PromptRequest, settings: Settings, remote: "Remote | None"
    ) -> Facts:
        """Return `block`: what to give for the prompt, or "" where nothing is better.

        What would come too late is not given, and does not count as given.
        """
        until = _until(request, settings)
        session = request.session_id or ""
        parent = self.lineage.parent(session, request.cwd or "")
        if not _is_wanted(request, settings, until) or self._is_answered(session, request):
            return _NOTHING
        asked = RecallRequest(request.prompt, request.session_id, cwd=request.cwd, parent_id=parent)
        found = None
        if await _is_kept(request, settings, until):
            found = await self._remembered(asked, settings, remote, until)
        if found is None or not found.block or time.monotonic() > until:
            return _NOTHING
        if session:
            await self.database.write(lambda c: note_given(c, session, found.keys))
        return {"block": found.block}

    async def _remembered(
        self, asked: RecallRequest, settings: Settings, remote: "Remote | None", until: float
    ) -> _Given | None:
        """Ask the memory of the settings; where a remote one does not answer in time, the local one."""
        before = await self.database.read(lambda c: _given_before(c, asked))
        if before is None:
            return None
        if settings.recall.memory == "hindsight" and remote is not None:
            try:
                with anyio.fail_after(max(0.0, until - time.monotonic() - _LOCAL_S)):
                    return _without(await remote.recall(asked, settings), before, settings)
            except (TimeoutError, RetentionError):
                pass
        return await self.database.read(lambda c: _from_local(c, asked, settings, before))

    def _is_answered(self, session: str, request: PromptRequest) -> bool:
        """Whether this very prompt came before: hooks may be installed twice, in settings and plugin."""
        mark = request.prompt_id or request.prompt
        if self._answered.get(session) == mark:
            return True
        self._answered[session] = mark
        self._answered.move_to_end(session)
        if len(self._answered) > _SESSIONS:
            self._answered.popitem(last=False)
        return False


def _until(request: PromptRequest, settings: Settings) -> float:
    """Return when the agent stops waiting, on the monotonic clock that processes of a machine share."""
    latest = time.monotonic() + settings.recall.deadline_ms / 1000
    return latest if request.until is None else min(latest, request.until)


def _is_wanted(request: PromptRequest, settings: Settings, until: float) -> bool:
    """Whether a prompt asks for memories at all, and somebody still waits for them."""
    prompt = request.prompt.strip()
    chosen = settings.recall
    return (
        chosen.auto
        and len(prompt) >= chosen.min_prompt_chars
        and time.monotonic() < until
        and not only_urges(prompt)
    )


async def _is_kept(request: PromptRequest, settings: Settings, until: float) -> bool:
    """Whether the rules keep the session that asks: one of which nothing is kept is given nothing.

    Looks at the file system, on a thread of its own that is left alone if it hangs.
    """
    with anyio.move_on_after(max(0.0, until - time.monotonic())):
        return await anyio.to_thread.run_sync(
            _is_kept_now, request, settings, abandon_on_cancel=True
        )
    return False


def _is_kept_now(request: PromptRequest, settings: Settings) -> bool:
    admission = Admission(settings.exclusion, project_name)
    path, cwd = request.path or "", request.cwd or ""
    if path and admission.excluded_path(path.encode(errors="replace")):
        return False
    project = project_name(cwd) if cwd.startswith("/") else None
    return admission.mode_of_folder(cwd or None, project) == "full"


def _from_local(
    connection: Connection, asked: RecallRequest, settings: Settings, before: frozenset[int]
) -> _Given:
    try:
        composed = question(connection, asked, settings)
    except (
        Ambiguous
    ):  # the session's transcript is there twice: it gives no context, and is left out
        composed = question(connection, _unknown(asked), settings)
    found = ask_local(connection, composed, settings, time.time(), before)
    return _Given(found.block, found.keys)


def _unknown(asked: RecallRequest) -> RecallRequest:
    return RecallRequest(asked.prompt, cwd=asked.cwd, parent_id=asked.session_id)


def _given_before(connection: Connection, asked: RecallRequest) -> frozenset[int] | None:
    """Return what the session was given already, itself or before it was forked; None if it is not kept."""
    names = [one for one in (asked.session_id, asked.parent_id) if one is not None]
    not_kept = connection.execute(
        "SELECT 1 FROM stream WHERE session_id = ? AND kind = 'session' AND mode != 'full'",
        (asked.session_id,),
    )
    if not_kept.fetchone() is not None:
        return None
    return given_to(connection, tuple(dict.fromkeys((*names, *lines_of(connection, names)))))


def _without(facts: Mapping[str, Any], given: frozenset[int], settings: Settings) -> _Given:
    """Write the block anew, of those results that were not given before."""
    results = [one for one in facts["results"] if message_key(one["text"]) not in given]
    if len(results) == len(facts["results"]):
        return _Given(facts["block"], frozenset(message_key(one["text"]) for one in results))
    block = render_block(
        [Memory((one["text"],), one["timestamp"], one["project"]) for one in results],
        datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        settings.recall.max_tokens,
        settings.recall.preamble,
    )
    return _Given(block.text, frozenset(message_key(shown.text) for shown in block.shown))
