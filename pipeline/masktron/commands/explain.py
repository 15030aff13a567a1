"""``masktron explain``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, override

from masktron.commands.base import (
    Command,
    MaybeOriginal,
    MaybeRulebook,
    MaybeSource,
    Paged,
    renamed_columns,
    rulebook_at,
)
from masktron.declared import IN, setting
from masktron.errors import UsageError
from masktron.problems.problem import Setting
from masktron.progress import Progress, no_progress
from masktron.setting_values import MaybePlace

if TYPE_CHECKING:
    from masktron.results import ExplainResult


_SCHEMATRON = b"http://purl.oclc.org/dsdl/schematron"
_HEAD = 1 << 16
"""Bytes within which the root element of a rulebook begins."""


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

    rules: MaybePlace = setting(
        "Rulebook; with --rules, or with [rules] in the settings, the data.",
        default=None, kw_only=False, metavar="[RULES.sch]", reads="the rulebook",
    )  # fmt: skip
    data: MaybeSource = setting(
        "Also count, and plan the masking.", IN, default=None, kw_only=False, metavar="DATA.xml", reads="the data"
    )
    original: MaybeOriginal = setting(default=None)
    book: MaybeRulebook = setting(
        "Rulebook, as other commands take it.", default=None, init=False, option="--rules",
        reads="the rulebook of --rules", shown="[rules] of the settings",
    )  # fmt: skip

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

        rules, data = self._asked()
        self.require_no_format(data, self.original)
        result = run_explain(rules, data, config=self.settled, original=self.original, progress=progress)
        return replace(result, notes=(*result.notes, *renamed_columns(data)))

    def _asked(self) -> tuple[Path, Path | None]:
        """Return the rulebook and the data: where microdata stand in the place of rules, rules are those of settings.

        Raises
        ------
        UsageError
            There are no rules.
        """
        if self.rules is not None and (self.data is not None or self.book is not None or not _is_data(self.rules)):
            rules = rulebook_at(self.rules)
            return (rules if self.given_rules is None else self.given_rules.beside(rules)), self.data
        data = self.data or self.rules
        if not self.given_rules:
            raise UsageError.of("no-rules", data or "")
        return self.given_rules, data


def _is_data(path: Path) -> bool:
    """Tell whether a file is microdata, by its name; one in XML, by how it begins."""
    from masktron.sources.known_formats import format_of_name

    if path.suffix.lower() != ".xml":
        return format_of_name(path) is not None
    try:
        with path.open("rb") as stream:
            return _SCHEMATRON not in stream.read(_HEAD)
    except OSError:  # whoever reads it says so
        return False
