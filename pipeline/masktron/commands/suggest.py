"""``masktron suggest``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from masktron.commands.base import OnData
from masktron.declared import OUTPUT, require, setting, with_commas
from masktron.progress import Progress, no_progress
from masktron.setting_values import MaybeFilePath

if TYPE_CHECKING:
    from masktron.results import SuggestResult


def _accepted(given: str | Sequence[str | int]) -> list[str]:
    asked = [given] if isinstance(given, str) else given
    fine = isinstance(asked, Sequence) and all(isinstance(one, str | int) for one in asked)
    require(fine, "a list of numbers or ids", given, '"all" stands for all of them')
    return [str(one) for one in asked]


class Suggest(OnData):
    """Propose rules that the data suggest.

    The output shows values and says that it is confidential.

    Returns
    -------
    SuggestResult
        ``proposals`` has them, strong ones first. Confidential: lists of codes and bounds show values.

    Raises
    ------
    DocumentError, UsageError
    """

    name = "suggest"
    takes_others = True

    out: MaybeFilePath = setting(
        "The rules that are accepted: plain rules in edits.rules, or Schematron in RULES.sch.",
        OUTPUT,
        default=None,
        kw_only=False,
        short="-o",
        metavar="edits.rules",
        writes=True,
    )
    accept: list[str] = setting(
        "Proposals to write, by number or id; all leaves out those that follow from others. Without "
        "it nothing is written.",
        OUTPUT, converter=_accepted, default=(), metavar="all|1,3,5-8|ID", collect=with_commas,
    )  # fmt: skip

    def run(self, progress: Progress = no_progress) -> SuggestResult:
        """Propose rules."""
        from masktron.jobs.suggest import run_suggest

        self.require_no_format(self.data)
        return run_suggest(self.data, self.out, accept=self.accept, config=self.settled, progress=progress)
