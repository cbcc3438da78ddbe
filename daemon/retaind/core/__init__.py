"""The pure core: bytes, records, messages, plans, texts. No input or output, clock, log or await."""
