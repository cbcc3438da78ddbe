"""Where documents go: one port, and the memories behind it."""
