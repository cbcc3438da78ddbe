"""The budgets of retaind, measured on this machine: `python -m bench`. A tool to look with, never a test."""
