"""``masktron explain``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, override

import attrs
from attrs import field
from attrs.converters import optional

from masktron.commands.base import (
    Command,
    Line,
    PageLine,
    original_option,
    place,
    renamed_columns,
    rules_option,
    source,
    typed_place,
)
from masktron.declared import IN, checked, declared
from masktron.errors import UsageError
from masktron.progress import Progress, no_progress

if TYPE_CHECKING:
    from masktron.results import ExplainResult


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class ExplainLine(PageLine):
    """The rulebook as other commands take it."""

    book: Path | None = field(
        default=None, metadata=rules_option("Schematron rulebook, as other commands take it.", option="--rules")
    )

    @override
    def carry_out(self, command: Any, progress: Progress) -> Any:
        if self.book is None:
            return command.run(progress)
        if command.data is not None:
            hint = "explain RULES.sch --data DATA, or explain DATA --rules RULES.sch"
            raise UsageError("the rulebook is given twice", hint=hint)
        return attrs.evolve(command, rules=self.book, data=command.rules).run(progress)


@attrs.define(frozen=True, slots=False, eq=False, repr=False, field_transformer=checked)
class Explain(Command):
    """Say of each rule its class, variables and normal form; with data also what `mask` would do, and why.

    Returns
    -------
    ExplainResult

    Raises
    ------
    RulebookError, DocumentError, UsageError, ResourceError
    """

    name = "explain"
    line: ClassVar[type[Line]] = ExplainLine
    takes_all = True

    rules: Path = field(
        converter=place,
        metadata=declared(
            "Schematron rulebook; with --rules, the data.", metavar="RULES.sch", read=typed_place,
            reads="the rulebook",
        ),
    )  # fmt: skip
    data: Path | None = field(
        default=None,
        converter=optional(source),
        metadata=declared(
            "Also count, and plan the masking.", IN, metavar="DATA.xml", read=typed_place, reads="the data"
        ),
    )
    original: Path | None = field(default=None, kw_only=True, converter=optional(source), metadata=original_option())

    def run(self, progress: Progress = no_progress) -> ExplainResult:
        """Explain the rules."""
        from masktron.jobs.explain import run_explain

        self.require_no_format(self.data, self.original)
        result = run_explain(self.rules, self.data, config=self.settled, original=self.original, progress=progress)
        return replace(result, notes=(*result.notes, *renamed_columns(self.data)))
