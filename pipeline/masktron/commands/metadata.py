"""``masktron metadata``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from attrs import field

from masktron.commands.base import OnData
from masktron.declared import HOW, OUTPUT, checked, declared
from masktron.progress import Progress, no_progress

if TYPE_CHECKING:
    from masktron.results import MetadataResult


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class Metadata(OnData):
    """Write what the fields of a file mean."""

    name = "metadata"
    takes_file = False

    out: Path = field(
        converter=Path,
        metadata=declared("The description to write.", OUTPUT, short="-o", metavar="FILE", writes=True),
    )
    to: str = field(
        default="ddi",
        metadata=declared(
            "DDI-Codebook 2.5, or Table Schema in JSON.", HOW, metavar="ddi|tableschema", page="formats"
        ),
    )

    def run(self, progress: Progress = no_progress) -> MetadataResult:
        """Write the description."""
        from masktron.jobs.metadata import run_metadata

        return run_metadata(self.data, self.out, to=self.to, reading=self.reading, progress=progress)
