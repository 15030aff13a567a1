"""``masktron suggest``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
from attrs import field
from attrs.converters import optional

from masktron.commands.base import OnData, path
from masktron.declared import OUTPUT, Shape, WrongValue, checked, declared, with_commas
from masktron.progress import Progress, no_progress

if TYPE_CHECKING:
    from masktron.results import SuggestResult


def _accepted(given: str | Sequence[str | int]) -> list[str]:
    asked = [given] if isinstance(given, str) else given
    if not isinstance(asked, Sequence) or not all(isinstance(one, str | int) for one in asked):
        raise WrongValue(f" must be a list of numbers or ids, not {given!r}", '{name}="all"')
    return [str(one) for one in asked]


@attrs.define(frozen=True, slots=False, eq=False, repr=False, field_transformer=checked)
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

    out: Path | None = field(
        default=None,
        converter=optional(path),
        metadata=declared("The rulebook of what is accepted.", OUTPUT, short="-o", metavar="RULES.sch", writes=True),
    )
    accept: list[str] = field(
        default=(),
        kw_only=True,
        converter=_accepted,
        metadata=declared(
            "Proposals to write, by number or id; all leaves out those that follow from others; repeatable. Without "
            "it nothing is written.",
            OUTPUT, metavar="all|1,3,5-8|ID", form=Shape.LIST, collect=with_commas,
        ),
    )  # fmt: skip

    def run(self, progress: Progress = no_progress) -> SuggestResult:
        """Propose rules."""
        from masktron.jobs.suggest import run_suggest

        self.require_no_format(self.data)
        return run_suggest(self.data, self.out, accept=self.accept, config=self.settled, progress=progress)
