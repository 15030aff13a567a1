"""What stands for the groups of a block before the rules are asked: aggregates, and patterns of what may be there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import ObservedAggregator, variables_of
from masktron.aggregators.geometric_mean import GeometricMean
from masktron.aggregators.mean import Mean
from masktron.aggregators.medoid import Medoid
from masktron.aggregators.mode import Mode
from masktron.arrays import Floats
from masktron.constraints import Polynomial, Product
from masktron.grouping.record_groups import RecordGroups
from masktron.masking.file_values import FileValues
from masktron.masking.inputs import MaskingInputs, MethodPartitioner
from masktron.masking.judging import RecordRules
from masktron.partitions.mdav import standardise
from masktron.plan import DERIVE_GEOMETRIC, Block, aggregator_of
from masktron.settle.candidate_search import MAX_CONTEXTS, PrototypePattern
from masktron.settle.lattice import Lexemes, SettleExit
from masktron.settle.prototypes import EXITS
from masktron.settle.record_texts import RecordTexts


@dataclass(frozen=True, slots=True, eq=False)
class Aggregates:
    """The aggregates of the groups of one block.

    Attributes
    ----------
    values : ndarray of float64, shape (n, p)
        Numbers, ranks of ordered categories and codes of others, of the records; NaN where missing.
    missing : ndarray of intp, shape (n, p)
        What is missing in each record, by variable; 0 for values.
    pooled : ndarray of bool, shape (groups,)
        Groups that no aggregate stands for: they hold several patterns of missing values, or the medoid does.
    targets : ndarray of float64, shape (groups, p)
        Aggregates of the other groups; NaN for categories and where nothing has a value.
    centres : ndarray of float64, shape (groups, p)
        Arithmetic means of the same groups.
    middles : ndarray of intp, shape (groups, p), or None
        Records with the mode or median of each category, in the same groups; None where there are no categories.
    drawn : bool
        The targets were drawn, so that `middles` alone say which categories a group may have, not its records.
    exit : SettleExit or None
        Exit of groups whose aggregator takes observed values.
    choices : ndarray of intp, shape (groups, p), or None
        The records that hold these values.
    whole : bool
        The medoid of numbers was asked for: means would not be what was asked for, so nothing else is looked for.
    """

    values: Floats
    missing: NDArray[np.intp]
    pooled: NDArray[np.bool_]
    targets: Floats
    centres: Floats
    middles: NDArray[np.intp] | None
    drawn: bool
    exit: SettleExit | None
    choices: NDArray[np.intp] | None
    whole: bool


def aggregates_of(
    inputs: MaskingInputs, block: Block, grouping: RecordGroups, aims: Floats | None = None
) -> Aggregates:
    """Aggregate the groups of a block; `aims`, shape (groups, p), stand in for aggregates."""
    file = inputs.file
    values = file.coded(block.variables)
    aggregator = aggregator_of(block)
    medoid = isinstance(aggregator, Medoid)
    missing = file.missing(block.variables)
    # No aggregate stands for these groups. Zeros keep the aggregator from refusing them.
    pooled = grouping.varying(missing) | medoid
    usable = np.where(pooled[grouping.labels, None], 0.0, values)
    middles = None
    if not file.numeric.issuperset(block.variables):
        middles = file.middles(block.variables, usable, grouping.labels)
        if aims is not None:
            middles = file.holders(block.variables, aims, middles)
    taken: SettleExit | None = None
    choices = None
    if isinstance(aggregator, ObservedAggregator):
        taken = next((one for one in EXITS if one == aggregator.name), "observed")
        choices = aggregator.choose(usable, grouping.labels, file.weights)
    if isinstance(aggregator, Mode) and middles is not None:
        # Ordered categories beside others take their median, which keeps all that the mode was chosen for.
        choices = middles
    centres = Mean().aggregate(usable, grouping.labels, file.weights) if aims is None else aims
    return Aggregates(
        values=values,
        missing=missing,
        pooled=pooled,
        targets=targets(inputs, block, usable, grouping, centres) if aims is None else aims,
        centres=centres,
        middles=middles,
        drawn=aims is not None,
        exit=taken,
        choices=choices,
        whole=medoid and not file.numeric.isdisjoint(block.variables),
    )


def targets(
    inputs: MaskingInputs,
    block: Block,
    values: NDArray[np.float64],
    grouping: RecordGroups,
    means: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Aggregate the groups of a block.

    Where groups of the geometric mean mix signs, which only mixed groups do, the arithmetic mean stands in for it.

    Parameters
    ----------
    values : ndarray of float64, shape (n, p)
        Numbers and codes of categories, in the order of the block; in no group missing in some records only.
    means : ndarray of float64, shape (groups, p)
        Their arithmetic means.

    Returns
    -------
    ndarray of float64, shape (groups, p)
    """
    if (own := _of_method(inputs, block, values, grouping, means)) is not None:
        return own
    if block.aggregator == DERIVE_GEOMETRIC:
        return _geometric_factors(inputs, block, values, grouping, means)
    aggregator = aggregator_of(block)
    if not block.one_signed:
        plain = isinstance(aggregator, Mean)
        return means if plain else aggregator.aggregate(values, grouping.labels, inputs.file.weights)
    unlike = grouping.varying(np.nan_to_num(np.sign(values)))
    one_signed = np.where(unlike[grouping.labels, None], 0.0, values)
    return np.where(
        unlike[:, None],
        means,
        aggregator.aggregate(one_signed, grouping.labels, inputs.file.weights),
    )


def _of_method(
    inputs: MaskingInputs,
    block: Block,
    values: NDArray[np.float64],
    grouping: RecordGroups,
    means: NDArray[np.float64],
) -> NDArray[np.float64] | None:
    """Return prototypes that the method makes of more records than a group has, part by part of what is missing.

    Nothing vouches for them but the engine, as with any target. Groups of several patterns of missing values keep
    their means; so do blocks of another aggregate than the mean.
    """
    partitioner = inputs.partitioner
    if not isinstance(partitioner, MethodPartitioner) or not isinstance(aggregator_of(block), Mean):
        return None
    present = ~np.isnan(values)
    pooled = grouping.varying(present)[grouping.labels]
    targets = means.copy()
    for pattern in np.unique(present[~pooled], axis=0):
        records = np.flatnonzero((present == pattern).all(axis=1) & ~pooled)
        groups, labels = np.unique(grouping.labels[records], return_inverse=True)
        if not pattern.any() or not inputs.file.numeric.issuperset(block.variables):
            continue
        own = values[np.ix_(records, pattern)]
        weights = None if inputs.file.weights is None else inputs.file.weights[records]
        found = partitioner.method.prototypes(own, standardise(own), labels.astype(np.intp), weights)
        if found is None:
            return None
        targets[np.ix_(groups, pattern)] = found
    return targets


def _geometric_factors(
    inputs: MaskingInputs,
    block: Block,
    values: NDArray[np.float64],
    grouping: RecordGroups,
    means: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Geometric means of what products multiply, where that has one sign and no zero; arithmetic means elsewhere.

    Products of geometric means are geometric means of products, so that such targets agree with each other. A single
    zero would make the whole mean zero, far from the other records; and nothing is gained for a variable of sums,
    of which the arithmetic mean has the least sum of squares.
    """
    products = (
        variables_of(atom)
        for form in inputs.rules.forms(block)
        for conjunction in form
        for atom in conjunction
        if isinstance(atom, Polynomial | Product)
    )
    multiplied = frozenset[str]().union(*products)
    ordered = values[np.argsort(grouping.labels, kind="stable")]
    starts = np.cumsum(grouping.sizes) - grouping.sizes
    lowest, highest = (extreme.reduceat(ordered, starts, axis=0) for extreme in (np.minimum, np.maximum))
    factors = (lowest > 0) | (highest < 0)
    factors &= np.array([name in multiplied for name in block.variables])
    strict = np.where(factors[grouping.labels], values, 1.0)
    return np.where(
        factors,
        GeometricMean().aggregate(strict, grouping.labels, inputs.file.weights),
        means,
    )


@dataclass(frozen=True, slots=True, eq=False)
class GroupPatterns:
    """The patterns of the groups of one block.

    Attributes
    ----------
    rules : RecordRules
    block : Block
    aggregates : Aggregates
    box : mapping of field name to (float, float)
        Least and largest original number.
    satisfied : sequence of ndarray of bool, shape (n, disjuncts)
        Which disjuncts of each rule of the block the records satisfy.
    """

    rules: RecordRules
    block: Block
    aggregates: Aggregates
    box: Mapping[str, tuple[float, float]]
    satisfied: Sequence[NDArray[np.bool_]]
    _texts: RecordTexts = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_texts", RecordTexts(self.rules.file.columns))

    @classmethod
    def of(cls, rules: RecordRules, block: Block, aggregates: Aggregates) -> GroupPatterns:
        """Collect what the patterns of all groups need."""
        numbers = {name: values for name in block.variables if (values := _known(rules.file, name)).size}
        box = {name: (float(values.min()), float(values.max())) for name, values in numbers.items()}
        satisfied = [rules.satisfied_by(form) for form in rules.forms(block)]
        return cls(rules, block, aggregates, box, satisfied)

    def group(self, group: int, members: NDArray[np.intp]) -> list[PrototypePattern]:
        """Return the patterns of a group, those of most records first, among equals those that come first.

        A pattern with a field of which one record alone has a value would publish this value, since there is nothing
        to average; such patterns come after all others.
        """
        contexts = self._contexts(members)
        missing = self.aggregates.missing[members]
        if (missing == missing[0]).all():
            return [self._pattern(group, members, members, contexts)]
        patterns, first, which = np.unique(missing, axis=0, return_index=True, return_inverse=True)
        weights = self._weights(members)
        single = (missing == 0).sum(axis=0) == 1
        alone = ((patterns == 0) & single).any(axis=1)
        heaviest = np.lexsort((first, -np.bincount(which.ravel(), weights, len(patterns)), alone))
        return [self._pattern(group, members, members[which.ravel() == at], contexts) for at in heaviest.tolist()]

    def _pattern(
        self,
        group: int,
        members: NDArray[np.intp],
        own: NDArray[np.intp],
        contexts: Sequence[Lexemes],
    ) -> PrototypePattern:
        file, names = self.rules.file, self.block.variables
        present = {name: bool(self.aggregates.missing[own[0], at] == 0) for at, name in enumerate(names)}
        numbers = [name for name in names if present[name] and name in file.numeric]
        target = self._aggregate(self.aggregates.targets, group, members, numbers)
        categories = [name for name in names if present[name] and name not in file.numeric]
        return PrototypePattern(
            kept={name: file.columns[name].lexeme(own[0]) for name in names if not present[name]},
            target=target,
            centre=self._aggregate(self.aggregates.centres, group, members, numbers),
            combinations=self._combinations(group, members, categories),
            options={name: self._options(self._donors(group, members, name), name) for name in categories},
            contexts=contexts,
            counts=_Counts(self.block.checks, self.satisfied, own),
            box={name: _widened(self.box[name], target[name]) for name in numbers},
        )

    def _aggregate(
        self, aggregates: NDArray[np.float64], group: int, members: NDArray[np.intp], numbers: Sequence[str]
    ) -> dict[str, float]:
        """The aggregates of a group; where patterns differ, the means of what its records have."""
        at = {name: position for position, name in enumerate(self.block.variables)}
        if not self.aggregates.pooled[group]:
            return {name: float(aggregates[group, at[name]]) for name in numbers}
        return {name: self._mean(members, name) for name in numbers}

    def _donors(self, group: int, members: NDArray[np.intp], name: str) -> NDArray[np.intp]:
        """Records whose categories of a field a group may have."""
        if not self.aggregates.drawn or self.aggregates.middles is None:
            return members
        return self.aggregates.middles[group, [self.block.variables.index(name)]]

    def _mean(self, members: NDArray[np.intp], name: str) -> float:
        values = self.rules.file.values_of(name, members)
        known = ~np.isnan(values)
        return float(np.average(values[known], weights=self._weights(members)[known]))

    def _weights(self, members: NDArray[np.intp]) -> NDArray[np.float64]:
        """Weights of records, all 1 where theirs are zero."""
        weights = self.rules.file.weights
        return np.ones(len(members)) if weights is None or not weights[members].all() else weights[members]

    def _options(self, members: NDArray[np.intp], name: str) -> dict[str, float]:
        """The categories of a field in the group, the heaviest first; each costs the share of the others."""
        column, weights = self.rules.file.columns[name], self._weights(members)
        total: dict[str, float] = {}
        held = column.holds(members)
        for text, weight in zip(column.lexemes_of(members[held]).tolist(), weights[held].tolist(), strict=True):
            total[text] = total.get(text, 0.0) + weight
        whole = sum(total.values())
        return {text: 1.0 - own / whole for text, own in sorted(total.items(), key=lambda entry: -entry[1])}

    def _combinations(self, group: int, members: NDArray[np.intp], categories: Sequence[str]) -> list[dict[str, str]]:
        """The middles of the categories, then the combinations that records of the group have, the heaviest first."""
        columns = [self.rules.file.columns[name] for name in categories]
        total: dict[tuple[str, ...], float] = {self._middle(group, members, categories): np.inf}
        members = members[:0] if self.aggregates.drawn else members
        weights = self._weights(members)
        for column in columns:
            held = column.holds(members)
            members, weights = members[held], weights[held]
        lexemes = [column.lexemes_of(members).tolist() for column in columns]
        for at, weight in enumerate(weights.tolist()):
            texts = tuple(str(own[at]) for own in lexemes)
            total[texts] = total.get(texts, 0.0) + weight
        ranked = sorted(total.items(), key=lambda entry: -entry[1])
        return [dict(zip(categories, texts, strict=True)) for texts, _ in ranked]

    def _middle(self, group: int, members: NDArray[np.intp], categories: Sequence[str]) -> tuple[str, ...]:
        """The mode or median of each category; where patterns differ, the mode of what is there."""
        if self.aggregates.pooled[group] or self.aggregates.middles is None:
            return tuple(next(iter(self._options(members, name))) for name in categories)
        at = {
            name: int(self.aggregates.middles[group, position]) for position, name in enumerate(self.block.variables)
        }
        return tuple(str(self.rules.file.columns[name].lexeme(at[name])) for name in categories)

    def _contexts(self, members: NDArray[np.intp]) -> list[dict[str, str | None]]:
        names = self.block.conditions
        fields = [self._texts.of(name, members) for name in names]
        seen: dict[tuple[str | None, ...], None] = {}
        for at in range(len(members)):
            seen.setdefault(tuple(lexemes[at] for lexemes in fields))
            if len(seen) == MAX_CONTEXTS:
                break
        return [dict(zip(names, texts, strict=True)) for texts in seen]


class _Counts(Mapping[int, Sequence[int]]):
    """How many of some records satisfy each disjunct of a rule; few rules are ever asked for."""

    def __init__(
        self, checks: Sequence[int], satisfied: Sequence[NDArray[np.bool_]], records: NDArray[np.intp]
    ) -> None:
        self._checks, self._satisfied, self._records = checks, satisfied, records
        self._found: dict[int, list[int]] = {}

    def __getitem__(self, check: int) -> list[int]:
        if check not in self._found:
            try:
                at = self._checks.index(check)
            except ValueError:
                raise KeyError(check) from None
            self._found[check] = self._satisfied[at][self._records].sum(axis=0).tolist()
        return self._found[check]

    def __iter__(self) -> Iterator[int]:
        return iter(self._checks)

    def __len__(self) -> int:
        return len(self._checks)


def _known(file: FileValues, name: str) -> NDArray[np.float64]:
    values = file.values[name]
    return values[~np.isnan(values)] if name in file.numeric else np.empty(0)


def _widened(box: tuple[float, float], target: float) -> tuple[float, float]:
    return min(box[0], target), max(box[1], target)
