"""``masktron describe``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs
from attrs import field

from masktron.commands.base import OnData
from masktron.declared import OUTPUT, Shape, checked, declared, integer
from masktron.progress import Progress, no_progress
from masktron.setting_values import integer as whole
from masktron.setting_values import switch

if TYPE_CHECKING:
    from masktron.results import DescribeResult


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
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

    rows: int = field(
        default=20, converter=whole, metadata=declared("Records to show.", OUTPUT, metavar="N", read=integer)
    )
    start: int = field(
        default=1,
        converter=whole,
        metadata=declared("Number of the first of them.", OUTPUT, "--from", metavar="N", read=integer),
    )
    release_safe: bool = field(
        default=False,
        converter=switch,
        metadata=declared(
            "Counts only: no record and no value in any output.",
            OUTPUT,
            form=Shape.SWITCH,
            page="how-to/validating",
        ),
    )

    def run(self, progress: Progress = no_progress) -> DescribeResult:
        """Describe the file."""
        from masktron.jobs.describe import RowRange, run_describe

        self.require_no_format(self.data)
        rows = RowRange(self.rows, self.start)
        return run_describe(
            self.data, config=self.settled, rows=rows, release_safe=self.release_safe, progress=progress
        )
