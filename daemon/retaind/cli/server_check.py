"""What `doctor` says of a Hindsight server: as the daemon sees it, for nobody else speaks to it."""

from collections.abc import Iterator, Mapping
from typing import Any

from retaind.cli.check import Check
from retaind.cli.output import counted, size

_NAME = "hindsight"


def server_checks(url: str | None, status: Mapping[str, Any] | None) -> Iterator[Check]:
    """Say how the configured server is, by what `status` of the daemon answered; None when it did not."""
    if url is None:
        return
    known = None if status is None else status["memories"].get(_NAME)
    if known is None:
        yield Check(
            _NAME,
            "warn",
            f"{url} is configured; only a daemon that was started since then says how it is",
            "retaind restart",
        )
        return
    documents = known["documents"]
    waits = waiting(known)
    if known.get("state") == "paused":
        yield Check(
            _NAME,
            "fail",
            f"{url} is paused: {known['detail']}; {waits or 'nothing waits'}",
            "set memory.hindsight.url, token or token_file right; then retaind reload",
        )
    elif known["circuit"] != "closed" or known["server_version"] is None:
        why = known["detail"] or "it has not answered yet"
        yield Check(
            _NAME,
            "warn",
            f"{url}: {why}; {f'{waits}, and are kept' if waits else 'nothing waits'}",
            "see that the server runs; delivery goes on by itself",
        )
    else:
        yield Check(
            _NAME,
            "ok",
            f"{url}, version {known['server_version']}, has"
            f" {counted(documents['completed'], 'document')}; {waits or 'nothing waits'}",
        )
    if count := documents["set_aside"]:
        left = f"{counted(count, 'document was', 'documents were')} not taken"
        yield Check(_NAME, "warn", left, "retaind retry")


def waiting(known: Mapping[str, Any]) -> str:
    """Say what waits for a remote memory, by what `status` says of it; "" where nothing does."""
    documents = known["documents"]["planned"] + known["documents"]["accepted"]
    parts = [counted(documents, "document")] if documents else []
    parts += [f"{size(known['pending_bytes'])} of transcripts"] if known["pending_bytes"] else []
    verb = "waits" if documents == len(parts) == 1 else "wait"
    return f"{' and '.join(parts)} {verb}" if parts else ""
