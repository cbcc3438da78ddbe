"""The hosts: where each keeps its transcripts, and how a line becomes records."""
