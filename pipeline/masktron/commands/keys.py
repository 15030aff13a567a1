"""``masktron keys``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masktron.commands.base import UnderRules, Verbose
from masktron.progress import Progress, no_progress

if TYPE_CHECKING:
    from masktron.results import KeysResult


class Keys(UnderRules, Verbose):
    """Say what keys tell, and try treatments."""

    name = "keys"

    def run(self, progress: Progress = no_progress) -> KeysResult:
        """Try the treatments."""
        from masktron.jobs.key_treatments import run_keys

        return run_keys(self.data, self.rules, config=self.settled, progress=progress)
