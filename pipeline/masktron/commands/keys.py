"""``masktron keys``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import attrs

from masktron.commands.base import Line, UnderRules, VerboseLine
from masktron.declared import checked
from masktron.progress import Progress, no_progress

if TYPE_CHECKING:
    from masktron.results import KeysResult


@attrs.define(frozen=True, slots=False, eq=False, repr=False, field_transformer=checked)
class Keys(UnderRules):
    """Say what keys tell, and try treatments."""

    name = "keys"
    line: ClassVar[type[Line]] = VerboseLine

    def run(self, progress: Progress = no_progress) -> KeysResult:
        """Try the treatments."""
        from masktron.jobs.key_treatments import run_keys

        return run_keys(self.data, self.rules, config=self.settled, progress=progress)
