"""``masktron combine``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from attrs import field

from masktron.commands.base import Plain, path
from masktron.declared import HOW, IN, Shape, checked, declared, number
from masktron.progress import Progress, no_progress

if TYPE_CHECKING:
    from masktron.results import CombineResult
    from masktron.setting_values import File

    type Estimates = Mapping[str, tuple[Sequence[float], Sequence[float]]]
    """By the name of a quantity its estimates and their variances (squared standard errors), release by release."""


def _estimates(given: File | Estimates) -> Path | Estimates:
    return given if isinstance(given, Mapping) else path(given)


@attrs.define(frozen=True, slots=False, eq=False, repr=False, field_transformer=checked)
class Combine(Plain):
    """Combine what was estimated from several synthetic releases.

    Returns
    -------
    CombineResult
        ``result["mean income"].variance``; ``quantities`` has all of them.

    Raises
    ------
    UsageError
    """

    name = "combine"
    shows_progress = False

    estimates: Path | Estimates = field(
        converter=_estimates,
        metadata=declared(
            "Lines name,estimate,variance, one for each quantity and release; or JSON.", metavar="ESTIMATES.csv",
            reads="the estimates",
        ),
    )  # fmt: skip
    full: bool = field(
        default=False,
        kw_only=True,
        metadata=declared(
            "Every field was drawn; leave it out where some stayed as they were.", IN, form=Shape.SWITCH
        ),
    )
    population: bool = field(
        default=False,
        kw_only=True,
        metadata=declared("Each release is a sample from a synthetic population of its own.", IN, form=Shape.SWITCH),
    )
    level: float = field(
        default=0.95,
        kw_only=True,
        metadata=declared(
            "Level of the confidence intervals, in per cent.", HOW, metavar="P", shown="95",
            read=lambda text: number(text) / 100,
        ),
    )  # fmt: skip
    ratio: float = field(
        default=1.0,
        kw_only=True,
        metadata=declared(
            "With --full or --population: records of a release, divided by those of the original.", HOW, metavar="R",
            read=number,
        ),
    )  # fmt: skip

    def run(self, progress: Progress = no_progress) -> CombineResult:
        """Combine the estimates."""
        from masktron.jobs.combine import read_estimates, run_combine

        del progress
        named = self.estimates if isinstance(self.estimates, Mapping) else read_estimates(self.estimates)
        return run_combine(named, full=self.full, population=self.population, level=self.level, ratio=self.ratio)
