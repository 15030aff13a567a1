"""What `check` returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from masktron.errors import Exit
from masktron.problems.problem import Sentence
from masktron.results.figure import FigureResult, KeyRisk, MaskedLevel
from masktron.results.result import JobResult, from_report
from masktron.results.rules import RuleFate, RuleResult, Tested, TreatmentResult, exit_code_of
from masktron.results.verdict import ReleaseVerdict


@dataclass(frozen=True, slots=True, repr=False)
class CheckResult(JobResult):
    """Whether a masked file complies with its rules and its contract.

    Attributes
    ----------
    problems : tuple of str
        What is wrong besides violated rules.
    min_group : int or None
        Smallest group over the blocks of the manifest; None where it could not be checked.
    checked, not_checked : tuple of str
        What was verified, and what could not be for want of the original or the manifest.
    notes : tuple of str
        What the user should know although it breaks nothing.
    figures : tuple of FigureResult
        Those that have a limit, and those that the verdict rests on.
    unevaluated : tuple of str
        Rules that were left out: without their document, on removed fields, or let go when the file was masked.
    sha256 : str
        Of the bytes that were checked, in hexadecimal digits: a file of another hash is another one.
    treatments : tuple of TreatmentResult
        What the manifest declares of what was done before fields were masked, in this order.
    fates : tuple of RuleFate
        What became of each rule that is asked otherwise, or not any more, as fields were recoded or removed; empty
        where the rulebook was given as it was translated.
    levels : tuple of MaskedLevel
        Of a nested file, how many records of each level are alike.
    limits : mapping of str to float
        Bounds of figures, those of the manifest among them.
    keys : KeyRisk or None
        What others find by the fields that they may know; None where it was not measured.
    key_k : int or None
        How many records were to share each combination of keys, by the manifest.
    concerns : tuple of str
        What tells records apart, by the manifest.
    let_go : tuple of str
        Rules that the file may break, by the manifest.
    rule_problems, limit_problems : int
        How many of the problems, the first ones, are about rules; how many, the last ones, about limits.
    issued : ReleaseVerdict or None
        The verdict of a result that was read back; None where it is still to be made.
    """

    JOB: ClassVar = "check"
    KEYS: ClassVar = (
        "data sha256 complies verdict records violations warnings min_group problems checked not_checked notes "
        "figures tested treatments fates levels rules"
    )

    data: str
    records: int
    violations: int
    warnings: int
    min_group: int | None
    problems: tuple[Sentence, ...]
    checked: tuple[str, ...]
    not_checked: tuple[Sentence, ...]
    rules: tuple[RuleResult, ...]
    notes: tuple[Sentence, ...] = ()
    figures: tuple[FigureResult, ...] = ()
    unevaluated: tuple[str, ...] = ()
    sha256: str = ""
    treatments: tuple[TreatmentResult, ...] = ()
    fates: tuple[RuleFate, ...] = ()
    other_rulebook: bool = False
    levels: tuple[MaskedLevel, ...] = ()
    limits: Mapping[str, float] = field(default_factory=dict)
    keys: KeyRisk | None = None
    key_k: int | None = None
    concerns: tuple[str, ...] = ()
    let_go: tuple[str, ...] = ()
    rule_problems: int = 0
    limit_problems: int = 0
    issued: ReleaseVerdict | None = field(default=None, repr=False, compare=False)

    @classmethod
    def from_told(cls, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the verdict as it was issued."""
        return {"issued": ReleaseVerdict.issued(told)}

    @property
    def verdict(self) -> ReleaseVerdict:
        """Whether the rules hold, and how well respondents are protected, as far as it was checked."""
        told: ReleaseVerdict = self.issued or from_report("verdict.verdict_of_check", self)
        return told

    @property
    def complies(self) -> bool:
        """Whether each hard rule is tested, none fails too often, and the contract holds as far as it was checked."""
        return all(rule.passes for rule in self.rules) and not self.problems

    @property
    def tested(self) -> Tested:
        """How many rules of the rulebook the file tests."""
        return Tested.of(self.rules, self.records, self.unevaluated)

    @property
    def exit_code(self) -> Exit:
        """What the command line returns, as for `ValidateResult`."""
        return exit_code_of(self.rules, holds=self.complies)
