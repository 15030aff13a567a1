"""``masktron methods``."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs
from attrs import field

from masktron.commands.base import Line, Plain, TablesLine
from masktron.declared import checked, declared
from masktron.progress import Progress, no_progress


@attrs.define(frozen=True, slots=False, eq=False, repr=False, field_transformer=checked)
class Methods(Plain):
    """List the masking methods, or explain one."""

    name = "methods"
    line: ClassVar[type[Line]] = TablesLine
    shows_progress = False

    which: str | None = field(default=None, metadata=declared("Explain this one.", metavar="[NAME]", shown="all"))

    def run(self, progress: Progress = no_progress) -> Any:
        """Return the tables, and the same as plain data."""
        from masktron.methods import ALL, method_named
        from masktron.report.tables.methods import explained, methods_dict, methods_tables

        del progress
        wanted = ALL if self.which is None else (method_named(self.which),)
        tables = methods_tables(ALL) if self.which is None else explained(wanted[0])
        return tables, methods_dict(wanted, ALL[0])
