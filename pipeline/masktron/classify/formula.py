"""Boolean combinations of forms, with a negation that is exact under missing values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from masktron.classify.conjunctions import normalise
from masktron.classify.effort import Effort
from masktron.classify.forms import ALWAYS, NEVER, Disjunction, conjoin, disjoin
from masktron.classify.unions import pooled
from masktron.constraints import Form


@dataclass(frozen=True, slots=True)
class Leaf:
    """A condition whose truth and falsity are both known as forms.

    In XPath every condition is true or false, but the negation of a comparison is not the reverse comparison: it also
    holds where an operand is missing. So a leaf carries both.
    """

    positive: Form
    negative: Form


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """Some part holds."""

    parts: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """The part does not hold."""

    part: Formula


@dataclass(frozen=True, slots=True)
class Choice:
    """One formula where the condition holds, another where it does not."""

    condition: Formula
    then: Formula
    otherwise: Formula


def choice(condition: Formula, then: Formula, otherwise: Formula) -> Formula:
    """IF ... THEN ... ELSE, as an implication or a conjunction where a branch is constant."""
    if otherwise == TRUE:
        return Some((Negation(condition), then))
    if otherwise == FALSE:
        return All((condition, then))
    if then == TRUE:
        return Some((condition, otherwise))
    return All((Negation(condition), otherwise)) if then == FALSE else Choice(condition, then, otherwise)


type Formula = Leaf | All | Some | Negation | Choice

TRUE = Leaf(ALWAYS, NEVER)
FALSE = Leaf(NEVER, ALWAYS)


def dnf(formula: Formula, effort: Effort | None = None, *, negated: bool = False) -> Form:
    """Bring a formula, or its negation, to the normal form.

    Parameters
    ----------
    formula : Formula
    effort : Effort, optional
        What it may take; as long as it takes by default.
    negated : bool

    Raises
    ------
    TooManyDisjunctsError
    """
    match formula:
        case Leaf(positive=positive, negative=negative):
            return negative if negated else positive
        case Negation(part=part):
            return dnf(part, effort, negated=not negated)
        case All(parts=parts):
            return _combined(parts, effort, conjunction=not negated, negated=negated)
        case Some(parts=parts):
            return _combined(parts, effort, conjunction=negated, negated=negated)
        case Choice(condition=condition, then=then, otherwise=otherwise):
            return disjoin(
                conjoin(dnf(condition, effort), dnf(then, effort, negated=negated), effort),
                conjoin(dnf(condition, effort, negated=True), dnf(otherwise, effort, negated=negated), effort),
                effort=effort,
            )


def _combined(parts: tuple[Formula, ...], effort: Effort | None, *, conjunction: bool, negated: bool) -> Form:
    forms = (dnf(part, effort, negated=negated) for part in parts)
    if conjunction:
        return reduce(lambda one, two: conjoin(one, two, effort), forms, ALWAYS)
    found = Disjunction(effort)
    for form in pooled(forms):
        found.add(map(normalise, form))
    return found.form()
