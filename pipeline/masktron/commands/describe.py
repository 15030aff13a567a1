"""``masktron describe``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masktron.commands.base import OnData
from masktron.declared import OUTPUT, Integer, setting
from masktron.progress import Progress, no_progress

if TYPE_CHECKING:
    from masktron.results import DescribeResult


class Describe(OnData):
    """Say what a file holds.

    The output shows values of single records and says that it is confidential, unless --release-safe leaves them out.

    Returns
    -------
    DescribeResult
        Confidential: ``rows`` has records, ``fields`` extreme and frequent values.

    Raises
    ------
    DocumentError, UsageError
    """

    name = "describe"
    takes_others = True

    rows: Integer = setting("Records to show.", OUTPUT, default=20, metavar="N")
    start: Integer = setting("Number of the first of them.", OUTPUT, default=1, option="--from", metavar="N")
    release_safe: bool = setting(
        "Counts only: no record and no value in any output.", OUTPUT, default=False, page="how-to/validating"
    )

    def run(self, progress: Progress = no_progress) -> DescribeResult:
        """Describe the file."""
        from masktron.jobs.describe import RowRange, run_describe

        self.require_no_format(self.data)
        rows = RowRange(self.rows, self.start)
        return run_describe(
            self.data, config=self.settled, rows=rows, release_safe=self.release_safe, progress=progress
        )
