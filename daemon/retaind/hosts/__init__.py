"""The hosts: where each keeps its transcripts, and how a line becomes records."""

from collections.abc import Mapping
from typing import Final

from retaind.hosts.claude_code import ClaudeCode
from retaind.hosts.port import Host

HOSTS: Final[Mapping[str, Host]] = {host.name: host for host in (ClaudeCode(),)}
"""Every host that retaind knows, by name."""
