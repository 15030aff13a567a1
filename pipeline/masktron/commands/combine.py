"""``masktron combine``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from masktron.commands.base import Plain
from masktron.declared import HOW, IN, Taken, number, setting
from masktron.progress import Progress, no_progress
from masktron.setting_values import File, path

if TYPE_CHECKING:
    from masktron.results import CombineResult

type Estimates = Mapping[str, tuple[Sequence[float], Sequence[float]]]
"""By the name of a quantity its estimates and their variances (squared standard errors), release by release."""


def _estimates(given: File | Estimates) -> Path | Estimates:
    return given if isinstance(given, Mapping) else path(given)


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

    estimates: Taken[Path | Estimates, File | Estimates] = setting(
        "Lines name,estimate,variance, one for each quantity and release; or JSON.",
        converter=_estimates, kw_only=False, metavar="ESTIMATES.csv", reads="the estimates",
    )  # fmt: skip
    full: bool = setting("Every field was drawn; leave it out where some stayed as they were.", IN, default=False)
    population: bool = setting("Each release is a sample from a synthetic population of its own.", IN, default=False)
    level: float = setting(
        "Level of the confidence intervals, in per cent.",
        HOW, default=0.95, metavar="P", shown="95", read=lambda text: number(text) / 100,
    )  # fmt: skip
    ratio: float = setting(
        "With --full or --population: records of a release, divided by those of the original.",
        HOW, default=1.0, metavar="R",
    )  # fmt: skip

    def run(self, progress: Progress = no_progress) -> CombineResult:
        """Combine the estimates."""
        from masktron.jobs.combine import read_estimates, run_combine

        del progress
        named = self.estimates if isinstance(self.estimates, Mapping) else read_estimates(self.estimates)
        return run_combine(named, full=self.full, population=self.population, level=self.level, ratio=self.ratio)
