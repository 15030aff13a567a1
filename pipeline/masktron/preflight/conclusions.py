"""What the pre-flight of a rulebook finds of its rules, what each of them asks, and what records of a file test."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from masktron.classify import Edit, classify
from masktron.classify.display import render_form
from masktron.classify.forms import form_of, is_about_missing, satisfied
from masktron.classify.truth import variables_of_atom
from masktron.constraints import Atom, CrossRecordEdit, Form, InDomain, OpaqueEdit, Untranslated
from masktron.errors import RulebookError
from masktron.judge import Evaluation, Verdict
from masktron.rulebook.expressions.parsing import parsed
from masktron.rulebook.expressions.tree import Call, Comparison, Connective, Expression, If
from masktron.rulebook.schema import Check, Pattern, Rulebook
from masktron.serialised import Serialised
from masktron.sources.column import OnDemand
from masktron.sources.dataset import Dataset
from masktron.sources.record_layout import Layout

MISSING = "a field is missing"
"""What all alternatives about missing values are called together."""


@dataclass(frozen=True, slots=True)
class Contradiction(Serialised):
    """Rules that no record satisfies together, none of which could be left out.

    Attributes
    ----------
    rules : tuple of str
    numbers_only : bool
        Only records in which a field is missing, or holds text where rules read a number, satisfy them.
    """

    rules: tuple[str, ...]
    numbers_only: bool = False


@dataclass(frozen=True, slots=True)
class Redundancy(Serialised):
    """A rule that follows from others.

    Attributes
    ----------
    rule : str
    by : tuple of str
        Rules that imply it, none of which could be left out; empty where every record satisfies it.
    through : str or None
        The alternative of the rule that always holds then; what the other alternatives ask is asked of no record.
    numbers_only : bool
        It follows where all fields that rules read as numbers are numbers; beyond that, it asks for a value.
    """

    rule: str
    by: tuple[str, ...]
    through: str | None = None
    numbers_only: bool = False


@dataclass(frozen=True, slots=True)
class RulePart(Serialised):
    """A part of a rule, in plain mathematics, and the rules that decide about it."""

    rule: str
    part: str
    by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AllowedValues(Serialised):
    """What the rules together leave to a field: bounds of its number, or its texts.

    Attributes
    ----------
    field : str
    low, high : str or None
        Least and greatest number, exact; None where there is no bound, or none was found.
    low_open, high_open : bool
        The bound itself is not reached.
    values : tuple of str, or None
        The texts that remain, where the rules list them.
    """

    KEYS: ClassVar = "field low high low_open high_open values fixed"

    field: str
    low: str | None = None
    high: str | None = None
    low_open: bool = False
    high_open: bool = False
    values: tuple[str, ...] | None = None

    @property
    def fixed(self) -> str | None:
        """The only value that remains, if there is only one."""
        if self.values is not None:
            return self.values[0] if len(self.values) == 1 else None
        return self.low if self.low is not None and self.low == self.high else None


class Skipped(NamedTuple):
    """A rule that was not looked at, and why."""

    rule: str
    why: str


@dataclass(frozen=True, slots=True)
class Preflight(Serialised):
    """What the rules of a rulebook say about each other. Every finding is proved in exact arithmetic.

    Attributes
    ----------
    solver : str
        Name and version.
    contradictions : tuple of Contradiction
        Fields that these rules share with others are not looked at further.
    redundant : tuple of Redundancy
        All of them could go together.
    duplicates : tuple of tuple of str
        Rules that say the same.
    impossible : tuple of RulePart
        Alternatives that no record satisfies beside the other rules.
    allowed : tuple of AllowedValues
        For each field of the rules of which something is known.
    always, never : tuple of str
        Rules that every record satisfies, or none, by their form alone.
    skipped : tuple of Skipped
        Rules that were not looked at, and why.
    in_part : tuple of str
        Rules with conditions that are looked at as a whole (patterns, domains, sums of products), so that less may be
        found than there is.
    undecided : tuple of str
        Questions given up, so that less may be found than there is.
    """

    solver: str
    contradictions: tuple[Contradiction, ...] = ()
    redundant: tuple[Redundancy, ...] = ()
    duplicates: tuple[tuple[str, ...], ...] = ()
    impossible: tuple[RulePart, ...] = ()
    allowed: tuple[AllowedValues, ...] = ()
    always: tuple[str, ...] = ()
    never: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    in_part: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tie(Serialised):
    """A rule that reads masked and unmasked fields.

    Attributes
    ----------
    meaning : str
        What that means for masking.
    """

    rule: str
    masked: tuple[str, ...]
    unmasked: tuple[str, ...]
    meaning: str


@dataclass(frozen=True, slots=True)
class Alternative(Serialised):
    """One alternative of a rule on the records of a file.

    Attributes
    ----------
    part : str
        In plain mathematics.
    holds : int
        Records on which the rule fires that satisfy it.
    alone : int
        Records among them that satisfy no other alternative: of these the rule asks it.
    """

    part: str
    holds: int
    alone: int


@dataclass(frozen=True, slots=True)
class Coverage(Serialised):
    """What the records of a file test of a rule.

    Attributes
    ----------
    records : int
        Records on which the rule fires.
    asked : int or None
        Those of them for which its IF holds, so that they are asked for its THEN; None where it is not written so, or
        the IF is not understood.
    alternatives : tuple of Alternative
        Those about missing values counted as one; empty where there is only one or the columns do not decide.
    """

    KEYS: ClassVar = "rule records asked alternatives untested"

    rule: str
    records: int
    asked: int | None
    alternatives: tuple[Alternative, ...]

    @property
    def untested(self) -> str | None:
        """Why no record tests the rule, or a part of it."""
        if not self.records:
            return "it fires on no record"
        if self.asked == 0:
            return "its IF holds in no record"
        always = next((each for each in self.alternatives if each.holds == self.records), None)
        if always is None:
            return None
        if always.part == MISSING:
            return f"{MISSING} in every record"
        others = [each.part for each in self.alternatives if 0 < each.holds < self.records and each.part != MISSING]
        if self.asked is not None or not others:
            return None
        return f"every record satisfies {always.part}, so none is asked for {' or '.join(others)}"


def escapes(rulebook: Rulebook, layout: Layout, checks: Collection[int] | None = None) -> Mapping[int, Form]:
    """Return, for rules that are written as IF ... THEN, the form of what spares a record that they fire on.

    That is the negated antecedent: of ``not(A) or B``, ``A != 1 or B``, ``not(A and not(B))``,
    ``if (A) then B else true()``, and a report of ``A and C``, where all but the last part are the antecedent. A
    record that is not in the context is spared, too. What earlier rules of the pattern take is left out: a record on
    which the rule fires is not among it.

    Parameters
    ----------
    rulebook : Rulebook
    layout : Layout
    checks : collection of int, optional
        The checks to look at; all by default.

    Returns
    -------
    mapping of int to Form
        By index of the check; rules of another shape, and antecedents that are not understood, are not in it.
    """
    alone: list[Pattern] = []
    for pattern, position, check in rulebook.situated():
        if (checks is None or check.index in checks) and (test := _escape(check, rulebook)) is not None:
            rule = replace(pattern.rules[position], checks=(replace(check, kind="assert", test=test),))
            alone.append(replace(pattern, rules=(rule,)))
    if not alone:
        return {}
    edits = classify(replace(rulebook, patterns=tuple(alone)), layout)
    return {edit.check.index: form_of(edit.constraint) for edit in edits if _is_known(edit)}


def _is_known(edit: Edit) -> bool:
    return not isinstance(edit.constraint, OpaqueEdit | CrossRecordEdit)


def _escape(check: Check, rulebook: Rulebook) -> str | None:
    """Write the negated antecedent of a check as XPath; None where it has none."""
    try:
        test = parsed(check.test, rulebook.namespaces)
    except RulebookError:
        return None
    if check.kind == "report":
        return _broken(test)
    match test:
        case Connective(sign="or", operands=(*spared, _)) if all(map(_is_negative, spared)):
            return " or ".join(map(str, spared))
        case Call(standard="not", arguments=(inner,)):
            return _broken(inner)
        case If(condition=condition, otherwise=Call(standard="true")):
            return f"not({condition})"
        case _:
            return None


def _broken(test: Expression) -> str | None:
    """Write that one of the parts of a conjunction does not hold, the last one left out."""
    if isinstance(test, Connective) and test.sign == "and":
        return " or ".join(f"not({part})" for part in test.operands[:-1])
    return None


def _is_negative(part: Expression) -> bool:
    match part:
        case Call(standard="not") | Comparison(sign="!=" | "ne"):
            return True
        case _:
            return False


def coverage(
    edits: Sequence[Edit], records: Dataset, evaluation: Evaluation, spared: Mapping[int, Form]
) -> tuple[Coverage, ...]:
    """Count, for each rule, which alternatives the records satisfy.

    Rules over several records, and rules that are not understood, are left out. Whether an alternative holds is read
    off the normal form, in doubles; a rule with conditions that only the engine can decide has no alternatives here.
    A missing code that is a number counts as this number, since rules read it so.

    Parameters
    ----------
    edits : sequence of Edit
    records : Dataset
    evaluation : Evaluation
        Of the same records; its verdicts tell on which records a rule fires.
    spared : mapping of int to Form
        Negated antecedents, see `escapes`.
    """
    read = _Read(records, evaluation)
    known = {field.name for field in records.layout.fields}
    return tuple(
        read.coverage(edit, spared.get(edit.check.index))
        for edit in edits
        if not isinstance(edit.constraint, OpaqueEdit | CrossRecordEdit) and known.issuperset(edit.variables)
    )


class _Read:
    """The records as rules read them."""

    def __init__(self, records: Dataset, evaluation: Evaluation) -> None:
        self.seen = {name: column.as_read() for name, column in records.columns.items()}
        self.texts = OnDemand.lexemes(records.columns)
        self.verdicts = evaluation.judged

    def coverage(self, edit: Edit, spared: Form | None) -> Coverage:
        fired = self.verdicts[:, edit.check.index] != Verdict.NOT_FIRED
        form = form_of(edit.constraint)
        alternatives = tuple(self._alternatives(form, fired)) if len(form) > 1 and _decidable(form) else ()
        asked = None if spared is None or not _decidable(spared) else int((fired & ~self._holding(spared)).sum())
        return Coverage(edit.check.id, int(fired.sum()), asked, alternatives)

    def _alternatives(self, form: Form, fired: NDArray[np.bool_]) -> Iterator[Alternative]:
        usual = [(render_form((part,)), self._holding((part,))) for part in form if not is_about_missing(part)]
        missing = tuple(part for part in form if is_about_missing(part))
        parts = [*usual, *([(MISSING, self._holding(missing))] if missing else [])]
        number = np.sum([holding for _, holding in parts], axis=0)
        for text, holding in parts:
            yield Alternative(text, int((holding & fired).sum()), int((holding & fired & (number == 1)).sum()))

    def _holding(self, form: Form) -> NDArray[np.bool_]:
        found = np.zeros(len(self.verdicts), dtype=np.bool_)
        for part in form:
            own = np.ones(len(self.verdicts), dtype=np.bool_)
            for atom in part:
                own &= satisfied(atom, self.seen, self.texts)
            found |= own
        return found


def _decidable(form: Form) -> bool:
    return not any(_needs_engine(atom) for part in form for atom in part)


def _needs_engine(atom: Atom) -> bool:
    """Whether the columns cannot tell if an atom holds."""
    if isinstance(atom, Untranslated):
        return not atom.version or not variables_of_atom(atom)
    return isinstance(atom, InDomain)
