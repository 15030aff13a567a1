"""Disjunctions of conjunctions: the algebra of the normal form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from masktron.classify.conjunctions import Conjunction, implies, normalise, opposites, slots, sort_key
from masktron.classify.effort import Effort, TooManyDisjunctsError
from masktron.classify.truth import CellValue, holds, number_of, satisfied, variables_of_atom
from masktron.classify.unions import union
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
