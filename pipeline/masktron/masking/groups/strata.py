"""Groups for a partition of the plan: what parts records, what holds them together, and the disjuncts they share."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import ObservedAggregator, variables_of
from masktron.aggregators.medoid import Medoid
from masktron.classify.forms import satisfied
from masktron.classify.forms import variables_of as variables_of_form
from masktron.constraints import Atom, Form, Linear
from masktron.grouping.disjuncts import Disjuncts, UnmaskedBound
from masktron.grouping.members import Members, codes_of, codes_of_columns
from masktron.grouping.record_groups import RecordGroups, group_records, joined_groups
from masktron.masking.groups.unequal_sizes import with_unequal_sizes
from masktron.masking.inputs import MaskingInputs
from masktron.masking.per_record import Reductions, solved_parts, tying
from masktron.masking.record_rules import RecordRules, held_disjuncts
from masktron.masking.totals.file_conditions import FileConditions
from masktron.partitions.column_kinds import Kinds
from masktron.partitions.kdcut import Cuts
from masktron.partitions.partitioner import AFFORDABLE, within_groups
from masktron.plan import Block, Partition, aggregator_of
from masktron.sources.records import OnDemand


def group(inputs: MaskingInputs, partition: Partition) -> RecordGroups:
    """Partition the records on all variables of a partition.

    Records of different codes of ``inputs.unlike`` are grouped as if they were files of their own.
    """
    if inputs.unlike is None:
        return _group(inputs, partition)
    kinds = Members.of(codes_of(inputs.unlike[:, None]))
    if len(kinds) == 1:
        return _group(inputs, partition)
    return joined_groups(kinds, (_group(inputs.part(rows), partition) for rows in kinds))


def _group(inputs: MaskingInputs, partition: Partition) -> RecordGroups:
    """Partition the records on all variables of a partition.

    Records that nothing bridges are parted, the others are grouped by their distance and by what they have to share.
    Where totals need it, a group is dissolved then.
    """
    rules, file = inputs.rules, inputs.file
    conditions = FileConditions(rules)
    patterns = file.patterns(partition.variables)
    apart = parted(rules, partition, conditions, patterns)
    points, cuts = points_of(rules, partition), Cuts()
    formed = functools.partial(
        group_records,
        points,
        inputs.k,
        apart=apart,
        patterns=patterns,
        bonds=_bonds(rules, partition),
        disjuncts=disjuncts_of(rules, partition),
        fits=_Fitting(rules, partition),
    )
    added = points.shape[1] - (known := file.kinds(partition.grouped)).columns
    partitioner = inputs.partitioner.of_kinds(Kinds.joined([known, Kinds.numbers(added)]))
    grouping = formed(partitioner=partitioner.recording(cuts))
    cut, spread = cuts.largest(), 0.0
    if cut is not None:
        if file.n <= AFFORDABLE:
            # the rules move records between groups, which makes up for much of what a cut costs
            whole = formed(partitioner=partitioner.whole())
            cut = replace(cut, excess=_within(points, grouping) - _within(points, whole), measured=True)
        spread = float(np.nansum(np.square(points)))
    even = with_unequal_sizes(rules, partition, grouping, conditions, apart)
    return replace(even, cut=cut, spread=spread)


def parted(
    rules: RecordRules, partition: Partition, conditions: FileConditions, patterns: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Code what parts records, shape (n,).

    Patterns of missing values, classes that totals are taken over, unmasked fields that tie masked ones, and signs
    for geometric means.
    """
    return codes_of_columns(_parting(rules, partition, conditions, patterns), rules.file.n)


def _parting(
    rules: RecordRules, partition: Partition, conditions: FileConditions, patterns: NDArray[np.intp]
) -> Iterator[NDArray[np.intp]]:
    """Yield the codes that part records, one after the other."""
    yield patterns
    yield from conditions.parting(partition.variables)
    for block in partition.blocks:
        limits = limits_of(rules, block)
        yield from (_parted(rules, block, name) for name in block.ties if name not in limits)
        if block.one_signed:
            yield from (np.nan_to_num(np.sign(rules.file.values[name])).astype(np.intp) for name in block.variables)


def spread_within(rules: RecordRules, partition: Partition, grouping: RecordGroups) -> float:
    """Return the sum of squares within groups, in the coordinates in which records are near."""
    return _within(points_of(rules, partition), grouping)


def _within(points: NDArray[np.float64], grouping: RecordGroups) -> float:
    return within_groups(np.where(np.isnan(points), 0.0, points), grouping.labels)


def points_of(rules: RecordRules, partition: Partition) -> NDArray[np.float64]:
    """Return the coordinates of what groups share, and of what that costs the variables that follow from it."""
    parts = [solved_parts(rules, block) for block in partition.blocks if block.solved]
    return np.concatenate([rules.file.points(partition.grouped), *parts], axis=1)


def _parted(rules: RecordRules, block: Block, name: str) -> NDArray[np.intp]:
    """Code what parts records in an unmasked field: its value, or whether it has one if it ties nothing."""
    if block.solved and name not in tying(block, rules.forms(block)):
        return rules.file.missing([name])[:, 0]
    return rules.file.columns[name].ranked()[1]


def _bonds(rules: RecordRules, partition: Partition) -> NDArray[np.intp]:
    """Code what unmasked fields say in the rules: values beside a masked field, else the truth of each atom."""
    file = rules.file
    codes = [np.zeros(file.n, dtype=np.intp)]
    for block in partition.blocks:
        codes += [file.columns[name].ranked()[1] for name in block.ties]
        conditions = frozenset(block.conditions)
        atoms = (atom for form in rules.forms(block) for conjunction in form for atom in conjunction)
        for atom in dict.fromkeys(atoms):
            if variables_of(atom) and variables_of(atom) <= conditions:
                codes.append(satisfied(atom, file.seen, file.texts, domains=rules.domains).astype(np.intp))
    return codes_of(np.stack(codes, axis=1))


def limits_of(rules: RecordRules, block: Block) -> frozenset[str]:
    """Return the unmasked fields that only set limits: beside masked ones, they stand in linear inequalities alone.

    They need not be constant in a group: a prototype that keeps the tightest limit of its members keeps all. An
    aggregate of observed values cannot be moved there, so that for it they tie.
    """
    if isinstance(aggregator_of(block), ObservedAggregator):
        return frozenset()
    numbers = {name for name in block.ties if not np.isnan(rules.file.seen[name]).any()}
    if block.solved:
        return frozenset(numbers - tying(block, rules.forms(block)))
    fixed = {
        name
        for form in rules.forms(block)
        for conjunction in form
        for atom in conjunction
        if not variables_of(atom).isdisjoint(block.variables) and not _is_inequality(atom)
        for name in variables_of(atom)
    }
    return frozenset(numbers - fixed)


def _is_inequality(atom: Atom) -> bool:
    return isinstance(atom, Linear) and atom.relation != "="


def disjuncts_of(rules: RecordRules, partition: Partition) -> Disjuncts:
    """Collect the disjuncts of the rules for which a group needs a common one, and the limits in them."""
    shared: list[NDArray[np.bool_]] = []
    bounds: list[UnmaskedBound] = []
    for block in partition.blocks:
        limits = limits_of(rules, block)
        reductions = Reductions(rules, block)
        live, reduced = reductions.live, reductions.all.forms
        for form, (_, asked) in zip(rules.forms(block), reduced, strict=True):
            own = [
                _bound(rules, block, atom, live, rule=len(shared), disjunct=position)
                for position, conjunction in enumerate(asked)
                for atom in conjunction
                if isinstance(atom, Linear) and atom.relation != "=" and not variables_of(atom).isdisjoint(limits)
            ]
            if own or (len(form) > 1 and _needs_strata(form, block)):
                shared.append(rules.satisfied_by(form))
                bounds += own
    return Disjuncts.of(rules.file.n, shared, bounds)


def _bound(
    rules: RecordRules, block: Block, atom: Linear, live: NDArray[np.bool_], *, rule: int, disjunct: int
) -> UnmaskedBound:
    """Split an inequality into its masked side and what is left for it; who is not `live` has no limit."""
    values, limits = np.zeros(rules.file.n), np.full(rules.file.n, float(atom.bound))
    for name, coefficient in atom.terms:
        if name in block.variables:
            values += float(coefficient) * rules.file.seen[name]
        else:
            limits -= float(coefficient) * rules.file.seen[name]
    if atom.relation == "<":
        limits = np.nextafter(limits, -np.inf)
    # The record keeps its own limit; sums of doubles may say otherwise by a rounding error.
    return UnmaskedBound(rule, disjunct, values, np.where(live, np.fmax(values, limits), np.fmax(values, np.inf)))


def _needs_strata(form: Form, block: Block) -> bool:
    """Whether a group has to share a disjunct, or the aggregator keeps the rule as a whole without that.

    A rule on one variable is a condition on its value, which every observed value satisfies; a rule on variables that
    the medoid replaces together is satisfied by every record.
    """
    variables = {*variables_of_form(form)}
    aggregator = aggregator_of(block)
    whole = isinstance(aggregator, Medoid) or (isinstance(aggregator, ObservedAggregator) and len(variables) == 1)
    return not (whole and variables <= set(block.variables))


class _Fitting:
    """Whether the masked values of a record satisfy the rules beside the unmasked fields of another, by the forms.

    Where these unmasked fields are written alike in both, they do, whatever the rule says: the original obeys it.
    """

    def __init__(self, rules: RecordRules, partition: Partition) -> None:
        self._rules = rules
        self._file = rules.file
        self._masked = frozenset(partition.grouped)
        self._partition = partition

    @functools.cached_property
    def _asked(self) -> list[tuple[Form, NDArray[np.intp], NDArray[np.bool_]]]:
        """Rules with unmasked fields beside masked ones, codes of what these say, and who is `live`: if asked."""
        return [
            (
                form,
                codes_of(np.stack([self._file.columns[name].ranked()[1] for name in conditions], axis=1)),
                reductions.live,
            )
            for block in self._partition.blocks
            for reductions in (Reductions(self._rules, block),)
            for _, form in reductions.all.forms
            if (conditions := self._conditions(form))
        ]

    def _conditions(self, form: Form) -> list[str]:
        names = {*variables_of_form(form)}
        return sorted(names - self._masked) if not names.isdisjoint(self._masked) else []

    def __call__(self, donors: NDArray[np.intp], hosts: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Judge pairs of records, both of shape (pairs,)."""
        fine = np.ones(len(donors), dtype=np.bool_)
        for form, codes, live in self._asked:
            open_ = np.flatnonzero(fine & (codes[donors] != codes[hosts]))
            if open_.size:
                fine[open_] = (
                    self._holds(form, donors[open_], hosts[open_]) & live[donors[open_]] & live[hosts[open_]]
                )
        return fine

    def _holds(self, form: Form, donors: NDArray[np.intp], hosts: NDArray[np.intp]) -> NDArray[np.bool_]:
        source = {name: donors if name in self._masked else hosts for name in variables_of_form(form)}
        columns = {name: self._file.columns[name].taken(at) for name, at in source.items()}
        seen = {name: column.as_read() for name, column in columns.items()}
        texts = OnDemand.lexemes(columns)
        return held_disjuncts(form, len(donors), seen, texts, {}).any(axis=1)
