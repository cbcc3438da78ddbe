"""retaind keeps every byte of your coding agents' transcripts, and makes them searchable."""

__version__ = "0.1.0"
