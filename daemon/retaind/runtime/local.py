"""The local memory as the settings want it."""

from retaind.config import Settings
from retaind.memory.local import Limits
from retaind.runtime.tokenizing import counter


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
