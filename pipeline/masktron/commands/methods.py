"""``masktron methods``."""

from __future__ import annotations

from typing import Any

from masktron.commands.base import Listing
from masktron.progress import Progress, no_progress


class Methods(Listing):
    """List the masking methods, or explain one."""

    name = "methods"

    def run(self, progress: Progress = no_progress) -> Any:
        """Return the tables, and the same as plain data."""
        from masktron.methods import ALL, method_named
        from masktron.report.tables.methods import explained, methods_dict, methods_tables

        del progress
        wanted = ALL if self.which is None else (method_named(self.which),)
        tables = methods_tables(ALL) if self.which is None else explained(wanted[0])
        return tables, methods_dict(wanted, ALL[0])
