"""Rules on a file: how often they fired and failed, whether the file tests them, and what treatments made of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from masktron.errors import Exit
from masktron.problems.problem import Note, Problem
from masktron.problems.wording import worded
from masktron.serialised import Serialised, read_plain
from masktron.thresholds import Threshold, threshold

if TYPE_CHECKING:
    from masktron.classify.edit import RuleClass
    from masktron.translation import TranslatedRule
    from masktron.translation.translated_rules import Fate


FEW = 5
"""A rule that fires on fewer records than this is hardly tested."""


@dataclass(frozen=True, slots=True)
class Untested(Serialised):
    """Why a rule is not tested by a file.

    Attributes
    ----------
    problem : Problem
        Its code names the reason; `what` and `hint` are its sentences.
    misnamed : bool
        Whether it asks for a name or a place that the file does not have, as a misspelt rule does.
    allowed : bool
        Whether somebody said that it may be so.
    """

    KEYS: ClassVar = "what hint misnamed allowed"

    problem: Problem
    misnamed: bool
    allowed: bool = False

    @classmethod
    def from_told(cls, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the problem as what its sentence says."""
        return {"problem": Note("{what}", what=read_plain(str, told.get("what"), "untested.what"))}

    @property
    def what(self) -> str:
        """What is wrong, in a sentence."""
        return worded(self.problem).what

    @property
    def hint(self) -> str:
        """What can be done."""
        return worded(self.problem).hint


@dataclass(frozen=True, slots=True)
class Tested(Serialised):
    """How many rules a file tests.

    Attributes
    ----------
    rules : int
        In play.
    untested : tuple of str
        Rules whose context matches no node, or that read a field that the file never has; then those that were not
        evaluated.
    few : tuple of str
        Rules on records that fired on fewer than `FEW` of them, where the file has as many.
    """

    KEYS: ClassVar = "rules tested untested few"

    rules: int
    untested: tuple[str, ...]
    few: tuple[str, ...]

    @property
    def tested(self) -> int:
        """How many were."""
        return self.rules - len(self.untested)

    @classmethod
    def of(cls, rules: Iterable[RuleResult], records: int, unevaluated: Sequence[str] = ()) -> Tested:
        """Count the rules of a result, and the ids of those that were not evaluated."""
        rules = tuple(rules)
        untested = (*(rule.id for rule in rules if rule.untested is not None), *unevaluated)
        thin = (rule for rule in rules if rule.of_records and rule.untested is None)
        return cls(
            len(rules) + len(unevaluated), untested, tuple(rule.id for rule in thin if rule.reached < FEW <= records)
        )

    def __str__(self) -> str:
        noun = "rule" if self.rules == 1 else "rules"
        said = f"{self.tested} of {self.rules} {noun} tested"
        if self.few:
            said += f", {len(self.few)} of them on fewer than {FEW} records: {', '.join(self.few)}"
        return said + (f"; not tested: {', '.join(self.untested)}" if self.untested else "")


@dataclass(frozen=True, slots=True)
class RuleResult(Serialised):
    """One rule on one file.

    Attributes
    ----------
    id : str
    kind : str
        Its class: linear, product, values, governing, domain, cross-record or opaque.
    fired, errors : int
        Nodes on which it was evaluated, and raised a dynamic error.
    failed : int or None
        Nodes on which it failed; None where the file does not test it, and nobody said that this may be so.
    soft : bool
        Marked as a warning in the rulebook; never the reason for an exit code, unless a threshold names it.
    origin : str
        File and line.
    text : str
        What the rulebook says of it, with the expressions of ``value-of`` in the place of values.
    allowed : Threshold or None
        Failures and errors that do not count.
    of_records : bool
        Whether it fires on records or on their fields; one on the root fires once and asks of the whole file.
    untested : Untested or None
        Where it fires on nothing, or reads a field that the file never has.
    undecided : int or None
        Nodes on which a missing value leaves it undecided; None of a rule that has two outcomes.
    """

    KEYS: ClassVar = (
        "id class=kind fired failed errors soft origin untested text allowed=_allowed_told passes undecided"
    )

    id: str
    kind: RuleClass
    fired: int
    failed: int | None
    errors: int
    soft: bool
    origin: str
    text: str = ""
    allowed: Threshold | None = None
    of_records: bool = True
    untested: Untested | None = None
    undecided: int | None = None

    @property
    def violations(self) -> int:
        """Failures and errors; none where the file does not test the rule."""
        return 0 if self.failed is None else self.failed + self.errors

    @property
    def reached(self) -> int:
        """Nodes on which it was tried, with a verdict or an error."""
        return self.fired + self.errors

    @property
    def idle(self) -> bool:
        """Whether it is hard and tests nothing although nobody said that this may be so."""
        return self.untested is not None and not self.untested.allowed and not self.soft

    @property
    def passes(self) -> bool:
        """Whether the rule is no reason for an exit code: it holds, is soft, or fails no more than it may.

        A hard rule that tests nothing does not pass, unless it may.
        """
        if self.idle:
            return False
        if self.allowed is not None:
            if self.failed is None:
                return False
            return self.allowed.admits(self.violations, self.fired)
        return self.soft or not self.violations

    @property
    def _allowed_told(self) -> str | None:
        return None if self.allowed is None else str(self.allowed)

    @classmethod
    def from_told(cls, told: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the threshold, which is told as it was written."""
        bound = read_plain(str | None, told.get("allowed"), "allowed")
        return {"allowed": None if bound is None else threshold(bound, str(told.get("id")))}


def exit_code_of(rules: Iterable[RuleResult], *, holds: bool) -> Exit:
    """Return what the command line does: a rule that asks for what the file does not have is wrong itself."""
    if any(rule.idle and rule.untested is not None and rule.untested.misnamed for rule in rules):
        return Exit.RULEBOOK
    return Exit.COMPLIES if holds else Exit.VIOLATION


@dataclass(frozen=True, slots=True)
class TreatmentResult(Serialised):
    """One treatment, in the order in which they are done.

    Attributes
    ----------
    kind : str
        ``recoding``, for example.
    field : str
    how : str
        In words, without the name of a file.
    """

    kind: str
    field: str
    how: str


@dataclass(frozen=True, slots=True)
class RuleFate(Serialised):
    """What became of a rule that reads recoded or removed fields.

    Attributes
    ----------
    rule : str
        Its id.
    fate : {"exact", "implied", "weakened", "vacuous", "removed", "lost"}
        See docs/recoding.md.
    before, after : str
        The rule in mathematics; empty where it is not asked any more.
    reason : str
        Why it is lost or removed, with which other rules it is asked, or that it asks nothing any more; else empty.
    fields : tuple of str
        The recoded fields that it reads.
    """

    rule: str
    fate: Fate
    before: str
    after: str
    reason: str
    fields: tuple[str, ...]

    @classmethod
    def of(cls, rule: TranslatedRule) -> RuleFate:
        """Put what became of a rule into a result."""
        return cls(rule.id, rule.fate, rule.old, rule.new, rule.reason, rule.fields)
