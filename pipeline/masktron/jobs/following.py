"""What happens to the findings of a run: artefacts are told, reports are written, thresholds are applied."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from masktron.classify.reading import tolerance
from masktron.errors import DocumentError, MasktronError, ResourceError, RulebookError, UsageError
from masktron.judge import Artefacts, Evaluation, Finding, SlowRuleError
from masktron.problems.problem import Known, Place, Rule
from masktron.problems.wording import spelled
from masktron.report.outputs import Reports
from masktron.results import RuleResult, shown
from masktron.rulebook.schema import Rulebook
from masktron.sources.record_layout import Layout
from masktron.thresholds import OTHERS, Threshold


class Following:
    """Marks rounding artefacts on their way to the reports; counts them, and missing fields, among those listed.

    Parameters
    ----------
    rulebook : Rulebook
    layout : Layout
    reports : Reports
        Get every finding.
    limit : int or None
        Findings that are listed of each check; None for all.
    untested : collection of int
        Checks that the file does not test: what they find is no verdict on its records, and is left out.
    """

    def __init__(
        self,
        rulebook: Rulebook,
        layout: Layout,
        reports: Reports,
        limit: int | None,
        untested: Collection[int] = (),
    ) -> None:
        self._rulebook = rulebook
        self._artefacts = Artefacts(rulebook, layout)
        self._reports = reports
        self._limit = limit
        self._untested = untested
        self._listed: Counter[int] = Counter()
        self._told: Counter[int] = Counter()
        self._lacking: Counter[int] = Counter()
        self._digits: Counter[int] = Counter()

    def add(self, finding: Finding) -> None:
        """Take a finding."""
        if finding.check not in self._untested:
            self._reports.add(self._marked(finding))

    def _marked(self, finding: Finding) -> Finding:
        marked = self._artefacts.marked(finding)
        if self._limit is None or self._listed[finding.check] < self._limit:
            self._listed[finding.check] += 1
            self._told[finding.check] += marked.artefact
            digits = (len(text.partition(".")[2].strip()) for _, text in finding.values if text and marked.artefact)
            self._digits[finding.check] = max(self._digits[finding.check], *digits, 0)
            self._lacking[finding.check] += any(not (text or "").strip() for _, text in finding.values)
        return marked

    def marked(self, evaluation: Evaluation) -> Evaluation:
        """Return the evaluation with the findings that it kept marked, without those of untested checks."""
        mark = self._artefacts.marked if self._listed else self._marked
        kept = (finding for finding in evaluation.findings if finding.check not in self._untested)
        return replace(evaluation, findings=tuple(map(mark, kept)))

    def notes(self) -> Iterator[str]:
        """Say of each rule how many of the listed findings are artefacts, and in how many a value is missing."""
        for check in self._rulebook.checks:
            if count := self._lacking[check.index]:
                yield (
                    f"{check.id}: in {count} of {self._listed[check.index]} listed findings a field is missing, and "
                    "no comparison with it holds, not even = ''; where it may be missing, the rule has to say so "
                    "(docs/writing-rules/traps.md)"
                )
            if count := self._told[check.index]:
                listed = self._listed[check.index]
                yield (
                    f"{check.id}: {count} of {listed} listed findings are rounding artefacts: they fail in doubles "
                    f"and hold in exact decimals; write a tolerance: "
                    f"{tolerance([self._digits[check.index]], plain=bool(check.written))}"
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
            raise UsageError.of(
                "unknown-name", shown(rulebook.path), name=Rule(name), known=Known(name, tuple(known)), kind="rule"
            )
    others = bounds.get(OTHERS)
    found = {check.id: bounds.get(check.id, None if check.soft else others) for check in rulebook.checks}
    return {name: bound for name, bound in found.items() if bound is not None}


def with_allowances(results: tuple[RuleResult, ...], allowed: Mapping[str, Threshold]) -> tuple[RuleResult, ...]:
    """Return the results with the thresholds of the rules that have one."""
    return tuple(replace(result, allowed=allowed.get(result.id)) for result in results)


def without_values[T](work: Callable[[], T], *, wanted: bool, rulebook_read: bool = False) -> T:
    """Do something, and take out of its errors what they may say of the data, where no value may be shown.

    Parameters
    ----------
    work : callable
    wanted : bool
    rulebook_read : bool
        Whether the rulebook is read, so that an error in it comes from its evaluation on records.

    Raises
    ------
    DocumentError, RulebookError, UsageError
        As raised inside, with its file or rule, and without the line of the data and the reason.
    RuntimeError
        Anything else went wrong: the kind of error, and the line of ours where it arose.
    """
    told: Exception
    try:
        return work()
    except Exception as error:
        if wanted and isinstance(error, MasktronError):
            error.problem = error.problem.without_known()
        if not wanted or _is_about_no_data(error, rulebook_read=rulebook_read):
            raise
        told = _cleared(error)
    # here and in no context manager, so that it does not carry the other one as its context
    raise told


def _is_about_no_data(error: Exception, *, rulebook_read: bool) -> bool:
    if isinstance(error, RulebookError):
        return not rulebook_read
    if isinstance(error, ResourceError):
        return not isinstance(error, SlowRuleError)
    return isinstance(error, OSError | MemoryError)


def _of_no_record(error: MasktronError) -> Place:
    return replace(error.problem.place, line=0, column=0, record=0, field=None)


def _cleared(error: Exception) -> Exception:
    match error:
        case DocumentError():
            return DocumentError.of("reason-hidden", _of_no_record(error), detail="the file cannot be used")
        case SlowRuleError(problem=named):
            return ResourceError(named.at(replace(named.place, record=0, field=None)))
        case RulebookError():
            return RulebookError.of(
                "reason-hidden",
                replace(error.problem.place, record=0, field=None),
                detail="a rule cannot be evaluated",
            )
        case UsageError():  # of --record or --record-id: what there is instead may be anything
            return UsageError.of(
                "reason-hidden",
                _of_no_record(error),
                detail="an option names nothing that the file has, or too much",
            )
        case _:
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(last.filename).name}:{last.lineno}"
            return RuntimeError(
                f"{type(error).__name__} in {place}; {spelled('without [[--release-safe]] the reason is shown')}"
            )
