"""``masktron formats``."""

from __future__ import annotations

from typing import Any

from masktron.commands.base import Listing
from masktron.progress import Progress, no_progress


class Formats(Listing):
    """List the formats of microdata, or explain one."""

    name = "formats"

    def run(self, progress: Progress = no_progress) -> Any:
        """Return the tables, and the same as plain data."""
        from masktron.report.tables.formats import formats_dict, formats_tables
        from masktron.sources.known_formats import known_formats

        del progress
        wanted = known_formats(self.which)
        return formats_tables(wanted, alone=self.which is not None), formats_dict(wanted)
