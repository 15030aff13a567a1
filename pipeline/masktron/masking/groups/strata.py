"""Groups for a partition of the plan: what parts records, what holds them together, and the disjuncts they share."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import ObservedAggregator, variables_of
from masktron.aggregators.medoid import Medoid
from masktron.arrays import Labels
from masktron.classify.forms import satisfied
from masktron.classify.forms import variables_of as variables_of_form
from masktron.constraints import Form, Linear
from masktron.errors import InfeasibleError, RefusalFacts, UsageError
from masktron.grouping.disjuncts import Disjuncts, UnmaskedBound
from masktron.grouping.members import Members, codes_of, codes_of_columns
from masktron.grouping.record_groups import RecordGroups, group_records, joined_groups
from masktron.masking.file_values import FileValues
from masktron.masking.inputs import MaskingInputs
from masktron.masking.judging import RecordRules, held_disjuncts
from masktron.masking.per_record import Reductions, solved_parts, tying
from masktron.masking.totals.file_conditions import FileConditions, TotalCondition
from masktron.methods.base import Method
from masktron.methods.parameters import CONDITIONS, STRATA
from masktron.partitions.column_kinds import Kinds
from masktron.partitions.kdcut import Cuts
from masktron.partitions.partitioner import AFFORDABLE, within_groups
from masktron.plan import Block, Partition, aggregator_of
from masktron.problems.problem import Field, Known, fields
from masktron.settle.lattice import FINER
from masktron.sources.column import OnDemand

TRIED = 60
"""Groups of which the cheapest to dissolve is taken."""


def with_unequal_sizes(
    rules: RecordRules, partition: Partition, grouping: RecordGroups, tallies: FileConditions, apart: NDArray[np.intp]
) -> RecordGroups:
    """Dissolve a group where totals that have to stay are no multiples of what the sizes of the groups allow.

    Parameters
    ----------
    apart : ndarray of intp, shape (n,)
        Records with different codes may not share a group.

    Returns
    -------
    Grouping
        The same where nothing is needed, or where no group can be dissolved; no group is smaller than before.
    """
    wanted = {condition: _total(rules, condition) for condition in tallies.on(rules.file.texts) if condition.moving}
    while stuck := _stuck(rules, partition, wanted, grouping):
        chosen = np.logical_or.reduce([part.chosen for condition in stuck for part in condition.moving])
        dissolving = _Dissolving(rules, partition, grouping, apart)
        options = (dissolving.without(int(group)) for group in dissolving.candidates(chosen))
        better = [
            (cost, position, option)
            for position, (cost, option) in enumerate(found for found in options if found is not None)
            if len(_stuck(rules, partition, wanted, option)) < len(stuck)
        ]
        if not better:
            break
        grouping = min(better, key=lambda one: one[:2])[2]
    return grouping


def _total(rules: RecordRules, condition: TotalCondition) -> Fraction:
    """What the moving parts of a condition add up to in the original."""
    figures = ((part.coefficient, part.figure(rules.file.texts)) for part in condition.moving)
    return sum((factor * figure for factor, figure in figures if figure is not None), Fraction(0))


def _stuck(
    rules: RecordRules, partition: Partition, wanted: Mapping[TotalCondition, Fraction], grouping: RecordGroups
) -> list[TotalCondition]:
    """Return the equalities to which no prototypes of these groups give the total that they have in the original."""
    groupings = dict.fromkeys(partition.variables, grouping)
    found: list[TotalCondition] = []
    for condition, total in wanted.items():
        if condition.relation == "=":
            unit = condition.measure(rules.file.texts, groupings, finer=FINER)
            found += [condition] if unit and total % unit else []
    return found


class _Dissolving:
    """The groups, their centres, and what keeps records from joining them."""

    def __init__(
        self, rules: RecordRules, partition: Partition, grouping: RecordGroups, apart: NDArray[np.intp]
    ) -> None:
        points = rules.file.points(partition.variables)
        self._points = np.where(np.isnan(points), 0.0, points)
        self._grouping = grouping
        self._apart = apart
        self._members = grouping.members
        self._centres = np.stack([self._points[members].mean(axis=0) for members in self._members])
        self._codes = np.array([apart[members[0]] for members in self._members])
        forms = [form for block in partition.blocks for form in rules.forms(block) if len(form) > 1]
        self._holding = [rules.satisfied_by(form) for form in forms]
        self._shared = [
            np.stack([holding[members].all(axis=0) for members in self._members]) for holding in self._holding
        ]

    def candidates(self, chosen: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Return groups that hold chosen records and that may be dissolved, those that are near to others first."""
        own = np.bincount(self._grouping.labels, chosen, minlength=self._grouping.groups) > 0
        groups = np.flatnonzero(own & ~self._grouping.mixed)
        near = np.array([self._gaps(self._centres[group], int(group)).min(initial=np.inf) for group in groups])
        ranked: NDArray[np.intp] = groups[np.lexsort((groups, near))][:TRIED]
        return ranked

    def _gaps(self, point: NDArray[np.float64], group: int) -> NDArray[np.float64]:
        """Squared distances from a point to the other groups that records of a group may join, shape (groups,)."""
        gaps = ((self._centres - point) ** 2).sum(axis=1)
        closed = self._grouping.mixed | (self._codes != self._codes[group])
        closed[group] = True
        return np.where(closed, np.inf, gaps)

    def without(self, group: int) -> tuple[float, RecordGroups] | None:
        """Return the groups without one of them, and the sum of squared distances of its records to their new ones.

        No two records join the same group while another is open, so that the sizes become different. None where a
        record has nowhere to go.
        """
        labels, cost = self._grouping.labels.copy(), 0.0
        shared = [common.copy() for common in self._shared]
        taken = np.zeros(self._grouping.groups, dtype=np.bool_)
        for record in self._members[group]:
            gaps = self._gaps(self._points[record], group)
            for common, holding in zip(shared, self._holding, strict=True):
                gaps[~(common & holding[record]).any(axis=1)] = np.inf
            gaps = np.where(taken, np.inf, gaps) if np.isfinite(gaps[~taken]).any() else gaps
            nearest = int(gaps.argmin())
            if not np.isfinite(gaps[nearest]):
                return None
            labels[record], taken[nearest] = nearest, True
            cost += float(gaps[nearest])
            for common, holding in zip(shared, self._holding, strict=True):
                common[nearest] &= holding[record]
        labels -= labels > group
        flags = (np.delete(self._grouping.mixed, group), np.delete(self._grouping.pooled, group))
        return cost, RecordGroups(labels, *flags)


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
        if not variables_of(atom).isdisjoint(block.variables)
        and not (isinstance(atom, Linear) and atom.relation != "=")
        for name in variables_of(atom)
    }
    return frozenset(numbers - fixed)


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


def named_fields(method: Method) -> dict[str, tuple[str, ...]]:
    """Return the fields that parameters of a method name, by parameter."""
    given = {name: getattr(method, name) for name, one in method.parameters.items() if one.kind == "fields"}
    return {parameter: tuple(names) for parameter, names in given.items() if names is not None}


def strata_of(file: FileValues, method: Method, k: int) -> Labels | None:
    """Return codes of the strata that a method is asked for, shape (n,); None where it is asked for none.

    Raises
    ------
    UsageError
        There is no such field, or it is masked.
    InfeasibleError
        A stratum has fewer than k records.
    """
    names = tuple(map(str, method.strata))
    if not names:
        return None
    refuse_unknown(file, method, {STRATA: names}, ())
    codes = codes_of_columns((file.columns[name].numbered() for name in names), file.n)
    smallest = int(np.bincount(codes).min())
    if smallest < k:
        raise InfeasibleError.of(
            "small-stratum",
            file.source,
            fields=fields(names),
            records=smallest,
            user=f"k = {k}",
            least=k,
            facts=[RefusalFacts("few-records", records=smallest)],
        )
    return codes


def refuse_unknown(
    file: FileValues, method: Method, named: Mapping[str, Sequence[str]], variables: Sequence[str]
) -> None:
    """Refuse a field that a parameter names and the method cannot see, or must not keep.

    Raises
    ------
    UsageError
    """
    for parameter, names in named.items():
        setting = f"the parameter {parameter} of {method.name}"
        stays = method.parameters[parameter].stays
        for name in names:
            if name not in file.columns:
                raise UsageError.of(
                    "unknown-name",
                    file.source,
                    name=Field(name),
                    known=Known(name, tuple(file.columns)),
                    kind="field",
                )
            if stays and name in file.masked:
                raise _misfit(file, setting, name, "which is masked", "untouched")
            if parameter in (CONDITIONS, STRATA) and name not in file.written:
                raise _misfit(file, setting, name, "an identifier, a key or a weight", "untouched")
            if not stays and name not in file.masked:
                raise _misfit(file, setting, name, "which is not masked", "confidential")
            if name in file.masked and name not in variables:
                raise UsageError.of(
                    "field-not-usable",
                    file.source,
                    setting=setting,
                    field=Field(name),
                    reason="which is masked by groups for its categories",
                )


def _misfit(file: FileValues, setting: str, name: str, reason: str, role: str) -> UsageError:
    field = Field(name)
    return UsageError.of("role-does-not-fit", file.source, setting=setting, field=field, reason=reason, role=role)
