"""The local memory as the settings want it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from retaind.config import Settings
from retaind.db import Database
from retaind.memory.local import Limits
from retaind.runtime.tokenizing import counter

if TYPE_CHECKING:
    from retaind.runtime.extraction import Extraction


def local_limits(settings: Settings) -> Limits:
    """Return how the local memory cuts and counts; ConfigError for a tokenizer that is not installed."""
    chosen = settings.local
    return Limits(
        chunk_chars=chosen.chunk_chars,
        batch_tokens=chosen.batch_tokens,
        count=counter(settings.metering.tokenizer),
        tokenizer=settings.metering.tokenizer,
        extractor=chosen.extractor,
    )


def open_extraction(
    settings: Settings,
    database: Database,
    memory: str,
    on_result: Callable[[], None],
    log: Callable[..., object],
) -> "Extraction | None":
    """Return what extracts by a model; None where the index alone does."""
    chosen = settings.local.llm
    if settings.local.extractor != "llm" or not settings.local.enabled:
        return None
    from retaind.memory.local.llm import Endpoint
    from retaind.runtime.extraction import Extraction

    endpoint = Endpoint(
        chosen.base_url,
        chosen.model,
        key_env=chosen.api_key_env,
        key_file=chosen.api_key_file,
        timeout_s=chosen.timeout_s,
        connections=chosen.concurrency,
    )
    return Extraction(
        database,
        endpoint,
        memory,
        settings.metering.tokenizer,
        on_result,
        log,
        concurrency=chosen.concurrency,
        settle_s=settings.local.max_behind_s,
    )
