"""``masktron hierarchy``."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from masktron.commands.base import OnData
from masktron.declared import HOW, IN, OUTPUT, Shape, setting
from masktron.progress import Progress, no_progress
from masktron.setting_values import FilePath

if TYPE_CHECKING:
    from masktron.results import HierarchyResult


def _width(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"it must be a number, not {text!r}") from None


def _digits(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"it must be integers with commas between, such as 3,2, not {text!r}") from None


class Hierarchy(OnData):
    """Make a hierarchy of the values of a field."""

    name = "hierarchy"

    of: str = setting("The field whose values get labels.", IN, option="--field", metavar="FIELD")
    out: FilePath = setting("The hierarchy, as CSV.", OUTPUT, short="-o", metavar="FILE", writes=True)
    width: Fraction | None = setting(
        "Numbers in intervals of this width, which doubles by level.",
        HOW, default=None, metavar="W", read=_width, page="recoding",
    )  # fmt: skip
    heights: int | None = setting(
        "With --width: levels above the values, the last of them *.",
        HOW, default=None, option="--levels", metavar="N", shown="4", page="recoding",
    )  # fmt: skip
    digits: tuple[int, ...] | None = setting(
        "Codes by their beginnings: letters and digits that they keep, level by level.",
        HOW, default=None, metavar="N,N", read=_digits, page="recoding", form=Shape.VALUE,
    )  # fmt: skip

    def run(self, progress: Progress = no_progress) -> HierarchyResult:
        """Make the hierarchy."""
        from masktron.jobs.hierarchy import run_hierarchy

        return run_hierarchy(
            self.data,
            self.out,
            self.of,
            width=self.width,
            levels=self.heights,
            digits=self.digits,
            config=self.settled,
            progress=progress,
        )
