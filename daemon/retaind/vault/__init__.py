"""The vault: exact bytes, the offsets that they cover, and what makes a file the same file."""
