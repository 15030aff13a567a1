"""``masktron metadata``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masktron.commands.base import OnData
from masktron.declared import HOW, OUTPUT, setting
from masktron.progress import Progress, no_progress
from masktron.setting_values import FilePath

if TYPE_CHECKING:
    from masktron.results import MetadataResult


class Metadata(OnData):
    """Write what the fields of a file mean."""

    name = "metadata"
    takes_file = False

    out: FilePath = setting("The description to write.", OUTPUT, short="-o", metavar="FILE", writes=True)
    to: str = setting(
        "DDI-Codebook 2.5, or Table Schema in JSON.", HOW, default="ddi", metavar="ddi|tableschema", page="formats"
    )

    def run(self, progress: Progress = no_progress) -> MetadataResult:
        """Write the description."""
        from masktron.jobs.metadata import run_metadata

        return run_metadata(self.data, self.out, to=self.to, reading=self.reading, progress=progress)
