"""The algebra of the normal form: disjunctions of conjunctions, and their Boolean combinations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from types import MappingProxyType

from masktron.classify.conjunctions import Conjunction, implies, normalise, opposites, slots, sort_key
from masktron.classify.truth import CellValue, holds, number_of, satisfied, variables_of_atom
from masktron.classify.unions import pooled, union
from masktron.constraints import (
    Atom,
    Constraint,
    CrossRecordEdit,
    DomainEdit,
    Form,
    GoverningEdit,
    InDomain,
    LinearEdit,
    Member,
    Missing,
    OpaqueEdit,
    Present,
    ProductEdit,
    Untranslated,
    ValueEdit,
)

PER_CHECK = 100_000
"""Comparisons of two disjuncts for one check: less than half a second."""
PER_RULEBOOK = 200_000
"""For all checks of a rulebook: a second or so. As much is shared equally before, so that costly rules cost no other
its class: unrolled rulebooks have a check for each member, and counts over many of them have thousands of
alternatives."""


class TooManyDisjunctsError(Exception):
    """A form has more alternatives than are compared; caught by the classification, which calls the rule opaque."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True)
class Effort:
    """What is left of the work that may be done.

    Attributes
    ----------
    left : int
        Comparisons of two disjuncts, for the check at hand.
    total : int
        The same, for all checks.
    each : int
        Comparisons for any check.
    """

    left: int = PER_CHECK
    total: int = PER_RULEBOOK
    each: int = PER_CHECK

    @classmethod
    def shared(cls, checks: int) -> Effort:
        """Return what lets each of some checks do as much as any other."""
        return cls(each=min(PER_CHECK, PER_RULEBOOK // max(1, checks)))

    @property
    def narrow(self) -> bool:
        """Whether a check may do less than it ever may."""
        return self.each < PER_CHECK

    def begin(self) -> None:
        """Turn to the next check."""
        self.left = self.each

    def spend(self, comparisons: int) -> None:
        """Count some work.

        Raises
        ------
        TooManyDisjunctsError
            There is none left.
        """
        self.left -= comparisons
        self.total -= comparisons
        if self.left < 0:
            raise TooManyDisjunctsError("it takes too long to compare its alternatives with each other")
        if self.total < 0:
            raise TooManyDisjunctsError(
                "it was not analysed: the rules before it took the time that there is for a rulebook"
            )


__all__ = [
    "ALWAYS",
    "MAX_DISJUNCTS",
    "NEVER",
    "NO_CODES",
    "CellValue",
    "Disjunction",
    "TooManyDisjunctsError",
    "complete",
    "conjoin",
    "disjoin",
    "domain_atoms",
    "form_of",
    "holds",
    "number_of",
    "satisfied",
    "variables_of",
    "variables_of_atom",
]

ALWAYS: Form = ((),)
NEVER: Form = ()
MAX_DISJUNCTS = 256
"""A rule with more alternatives than this is not understood."""
_TOO_MANY = f"it has more than {MAX_DISJUNCTS} alternatives"
_NORMALISED = 8
"""Bringing a conjunction to its normal form takes as long as so many comparisons."""


_WEAKENED = 32
"""Longer forms are not tried for atoms that can be dropped, which takes cubic time."""


def conjoin(one: Form, two: Form, effort: Effort | None = None) -> Form:
    """Both forms hold.

    Raises
    ------
    TooManyDisjunctsError
    """
    if ALWAYS in (one, two):
        return two if one == ALWAYS else one
    if len(one) * len(two) > MAX_DISJUNCTS**2:
        raise TooManyDisjunctsError(_TOO_MANY)
    if effort is not None:
        effort.spend(_NORMALISED * len(one) * len(two))
    found = Disjunction(effort)
    found.add(normalise((*a, *b)) for a in one for b in two)
    return found.form()


def disjoin(*forms: Form, effort: Effort | None = None) -> Form:
    """Some form holds.

    Raises
    ------
    TooManyDisjunctsError
    """
    found = Disjunction(effort)
    found.add(normalise(conjunction) for form in forms for conjunction in form)
    return found.form()


@dataclass(frozen=True, slots=True)
class _Disjunct:
    """A conjunction with what comparing it to others needs."""

    atoms: Conjunction
    variables: frozenset[str]
    slots: Mapping[tuple[str, object], frozenset[Atom]]


def _disjunct(atoms: Conjunction) -> _Disjunct:
    return _Disjunct(atoms, frozenset(name for atom in atoms for name in variables_of_atom(atom)), slots(atoms))


class Disjunction:
    """A disjunction that grows: what is contradictory or absorbed is dropped, what differs in one place is merged.

    Parameters
    ----------
    effort : Effort, optional
        What comparing may take.
    """

    def __init__(self, effort: Effort | None = None) -> None:
        self._effort = effort
        self._kept: list[_Disjunct] = []

    @property
    def empty(self) -> bool:
        """Whether nothing that can hold has been added."""
        return not self._kept

    def copy(self) -> Disjunction:
        """Return one that grows on its own."""
        found = Disjunction(self._effort)
        found._kept = list(self._kept)
        return found

    def add(self, conjunctions: Iterable[Conjunction | None]) -> None:
        """Add normalised conjunctions.

        Raises
        ------
        TooManyDisjunctsError
        """
        for candidate in dict.fromkeys(c for c in conjunctions if c is not None):
            self._insert(self._kept, _disjunct(candidate))
            if len(self._kept) > MAX_DISJUNCTS:
                raise TooManyDisjunctsError(_TOO_MANY)

    def form(self) -> Form:
        """Return what has been added as a form.

        Raises
        ------
        TooManyDisjunctsError
        """
        kept = list(self._kept)
        self._weaken(kept)
        if len(kept) == 1:
            return (kept[0].atoms,)
        return tuple(sorted((disjunct.atoms for disjunct in kept), key=_disjunct_key))

    def _insert(self, kept: list[_Disjunct], candidate: _Disjunct) -> None:
        """Add a disjunct to a reduced list, in place; merged ones are tried again."""
        while True:
            self._spend(len(kept))
            if any(_absorbs(known, candidate) for known in kept):
                return
            kept[:] = [known for known in kept if not _absorbs(candidate, known)]
            for position, known in enumerate(kept):
                merged = _merged(known, candidate)
                if merged is not None:
                    del kept[position]
                    candidate = _disjunct(merged)
                    break
            else:
                kept.append(candidate)
                return

    def _weaken(self, kept: list[_Disjunct]) -> None:
        """Drop atoms without which a disjunct says no more than the form does, in place.

        ``(a and not b) or b`` is ``a or b``.
        """
        changed = 1 < len(kept) <= _WEAKENED
        while changed:
            changed = False
            for position, disjunct in enumerate(kept):
                others = kept[:position] + kept[position + 1 :]
                self._spend(len(disjunct.atoms) * len(others))
                weaker = next((w for w in _weaker(disjunct, others)), None)
                if weaker is not None:
                    kept[:] = others
                    self._insert(kept, _disjunct(weaker))
                    changed = len(kept) > 1
                    break

    def _spend(self, comparisons: int) -> None:
        if self._effort is not None:
            self._effort.spend(comparisons)


def _absorbs(weak: _Disjunct, strong: _Disjunct) -> bool:
    return weak.variables <= strong.variables and all(implies(strong.atoms, atom) for atom in weak.atoms)


def _absorbed(strong: _Disjunct, others: list[_Disjunct]) -> bool:
    return any(_absorbs(other, strong) for other in others)


def _merged(one: _Disjunct, two: _Disjunct) -> Conjunction | None:
    """Write two disjuncts as one where they differ in what they ask of one variable or one expression."""
    if one.slots.keys() != two.slots.keys():
        return None
    differing = [key for key, atoms in one.slots.items() if atoms != two.slots[key]]
    if len(differing) != 1:
        return None
    (key,) = differing
    united = union(tuple(one.slots[key]), tuple(two.slots[key]))
    if united is None:
        return None
    return normalise([*(atom for k, atoms in one.slots.items() if k != key for atom in atoms), *united])


def _weaker(disjunct: _Disjunct, others: list[_Disjunct]) -> Iterable[Conjunction]:
    """Yield the disjunct without an atom, where others hold whenever this atom is what fails.

    The opposite of an atom reads no other variable, so that what reads one absorbs nothing here.
    """
    near = [other for other in others if other.variables <= disjunct.variables]
    for atom in disjunct.atoms:
        rest = tuple(other for other in disjunct.atoms if other != atom)
        alternatives = opposites(atom)
        if alternatives is None:
            continue
        parts = (normalise((*rest, alternative)) for alternative in alternatives)
        if all(p is None or _absorbed(_disjunct(p), near) for p in parts):
            yield rest


def _disjunct_key(conjunction: Conjunction) -> tuple[object, ...]:
    """Disjuncts about single variables come first, those about missing values last."""
    joint = any(len(variables_of_atom(atom)) > 1 for atom in conjunction)
    return (is_about_missing(conjunction), joint, tuple(sort_key(atom) for atom in conjunction))


# --- what others ask of forms -----------------------------------------------------------------------------------


def form_of(constraint: Constraint) -> Form:
    """Return the normal form of any constraint; what is not understood is one `Untranslated` atom."""
    match constraint:
        case LinearEdit() | ProductEdit() | ValueEdit() | GoverningEdit() | DomainEdit():
            return constraint.form
        case CrossRecordEdit(variables=variables, reason=reason) | OpaqueEdit(variables=variables, reason=reason):
            return ((Untranslated(variables, reason),),)


def variables_of(form: Form) -> tuple[str, ...]:
    """Return the variables of a form, sorted by name."""
    return tuple(sorted({name for conjunction in form for atom in conjunction for name in variables_of_atom(atom)}))


def domain_atoms(forms: Iterable[Form]) -> tuple[InDomain, ...]:
    """Return the atoms that ask for a value of another document, once each."""
    atoms = (atom for form in forms for conjunction in form for atom in conjunction)
    return tuple(dict.fromkeys(atom for atom in atoms if isinstance(atom, InDomain)))


NO_CODES: Mapping[str, frozenset[str]] = MappingProxyType({})
"""No values that mean 'missing'."""


def complete(form: Form, missing: Mapping[str, frozenset[str]] = NO_CODES) -> Form:
    """Return the disjuncts that a record without missing values can satisfy; `is_about_missing` says the rest."""
    return tuple(conjunction for conjunction in form if not is_about_missing(conjunction, missing))


def is_about_missing(conjunction: Conjunction, missing: Mapping[str, frozenset[str]] = NO_CODES) -> bool:
    """Whether a disjunct asks for a missing value: absent, empty, a code or, where a number is needed, none.

    Parameters
    ----------
    conjunction : Conjunction
    missing : mapping of str to frozenset of str
        Codes by field, ``*`` for all.
    """
    return any(_asks_missing(atom, missing) for atom in conjunction)


def _asks_missing(atom: Atom, missing: Mapping[str, frozenset[str]]) -> bool:
    match atom:
        case Missing() | Present(negated=True):
            return True
        case Member(variable=name, values=values, negated=False):
            return values <= {"", *missing.get(name, ()), *missing.get("*", ())}
    return False


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
