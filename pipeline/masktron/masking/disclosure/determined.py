"""What the rules leave no freedom in: fields that a list of values, an equality or an unmasked field settles.

A rule lists the values of a number by a set, a single point or a domain; categories are always listed, since they
come from the records of a group. An equality whose other fields are settled settles the one that is left. Conditions
that have no normal form may list anything, so their fields count as listed.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import variables_of
from masktron.classify.forms import variables_of as variables_of_form
from masktron.constraints import Atom, Form, InDomain, Linear, Member, Polynomial, Product, Range, Untranslated
from masktron.grouping.members import codes_of_columns
from masktron.grouping.record_groups import RecordGroups
from masktron.masking.record_rules import RecordRules, held_disjuncts
from masktron.plan import Block
from masktron.settle.prototypes import Settled, numbers_of
from masktron.sources.lexical import parse_number

type Atoms = frozenset[Atom]


def settled_by(names: Iterable[str], atoms: Iterable[Atom]) -> frozenset[str]:
    """Return the fields that have finitely many values once some fields are given, and these.

    Theorem: given the values of `names`, the values of each field that is returned are the solutions of equalities
    in it, one field at a time. Proof: by induction over the rounds. A row of the reduced system of the linear
    equalities with one field that is not settled has one solution; another equality with one such field is a
    polynomial in it that is not zero throughout, which has finitely many roots.

    Parameters
    ----------
    names : iterable of str
        Fields whose values are given.
    atoms : iterable of Atom
        Conditions that hold; a linear inequality and its reverse are an equality.

    Returns
    -------
    frozenset of str
    """
    given = frozenset(atoms)
    linear = [dict(atom.terms) for atom in _equalities(given)]
    others = [variables_of(atom) for atom in given if _equates(atom) and not isinstance(atom, Linear)]
    known = frozenset(names)
    while True:
        rows = _reduced([{n: c for n, c in row.items() if n not in known} for row in linear])
        found = {
            n for row in (*map(frozenset, rows), *(names - known for names in others)) if len(row) == 1 for n in row
        }
        if found <= known:
            return known
        known |= found


def _equates(atom: Atom) -> bool:
    return isinstance(atom, Linear | Product | Polynomial) and atom.relation == "="


def _equalities(atoms: Atoms) -> Iterator[Linear]:
    for atom in atoms:
        if isinstance(atom, Linear) and (_equates(atom) or (atom.relation == "<=" and _reverse(atom) in atoms)):
            yield atom


def _reverse(atom: Linear) -> Linear:
    return Linear(tuple((name, -c) for name, c in atom.terms), "<=", -atom.bound)


def _telling(atoms: Iterable[Atom], *, lists: bool) -> Atoms:
    """Return the conditions that can settle a field, and, if wanted, those that list its values."""
    given = frozenset(atoms)
    return frozenset(a for a in given if _equates(a) or (lists and _lists(a))).union(_equalities(given))


def _reduced(rows: Iterable[dict[str, Fraction]]) -> list[dict[str, Fraction]]:
    """Bring linear equalities, without their constants, to reduced form; rows of zeros are dropped."""
    reduced: list[tuple[str, dict[str, Fraction]]] = []
    for given in rows:
        row = given
        for pivot, other in reduced:
            row = _without(row, pivot, other)
        if row:
            own = min(row)
            reduced = [(pivot, _without(other, own, row)) for pivot, other in reduced]
            reduced.append((own, row))
    return [row for _, row in reduced]


def _without(row: dict[str, Fraction], pivot: str, other: Mapping[str, Fraction]) -> dict[str, Fraction]:
    factor = row.get(pivot, Fraction(0)) / other[pivot]
    sums = {name: row.get(name, Fraction(0)) - factor * other.get(name, Fraction(0)) for name in row.keys() | other}
    return {name: value for name, value in sums.items() if value}


def listed(atoms: Iterable[Atom]) -> frozenset[str]:
    """Return the fields whose values are listed by a condition, or by one that has no normal form."""
    return frozenset(name for atom in atoms if _lists(atom) for name in variables_of(atom))


def _lists(atom: Atom) -> bool:
    match atom:
        case Range(low=low, high=high):
            return low is not None and low == high
        case Member(negated=negated):
            return not negated
        case _:
            return isinstance(atom, InDomain | Untranslated)


class Determined:
    """What pins the prototypes of a block.

    Parameters
    ----------
    rules : RecordRules
    block : Block
    grouping : RecordGroups
    settled : Settled
        The prototypes as written.
    """

    def __init__(self, rules: RecordRules, block: Block, grouping: RecordGroups, settled: Settled) -> None:
        self._rules = rules
        self._file = rules.file
        self._block = block
        self._grouping = grouping
        self._prototypes = settled
        self._settled = functools.cache(settled_by)

    def by_lists(self, groups: NDArray[np.bool_], constant: Mapping[str, NDArray[np.bool_]]) -> NDArray[np.bool_]:
        """Tell which of some groups leave no number free: lists, unmasked fields and equalities settle all.

        Parameters
        ----------
        groups : ndarray of bool, shape (groups,)
            Those to look at.
        constant : mapping of str to ndarray of bool, shape (groups,)
            For each masked field, the groups in which all records have the value of the prototype: that value tells
            nothing, and a combination of the others is still the choice of one record.

        Returns
        -------
        ndarray of bool, shape (groups,)
        """
        numbers = [name for name in self._block.variables if name in self._file.numeric]
        given = frozenset(self._block.conditions) | frozenset(self._block.variables).difference(numbers)

        found = np.zeros(len(groups), dtype=np.bool_)
        for group, atoms in self._asked_of(groups, lists=True):
            without = {name for name in numbers if constant[name][group] or not self._has(group, name)}
            # What is solved in each record follows from the others: it neither settles them nor is left free.
            follows = {one.variable for one in self._block.solved} & without
            found[group] = self._settled(given | (without - follows) | listed(atoms), atoms).issuperset(
                {*numbers} - follows
            )
        return found

    def by_unmasked(self, groups: NDArray[np.bool_]) -> dict[str, NDArray[np.bool_]]:
        """Tell in which of some groups equalities with unmasked fields settle a masked one; shape (groups,) each."""
        given = frozenset(self._block.conditions)
        if not given:
            return {}
        found = {name: np.zeros(len(groups), dtype=np.bool_) for name in self._block.variables}
        for group, atoms in self._asked_of(groups, lists=False):
            for name in self._settled(given, atoms) - given:
                found[name][group] = True
        return {name: where for name, where in found.items() if where.any()}

    def _asked_of(self, groups: NDArray[np.bool_], *, lists: bool) -> Iterator[tuple[int, Atoms]]:
        """Yield groups with the equalities that any of their records is asked for, and lists of values if wanted."""
        forms = self._rules.forms(self._block)
        telling = _telling({atom for form in forms for conjunction in form for atom in conjunction}, lists=lists)
        forms = [form for form in forms if any(not telling.isdisjoint(conjunction) for conjunction in form)]
        # What has one disjunct is asked of every record.
        everywhere = telling.intersection(atom for form in forms if len(form) == 1 for atom in form[0])
        asked: dict[int, Atoms] = dict.fromkeys(np.flatnonzero(groups).tolist(), everywhere)
        records = np.flatnonzero(groups[self._grouping.labels])
        labels = self._grouping.labels[records]
        for form in forms:
            if len(form) == 1:
                continue
            holding = self._holding(form, records)
            # Few combinations of group and disjuncts differ, though there are many records.
            patterns = codes_of_columns(np.packbits(holding, axis=1).T, len(records))
            of_pattern = [telling & _asked(form, tuple(holding[at].tolist())) for at in _first(patterns).tolist()]
            for at in _first(codes_of_columns((labels, patterns), len(records))).tolist():
                asked[int(labels[at])] |= of_pattern[patterns[at]]
        yield from asked.items()

    def _has(self, group: int, name: str) -> bool:
        text = self._prototypes.written[self._block.variables.index(name)][group]
        number = parse_number(text or "")
        return not np.isnan(number) and number not in self._file.codes.get(name, ())

    def _holding(self, form: Form, records: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Which disjuncts some records satisfy as written; shape (records, disjuncts)."""
        texts = {name: self._written(name, records) for name in variables_of_form(form)}
        seen = {name: numbers_of(own) for name, own in texts.items()}
        return held_disjuncts(form, len(records), seen, texts, self._rules.domains)

    def _written(self, name: str, records: NDArray[np.intp]) -> NDArray[np.object_]:
        if name not in self._block.variables:
            return self._file.columns[name].lexemes_of(records)
        return self._prototypes.some(self._block.variables.index(name), self._grouping.labels, records)


def _first(codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the first record of each code, in the order of the codes."""
    return np.unique(codes, return_index=True)[1].astype(np.intp)


def _asked(form: Form, holding: tuple[bool, ...]) -> Atoms:
    """What a rule asks of a record: the atoms that all disjuncts have in common in kind.

    Where several disjuncts hold, the record may leave one and obey the rule still; so only what all of them list or
    equate is asked. Where the columns cannot tell which holds, all may be asked.
    """
    own = [frozenset(conjunction) for conjunction, holds in zip(form, holding, strict=True) if holds]
    if not own:
        return frozenset().union(*map(frozenset, form))
    common = frozenset.intersection(*own)
    names = frozenset.intersection(*map(listed, own))
    return common | {atom for atoms in own for atom in atoms if _lists(atom) and names.issuperset(variables_of(atom))}
