"""``masktron explain``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, override

from masktron.commands.base import Command, MaybeOriginal, MaybeSource, Paged, renamed_columns
from masktron.declared import IN, setting
from masktron.errors import UsageError
from masktron.problems.problem import Setting
from masktron.progress import Progress, no_progress
from masktron.setting_values import Place

if TYPE_CHECKING:
    from masktron.results import ExplainResult


class Explain(Command, Paged):
    """Say of each rule its class, variables and normal form; with data also what `mask` would do, and why.

    Returns
    -------
    ExplainResult

    Raises
    ------
    RulebookError, DocumentError, UsageError, ResourceError
    """

    name = "explain"
    takes_all = True

    rules: Place = setting(
        "Schematron rulebook; with --rules, the data.", kw_only=False, metavar="RULES.sch", reads="the rulebook"
    )
    data: MaybeSource = setting(
        "Also count, and plan the masking.", IN, default=None, kw_only=False, metavar="DATA.xml", reads="the data"
    )
    original: MaybeOriginal = setting(default=None)
    book: Path | None = setting(
        "Schematron rulebook, as other commands take it.",
        IN,
        default=None,
        init=False,
        short="-r",
        option="--rules",
        metavar="RULES.sch",
        page="writing-rules",
        reads="the rulebook of --rules",
    )

    @override
    def carry_out(self, progress: Progress) -> Any:
        if self.book is None:
            return self.run(progress)
        if self.data is not None:
            raise UsageError.of(
                "given-twice",
                one=Setting("--rules"),
                other=Setting("--data"),
                why=", as in `masktron explain RULES.sch --data DATA` or `masktron explain DATA --rules RULES.sch`",
            )
        return replace(self, rules=self.book, data=self.rules).run(progress)

    def run(self, progress: Progress = no_progress) -> ExplainResult:
        """Explain the rules."""
        from masktron.jobs.explain import run_explain

        self.require_no_format(self.data, self.original)
        result = run_explain(self.rules, self.data, config=self.settled, original=self.original, progress=progress)
        return replace(result, notes=(*result.notes, *renamed_columns(self.data)))
