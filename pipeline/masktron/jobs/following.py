"""What happens to the findings of a run: artefacts are told, reports are written, thresholds are applied."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from masktron.config import did_you_mean
from masktron.errors import DocumentError, RulebookError, UsageError
from masktron.evaluation.artefacts import Artefacts
from masktron.evaluation.findings import Evaluation, Finding
from masktron.read.records import Layout
from masktron.read.rulebook import Rulebook
from masktron.report.outputs import Reports
from masktron.results import RuleResult
from masktron.thresholds import OTHERS, Threshold


class Following:
    """Marks rounding artefacts on their way to the reports, and counts them among those that are listed.

    Parameters
    ----------
    rulebook : Rulebook
    layout : Layout
    reports : Reports
        Get every finding.
    limit : int or None
        Findings that are listed of each check; None for all.
    """

    def __init__(self, rulebook: Rulebook, layout: Layout, reports: Reports, limit: int | None) -> None:
        self._rulebook = rulebook
        self._artefacts = Artefacts(rulebook, layout)
        self._reports = reports
        self._limit = limit
        self._listed: Counter[int] = Counter()
        self._told: Counter[int] = Counter()

    def add(self, finding: Finding) -> None:
        """Take a finding."""
        self._reports.add(self._marked(finding))

    def _marked(self, finding: Finding) -> Finding:
        marked = self._artefacts.marked(finding)
        if self._limit is None or self._listed[finding.check] < self._limit:
            self._listed[finding.check] += 1
            self._told[finding.check] += marked.artefact
        return marked

    def marked(self, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation with the findings that it kept marked."""
        mark = self._artefacts.marked if self._listed else self._marked
        return replace(evaluation, findings=tuple(map(mark, evaluation.findings)))

    def notes(self) -> Iterator[str]:
        """Say of each rule how many of the listed findings are artefacts."""
        for check in self._rulebook.checks:
            if count := self._told[check.index]:
                listed = self._listed[check.index]
                yield (
                    f"{check.id}: {count} of {listed} listed findings are rounding artefacts: they fail in doubles "
                    "and hold in exact decimals"
                )


def allowances(rulebook: Rulebook, bounds: Mapping[str, Threshold]) -> dict[str, Threshold]:
    """Return the threshold of each rule that has one, by id.

    What stands for all other rules is for hard ones: soft rules count only where they are named.

    Raises
    ------
    UsageError
        A threshold is for a rule that the rulebook does not have.
    """
    known = [check.id for check in rulebook.checks]
    for name in bounds:
        if name != OTHERS and name not in known:
            raise UsageError(
                f"max-failures: the rulebook has no rule {name!r}",
                where=str(rulebook.path),
                hint=did_you_mean(name, known),
            )
    others = bounds.get(OTHERS)
    found = {check.id: bounds.get(check.id, None if check.soft else others) for check in rulebook.checks}
    return {name: bound for name, bound in found.items() if bound is not None}


def with_allowances(results: tuple[RuleResult, ...], allowed: Mapping[str, Threshold]) -> tuple[RuleResult, ...]:
    """Return the results with the thresholds of the rules that have one."""
    return tuple(replace(result, allowed=allowed.get(result.id)) for result in results)


@contextmanager
def values_left_out(wanted: bool, *, rulebook_read: bool = False) -> Iterator[None]:
    """Take out of errors what they may say of the data, where no value may be shown.

    Parameters
    ----------
    wanted : bool
    rulebook_read : bool
        Whether the rulebook is read, so that an error in it comes from its evaluation on records.

    Raises
    ------
    DocumentError, RulebookError
        As raised inside, with its place and without its reason.
    """
    try:
        yield
    except (DocumentError, RulebookError) as error:
        if not wanted or (isinstance(error, RulebookError) and not rulebook_read):
            raise
        what = "the file cannot be used" if isinstance(error, DocumentError) else "a rule cannot be evaluated"
        raise type(error)(what, where=error.where, hint="without --release-safe the reason is shown") from None
