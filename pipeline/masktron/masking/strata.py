"""Groups for a partition of the plan: what parts records, what holds them together, and the disjuncts they share."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import ObservedAggregator, variables_of
from masktron.aggregators.medoid import Medoid
from masktron.classify import Edit
from masktron.classify.forms import form_of, satisfied
from masktron.constraints import Atom, Form, Linear
from masktron.grouping.disjuncts import Bound, Disjuncts
from masktron.grouping.records import Grouping, codes_of, group_records
from masktron.kernels import exchange, nearest_point
from masktron.kernels.mdav import TREE_FROM
from masktron.masking.per_record import Reductions, solved_parts, tying
from masktron.masking.tallies import Tallies
from masktron.masking.uneven import uneven
from masktron.masking.views import Views, aggregator_of, lexeme_codes, pattern_of
from masktron.methods.base import Method, Partitioning
from masktron.partitions.column_kinds import Kinds
from masktron.partitions.kdcut import Cuts
from masktron.partitions.partitioner import AFFORDABLE, within_groups
from masktron.partitions.partitioner import compile_for as compile_partitioning
from masktron.partitions.partitioner import compiles_first as partitioning_compiles_first
from masktron.plan import Block, Partition, Plan


def group(views: Views, partition: Partition) -> Grouping:
    """Partition the records on all variables of a partition."""
    patterns = codes_of(np.stack([pattern_of(views.columns[name]) for name in partition.variables], axis=1))
    bonds = [
        np.zeros(views.n, dtype=np.intp),
        *(bond for block in partition.blocks for bond in _bonds(views, block)),
    ]
    tallies = Tallies(views)
    parting = [patterns, *tallies.parting(partition.variables)]
    for block in partition.blocks:
        limits = limits_of(views, block)
        parting += [_parted(views, block, name) for name in block.ties if name not in limits]
        if block.one_signed:
            parting += [np.nan_to_num(np.sign(views.values[name])).astype(np.intp) for name in block.variables]
    apart = codes_of(np.stack(parting, axis=1))
    points, cuts = _points(views, partition), Cuts()
    formed = functools.partial(
        group_records,
        points,
        views.k,
        apart=apart,
        patterns=patterns,
        bonds=codes_of(np.stack(bonds, axis=1)),
        disjuncts=disjuncts_of(views, partition),
        fits=_Fitting(views, partition),
    )
    added = points.shape[1] - (known := views.kinds(partition.grouped)).columns
    partitioner = views.partitioner.of_kinds(Kinds.joined([known, Kinds.numbers(added)]))
    grouping = formed(partitioner=partitioner.recording(cuts))
    cut = cuts.largest()
    if cut is not None:
        if views.n <= AFFORDABLE:
            # the rules move records between groups, which makes up for much of what a cut costs
            whole = formed(partitioner=partitioner.whole())
            cut = replace(cut, excess=_within(points, grouping) - _within(points, whole), measured=True)
        grouping = replace(grouping, cut=cut, spread=float(np.nansum(np.square(points))))
    even = uneven(views, partition, grouping, tallies, apart)
    return replace(even, cut=grouping.cut, spread=grouping.spread)


def _within(points: NDArray[np.float64], grouping: Grouping) -> float:
    return within_groups(np.where(np.isnan(points), 0.0, points), grouping.labels)


def compiles_first(n: int, plan: Plan, edits: Sequence[Edit], method: Method) -> bool:
    """Tell whether masking n records would have to wait for code to be compiled."""
    exchanging = n >= TREE_FROM and _may_exchange(plan, edits) and not exchange.exchange_ready()
    return (
        exchanging
        or partitioning_compiles_first(n, plan.k, _dimensions(plan))
        or method.compiles_first(n)
        or (_draws(method) and nearest_point.compiles_first(n))
    )


def compile_for(n: int, plan: Plan, edits: Sequence[Edit], method: Method) -> None:
    """Compile all that masking n records may take, while the user is told so."""
    if partitioning_compiles_first(n, plan.k, _dimensions(plan)):
        compile_partitioning(_dimensions(plan))
    if n >= TREE_FROM and _may_exchange(plan, edits):
        exchange.compile_exchange()
    if method.compiles_first(n):
        method.compile()
    if _draws(method) and nearest_point.compiles_first(n):
        nearest_point.compile_rows()


def _draws(method: Method) -> bool:
    """Whether each record is settled on its own, so that many are projected at once."""
    return not isinstance(method, Partitioning)


def _dimensions(plan: Plan) -> list[int]:
    return [len(partition.variables) for partition in plan.partitions]


def _may_exchange(plan: Plan, edits: Sequence[Edit]) -> bool:
    """Whether a rule has alternatives, so that groups may have to share one."""
    forms = {edit.check.index: form_of(edit.constraint) for edit in edits}
    blocks = (block for partition in plan.partitions for block in partition.blocks)
    return any(len(forms[check]) > 1 for block in blocks for check in block.checks)


def _points(views: Views, partition: Partition) -> NDArray[np.float64]:
    """Return the coordinates of what groups share, and of what that costs the variables that follow from it."""
    parts = [solved_parts(views, block) for block in partition.blocks if block.solved]
    return np.concatenate([views.points(partition.grouped), *parts], axis=1)


def _parted(views: Views, block: Block, name: str) -> NDArray[np.intp]:
    """Code what parts records in an unmasked field: its value, or whether it has one if it ties nothing."""
    if block.solved and name not in tying(block, views.forms(block)):
        return pattern_of(views.columns[name])
    return lexeme_codes(views.columns[name].lexemes)


def _bonds(views: Views, block: Block) -> Iterator[NDArray[np.intp]]:
    """Yield what unmasked fields say in the rules: values beside a masked field, else the truth of each atom."""
    for name in block.ties:
        yield lexeme_codes(views.columns[name].lexemes)
    conditions = frozenset(block.conditions)
    atoms = (atom for form in views.forms(block) for conjunction in form for atom in conjunction)
    for atom in dict.fromkeys(atoms):
        if variables_of(atom) and variables_of(atom) <= conditions:
            yield satisfied(atom, views.seen, views.texts, domains=views.domains).astype(np.intp)


def limits_of(views: Views, block: Block) -> frozenset[str]:
    """Return the unmasked fields that only set limits: beside masked ones, they stand in linear inequalities alone.

    They need not be constant in a group: a prototype that keeps the tightest limit of its members keeps all. An
    aggregate of observed values cannot be moved there, so that for it they tie.
    """
    if isinstance(aggregator_of(block), ObservedAggregator):
        return frozenset()
    numbers = {name for name in block.ties if not np.isnan(views.seen[name]).any()}
    if block.solved:
        return frozenset(numbers - tying(block, views.forms(block)))
    fixed = {
        name
        for form in views.forms(block)
        for conjunction in form
        for atom in conjunction
        if not variables_of(atom).isdisjoint(block.variables) and not _is_inequality(atom)
        for name in variables_of(atom)
    }
    return frozenset(numbers - fixed)


def _is_inequality(atom: Atom) -> bool:
    return isinstance(atom, Linear) and atom.relation != "="


def disjuncts_of(views: Views, partition: Partition) -> Disjuncts:
    """Collect the disjuncts of the rules for which a group needs a common one, and the limits in them."""
    rules: list[NDArray[np.bool_]] = []
    bounds: list[Bound] = []
    for block in partition.blocks:
        limits = limits_of(views, block)
        reductions = Reductions(views, block)
        live, reduced = reductions.live, reductions.all.forms
        for form, (_, asked) in zip(views.forms(block), reduced, strict=True):
            own = [
                _bound(views, block, atom, live, rule=len(rules), disjunct=position)
                for position, conjunction in enumerate(asked)
                for atom in conjunction
                if isinstance(atom, Linear) and atom.relation != "=" and not variables_of(atom).isdisjoint(limits)
            ]
            if own or (len(form) > 1 and _needs_strata(form, block)):
                rules.append(views.satisfied_by(form))
                bounds += own
    return Disjuncts.of(views.n, rules, bounds)


def _bound(views: Views, block: Block, atom: Linear, live: NDArray[np.bool_], *, rule: int, disjunct: int) -> Bound:
    """Split an inequality into its masked side and what is left for it; who is not `live` has no limit."""
    values, limits = np.zeros(views.n), np.full(views.n, float(atom.bound))
    for name, coefficient in atom.terms:
        if name in block.variables:
            values += float(coefficient) * views.seen[name]
        else:
            limits -= float(coefficient) * views.seen[name]
    if atom.relation == "<":
        limits = np.nextafter(limits, -np.inf)
    # The record keeps its own limit; sums of doubles may say otherwise by a rounding error.
    return Bound(rule, disjunct, values, np.where(live, np.fmax(values, limits), np.fmax(values, np.inf)))


def _needs_strata(form: Form, block: Block) -> bool:
    """Whether a group has to share a disjunct, or the aggregator keeps the rule as a whole without that.

    A rule on one variable is a condition on its value, which every observed value satisfies; a rule on variables that
    the medoid replaces together is satisfied by every record.
    """
    variables = {name for conjunction in form for atom in conjunction for name in variables_of(atom)}
    aggregator = aggregator_of(block)
    whole = isinstance(aggregator, Medoid) or (isinstance(aggregator, ObservedAggregator) and len(variables) == 1)
    return not (whole and variables <= set(block.variables))


class _Fitting:
    """Whether the masked values of a record satisfy the rules beside the unmasked fields of another, by the forms.

    Where these unmasked fields are written alike in both, they do, whatever the rule says: the original obeys it.
    """

    def __init__(self, views: Views, partition: Partition) -> None:
        self._views = views
        self._masked = frozenset(partition.grouped)
        self._partition = partition

    @functools.cached_property
    def _rules(self) -> list[tuple[Form, NDArray[np.intp], NDArray[np.bool_]]]:
        """Rules with unmasked fields beside masked ones, codes of what these say, and who is `live`: if asked."""
        return [
            (
                form,
                codes_of(np.stack([lexeme_codes(self._views.columns[name].lexemes) for name in conditions], axis=1)),
                reductions.live,
            )
            for block in self._partition.blocks
            for reductions in (Reductions(self._views, block),)
            for _, form in reductions.all.forms
            if (conditions := self._conditions(form))
        ]

    def _conditions(self, form: Form) -> list[str]:
        names = {name for conjunction in form for atom in conjunction for name in variables_of(atom)}
        return sorted(names - self._masked) if not names.isdisjoint(self._masked) else []

    def __call__(self, donors: NDArray[np.intp], hosts: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Judge pairs of records, both of shape (pairs,)."""
        fine = np.ones(len(donors), dtype=np.bool_)
        for form, codes, live in self._rules:
            open_ = np.flatnonzero(fine & (codes[donors] != codes[hosts]))
            if open_.size:
                fine[open_] = (
                    self._holds(form, donors[open_], hosts[open_]) & live[donors[open_]] & live[hosts[open_]]
                )
        return fine

    def _holds(self, form: Form, donors: NDArray[np.intp], hosts: NDArray[np.intp]) -> NDArray[np.bool_]:
        names = {name for conjunction in form for atom in conjunction for name in variables_of(atom)}
        source = {name: donors if name in self._masked else hosts for name in names}
        seen = {name: self._views.seen[name][at] for name, at in source.items()}
        texts = {name: self._views.texts[name][at] for name, at in source.items()}
        found = np.zeros(len(donors), dtype=np.bool_)
        for conjunction in form:
            holding = np.ones(len(donors), dtype=np.bool_)
            for atom in conjunction:
                holding &= satisfied(atom, seen, texts)
            found |= holding
        return found
