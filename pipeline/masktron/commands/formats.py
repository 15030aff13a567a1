"""``masktron formats``."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
from attrs import field

from masktron.commands.base import Line, Plain, TablesLine
from masktron.declared import checked, declared
from masktron.progress import Progress, no_progress


@attrs.define(frozen=True, slots=False, eq=False, repr=False, field_transformer=checked)
class Formats(Plain):
    """List the formats of microdata, or explain one."""

    name = "formats"
    line: ClassVar[type[Line]] = TablesLine
    shows_progress = False

    which: str | None = field(default=None, metadata=declared("Explain this one.", metavar="[NAME]", shown="all"))

    def run(self, progress: Progress = no_progress) -> Any:
        """Return the tables, and the same as plain data."""
        from masktron.report.tables.formats import formats_dict, formats_tables
        from masktron.sources.known_formats import known_formats

        del progress
        wanted = known_formats(self.which)
        return formats_tables(wanted, alone=self.which is not None), formats_dict(wanted)
