"""The pure core: bytes, records, messages, plans and texts. No input or output, no clock, no log, no await."""
