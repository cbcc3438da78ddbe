"""The running daemon: watch, capture, retain, deliver, answer."""
