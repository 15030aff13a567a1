"""The values of one respondent among the prototypes: which records hold them, what is counted, said, and capped.

A prototype can equal a record of its group for three reasons, and only two of them publish that record.

1. Nothing else was found: the medoid, or medians of all fields that one record holds together. Or the rules leave no
   number free: lists of values (sets, points, domains, categories), equalities and unmasked fields settle every
   field that is not constant in the group, so that the points that obey them are, as far as is known, the records
   themselves. How the search came to such a point does not matter.
2. One record is the aggregate: it holds more than `DOMINANT` of the weight of its group, or it alone has a value of
   a field in a group of several patterns of missing values.
3. Chance. Numbers on a coarse grid have few points: the rounded mean of the children of three households is the
   number of one of them more often than not. Whoever sees it cannot tell which record that is, nor that it is one,
   and it was taken for being near the mean of all. In a file of small integers many groups are of this kind.

The first two are *copied* and capped; the third is *coincident* and printed. A combination that at least k records of
the file hold is nobody's, wherever it comes from: it tells no more than a group of k does. So lists and weights copy
only what fewer than k records hold. The medoid and the medians are capped in any case.

In blocks planned with observed aggregators somebody's values are the plan: they are counted and not capped.

Where a method draws, each record is a group of its own and publishes nobody, but for records that took the prototype
of a group: a prototype that copies a record does so there as well, once however many records took it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import variables_of
from masktron.aggregators.geometric_mean import GeometricMean
from masktron.aggregators.mean import Mean
from masktron.aggregators.median import Median
from masktron.aggregators.medoid import Medoid
from masktron.classify.elimination import is_equality
from masktron.classify.forms import variables_of as variables_of_form
from masktron.constraints import Atom, Form, InDomain, Linear, Member, Range, Untranslated
from masktron.grouping.members import codes_of, codes_of_columns
from masktron.grouping.record_groups import RecordGroups
from masktron.kernels import distinct
from masktron.large_arrays import kept
from masktron.masking.file_values import FileValues
from masktron.masking.inputs import MaskingInputs
from masktron.masking.judging import RecordRules, held_disjuncts
from masktron.plan import DERIVED, Block
from masktron.settle.prototypes import Settled, numbers_of
from masktron.sources.lexical import parse_number


@dataclass(frozen=True, slots=True, eq=False)
class Holders:
    """Prototypes compared with the records of the file.

    Numbers are equal if their values are, whatever their spelling; categories, if their texts are. A record holds a
    prototype if it has its values in all fields in which the prototype has one; a prototype without any is nobody's.

    Attributes
    ----------
    equal : ndarray of bool, shape (n,)
        Records that hold the prototype of their group.
    held : ndarray of bool, shape (groups,)
        Groups with such a record.
    in_file : ndarray of intp, shape (groups,)
        Records of the whole file that hold the prototype; 0 where none of the group does.
    alone : ndarray of bool, shape (groups,)
        Groups that publish a value of a field of which one record of the group alone has a value, and fewer than k
        records of the file have this one.
    """

    equal: NDArray[np.bool_]
    held: NDArray[np.bool_]
    in_file: NDArray[np.intp]
    alone: NDArray[np.bool_]
    _own: Sequence[NDArray[np.float64]]
    _written: Sequence[NDArray[np.float64]]
    _labels: NDArray[np.intp]

    @classmethod
    def of(
        cls, file: FileValues, k: int, variables: Sequence[str], grouping: RecordGroups, settled: Settled
    ) -> Holders:
        """Compare the prototypes of a block with all records."""
        cells = (_coded(file, name, settled, at) for at, name in enumerate(variables))
        own, written = map(list, zip(*((kept(one), other) for one, other in cells), strict=True))
        equal, some = np.ones(file.n, dtype=np.bool_), np.zeros(grouping.groups, dtype=np.bool_)
        for values, prototypes in zip(own, written, strict=True):
            masked = prototypes[grouping.labels]
            equal &= (values == masked) | np.isnan(masked)
            some |= ~np.isnan(prototypes)
        equal &= some[grouping.labels]
        held = np.bincount(grouping.labels, equal, minlength=grouping.groups) > 0
        return cls(
            equal=equal,
            held=held,
            in_file=_in_file(own, written, held),
            alone=np.any([_alone(*pair, grouping, k) for pair in zip(own, written, strict=True)], axis=0),
            _own=own,
            _written=written,
            _labels=grouping.labels,
        )

    def unchanged(self, position: int) -> NDArray[np.bool_]:
        """Groups with a value of the field at a position, in which every record gets its own back."""
        own, written = self._own[position], self._written[position]
        changed = np.bincount(self._labels, own != written[self._labels], minlength=len(written))
        return np.asarray(~np.isnan(written) & (changed == 0))


def _coded(file: FileValues, name: str, settled: Settled, at: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the values of a field in the records and in the prototypes, as numbers; NaN where there is none."""
    if name in file.numeric:
        return file.values[name], file.without_codes(name, settled.numbers_at(at))
    codes = distinct.codes_of(np.concatenate([file.columns[name].held, settled.texts(at)]))
    own, written = codes[: file.n], codes[file.n :]
    # What no record has is no value: a missing code, or an empty text.
    known = np.isin(written, own[own >= 0])
    return np.where(own >= 0, own, np.nan), np.where(known, written, np.nan)


def _in_file(
    own: Sequence[NDArray[np.float64]], written: Sequence[NDArray[np.float64]], held: NDArray[np.bool_]
) -> NDArray[np.intp]:
    """How many records of the file hold each of some prototypes, pattern by pattern of missing values."""
    found = np.zeros(len(held), dtype=np.intp)
    groups = np.flatnonzero(held)
    missing = np.stack([np.isnan(prototypes[groups]) for prototypes in written], axis=1)
    patterns = codes_of(missing)
    for code in range(int(patterns.max(initial=-1)) + 1):
        of_code = groups[patterns == code]
        there = np.flatnonzero(~missing[patterns == code][0]).tolist()
        # Few records have the first values of a prototype; the others need not be compared with it.
        records = np.arange(len(own[0]))
        for at in there:
            records = records[np.isin(own[at][records], written[at][of_code])]
        cells = [np.concatenate([own[at][records], written[at][of_code]]) for at in there]
        alike = codes_of(np.stack(cells, axis=1))
        counts = np.bincount(alike[: len(records)], minlength=int(alike.max(initial=-1)) + 1)
        found[of_code] = counts[alike[len(records) :]]
    return found


def _alone(
    own: NDArray[np.float64], written: NDArray[np.float64], grouping: RecordGroups, k: int
) -> NDArray[np.bool_]:
    """Groups that publish the only value of a field that their records have, where it is rare in the file."""
    there = ~np.isnan(own)
    single = np.bincount(grouping.labels, there, minlength=grouping.groups) == 1
    value = np.full(grouping.groups, np.nan)
    value[grouping.labels[there]] = own[there]
    published = single & (written == value)
    if published.any():
        values, counts = np.unique(own[there], return_counts=True)
        which = np.flatnonzero(published)
        published[which] = counts[np.searchsorted(values, value[which])] < k
    return np.asarray(published)


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
    others = [variables_of(atom) for atom in given if is_equality(atom) and not isinstance(atom, Linear)]
    known = frozenset(names)
    while True:
        rows = _reduced([{n: c for n, c in row.items() if n not in known} for row in linear])
        found = {
            n for row in (*map(frozenset, rows), *(names - known for names in others)) if len(row) == 1 for n in row
        }
        if found <= known:
            return known
        known |= found


def _equalities(atoms: Atoms) -> Iterator[Linear]:
    for atom in atoms:
        if isinstance(atom, Linear) and (is_equality(atom) or (atom.relation == "<=" and _reverse(atom) in atoms)):
            yield atom


def _reverse(atom: Linear) -> Linear:
    return Linear(tuple((name, -c) for name, c in atom.terms), "<=", -atom.bound)


def _telling(atoms: Iterable[Atom], *, lists: bool) -> Atoms:
    """Return the conditions that can settle a field, and, if wanted, those that list its values."""
    given = frozenset(atoms)
    return frozenset(a for a in given if is_equality(a) or (lists and _lists(a))).union(_equalities(given))


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


AVERAGED = frozenset({Mean.name, GeometricMean.name}) | DERIVED
"""Aggregators that publish nobody's values: a group of theirs that does has left by a fallback."""
DOMINANT = 0.9
"""Share of the weight of a group above which its aggregate is, but for rounding, the values of one record."""


@dataclass(frozen=True, slots=True, eq=False)
class Exposure:
    """Groups of one block by what their prototypes tell of single records; arrays of bool, shape (groups,).

    Attributes
    ----------
    copied : ndarray
        One record's values stand in the place of an aggregate: what the cap is about. In a block of observed
        aggregators, the groups that left by the medoid.
    observed : ndarray
        In a block of observed aggregators, groups whose whole prototype one record of theirs holds; else those that
        are copied.
    coincident : ndarray
        Aggregates that equal a record of the group in all present fields by chance.
    dominated : ndarray
        One record holds more than `DOMINANT` of the weight.
    determined : mapping of str to ndarray
        For each masked field that equalities with unmasked ones settle somewhere: the groups in which every record
        gets its own value back.
    """

    copied: NDArray[np.bool_]
    observed: NDArray[np.bool_]
    coincident: NDArray[np.bool_]
    dominated: NDArray[np.bool_]
    determined: Mapping[str, NDArray[np.bool_]]

    def copying(self, copied: NDArray[np.bool_]) -> Exposure:
        """Return the same where some drawn records stand for prototypes that copy a record."""
        return replace(self, copied=copied, observed=copied, coincident=self.coincident & ~copied)


def exposure_of(inputs: MaskingInputs, block: Block, grouping: RecordGroups, settled: Settled) -> Exposure:
    """Tell what the prototypes of a block publish of single records.

    Theorem: in an averaged block, a group whose prototype equals a record of the group in all present fields is
    copied or coincident, never neither. Proof: `coincident` is what is held and not copied.

    Parameters
    ----------
    inputs : MaskingInputs
        The records that were masked.
    block : Block
    grouping : RecordGroups
    settled : Settled
    """
    held = Holders.of(inputs.file, inputs.k, block.variables, grouping, settled)
    if block.drawn:
        # each record has values of its own, and those of a respondent by chance alone; prototypes are added later
        none = np.zeros(grouping.groups, dtype=np.bool_)
        return Exposure(none, none, held.held, none, {})
    settling = Determined(inputs.rules, block, grouping, settled)
    medoids = settled.left_by(Medoid.name)
    dominant, dominated = _dominance(inputs.file, grouping)
    if block.aggregator in AVERAGED:
        rare = held.held & (held.in_file < inputs.k)
        copied = medoids | (settled.left_by(Median.name) & held.held)
        copied |= held.alone
        copied |= rare & dominated & held.equal[dominant]
        constant = {name: held.unchanged(position) for position, name in enumerate(block.variables)}
        copied |= settling.by_lists(rare & ~copied, constant)
        observed, coincident = copied, held.held & ~copied
    else:
        copied, observed, coincident = medoids, medoids | held.held, np.zeros_like(medoids)
    unchanged = {
        name: where & held.unchanged(position)
        for name, where in settling.by_unmasked(np.ones(grouping.groups, dtype=np.bool_)).items()
        for position in (block.variables.index(name),)
    }
    kept = {name: where for name, where in unchanged.items() if where.any()}
    return Exposure(copied, observed, coincident, dominated, kept)


def _dominance(file: FileValues, grouping: RecordGroups) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the heaviest record of each group, and whether it holds more than `DOMINANT` of the weight."""
    if file.weights is None:
        return grouping.first, grouping.sizes == 1
    weights = file.weights
    order = np.lexsort((-weights, grouping.labels))
    heaviest = order[np.searchsorted(grouping.labels[order], np.arange(grouping.groups))].astype(np.intp)
    # A share of the largest weight cannot overflow, unlike a sum of weights.
    shares = weights / np.maximum(weights[heaviest], np.finfo(np.float64).tiny)[grouping.labels]
    totals = np.bincount(grouping.labels, shares, minlength=grouping.groups)
    return heaviest, np.asarray((weights[heaviest] > 0) & (DOMINANT * totals < 1.0))
