"""Mask: partitions, aggregates and settled prototypes for every block of a plan."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators import ALL as AGGREGATORS
from masktron.aggregators.base import Aggregator, ObservedAggregator, variables_of
from masktron.aggregators.mean import Mean
from masktron.aggregators.median import Median
from masktron.aggregators.medoid import Medoid
from masktron.aggregators.mode import Mode
from masktron.classify import Edit
from masktron.classify.forms import Value, form_of, holds, satisfied
from masktron.config import Role
from masktron.constraints import Form, InDomain, Lexical, Linear, Member, Product, Untranslated, Whole
from masktron.errors import InfeasibleError
from masktron.evaluation.exact import BatchEvaluator, EngineChoice
from masktron.evaluation.findings import Verdict
from masktron.methods.encode import encode_nominal
from masktron.methods.grouping import Grouping, codes_of, group_records
from masktron.methods.mdav import standardise
from masktron.plan import DERIVE, Block, Partition, Plan
from masktron.read.lexical import parse_number, reads_alike
from masktron.read.microdata import chunk_document
from masktron.read.records import Column, Records, Status
from masktron.read.rulebook import Rulebook
from masktron.settle.grid import Grid, grid_of, scales
from masktron.settle.lattice import Search
from masktron.settle.prototypes import Judge, Row, Settled, Task, settle
from masktron.settle.system import Equality, Recipe, equalities, recipes

DERIVE_EFFORT = MappingProxyType({"points": 40, "recipes": 2})
"""No theorem says that a derived prototype exists near the mean, so the search for it is short."""


@dataclass(frozen=True, slots=True, eq=False)
class MaskedBlock:
    """A block with its groups and prototypes.

    Attributes
    ----------
    grouping : Grouping
        Of the records that were given to mask.
    settled : Settled
    """

    block: Block
    grouping: Grouping
    settled: Settled

    def lexemes(self, position: int) -> NDArray[np.object_]:
        """Masked lexemes of the variable at a position of the block, record by record."""
        column: NDArray[np.object_] = self.settled.lexemes[self.grouping.labels, position]
        return column


def mask_records(
    records: Records,
    plan: Plan,
    edits: Sequence[Edit],
    rulebook: Rulebook,
    *,
    original: Path,
    keep_missing: bool = False,
    progress: Callable[[Block], None] | None = None,
) -> list[MaskedBlock]:
    """Mask all blocks of a plan.

    Parameters
    ----------
    records : Records
        Those to release, without the ones that break a rule.
    original : Path
        What ``document()`` in the rules means.
    keep_missing : bool
        Stop where records would have to take over another pattern of missing values.
    progress : callable, optional
        Called with each block before it is settled.

    Raises
    ------
    InfeasibleError
        There are fewer than k records, a group has no prototype that satisfies the rules, or a pattern of missing
        values is rarer than k and has to be kept.
    """
    if len(records) < plan.k:
        raise InfeasibleError(
            f"{len(records)} records cannot form a group of k = {plan.k}",
            where=str(records.source),
            hint=f"lower k to {len(records)} or less" if len(records) >= 2 else "",
        )
    masker = _Masker(records, plan, edits, rulebook, original)
    masked: list[MaskedBlock] = []
    for partition in plan.partitions:
        grouping = masker.group(partition)
        if keep_missing and grouping.pooled.any():
            raise InfeasibleError(
                f"fewer than k = {plan.k} records share their pattern of missing values in "
                f"{', '.join(partition.variables)}, so that they would take over another's",
                where=str(records.source),
                hint="run without --keep-missing, or lower k",
            )
        for block in partition.blocks:
            if progress:
                progress(block)
            masked.append(MaskedBlock(block, grouping, masker.settle(block, grouping)))
    return masked


class _Masker:
    """What all blocks share: the columns, the weights, the forms of the rules, the engine."""

    def __init__(
        self, records: Records, plan: Plan, edits: Sequence[Edit], rulebook: Rulebook, original: Path
    ) -> None:
        self.columns = records.columns
        self.layout = records.layout
        self.k = plan.k
        self.n = len(records)
        self.edits = {edit.check.index: edit for edit in edits}
        self.rulebook = rulebook
        self.original = original
        self.codes = {fact.name: _numbers_in(fact.codes) for fact in plan.fields}
        self.numeric = {fact.name for fact in plan.fields if fact.numeric}
        weight = plan.by_role(Role.WEIGHT)
        self.weights = self.columns[weight[0]].values if weight else None
        self.values = {name: column.values for name, column in self.columns.items()}
        # Rules see the number in a missing code; masking does not.
        self.seen = {name: _with_codes(column) for name, column in self.columns.items()}
        self.texts = {name: column.lexemes for name, column in self.columns.items()}

    # groups

    def group(self, partition: Partition) -> Grouping:
        """Partition the records on all variables of a partition."""
        patterns = codes_of(np.stack([_pattern(self.columns[name]) for name in partition.variables], axis=1))
        bonds = [
            np.zeros(self.n, dtype=np.intp),
            *(bond for block in partition.blocks for bond in self._bonds(block)),
        ]
        parting = [patterns]
        for block in partition.blocks:
            parting += [_codes(self.columns[name].lexemes) for name in block.ties]
            if block.one_signed:
                parting += [np.nan_to_num(np.sign(self.values[name])) for name in block.variables]
        return group_records(
            self._points(partition.variables),
            self.k,
            apart=codes_of(np.stack(parting, axis=1)),
            patterns=patterns,
            bonds=codes_of(np.stack(bonds, axis=1)),
            disjuncts=tuple(
                self._satisfied(form)
                for block in partition.blocks
                for form in self._forms(block)
                if len(form) > 1 and _needs_strata(form, block)
            ),
        )

    def _bonds(self, block: Block) -> Iterator[NDArray[np.intp]]:
        """Yield what unmasked fields say in the rules: values beside a masked field, else the truth of each atom."""
        for name in block.ties:
            yield _codes(self.columns[name].lexemes)
        conditions = frozenset(block.conditions)
        atoms = (atom for form in self._forms(block) for conjunction in form for atom in conjunction)
        for atom in dict.fromkeys(atoms):
            if variables_of(atom) and variables_of(atom) <= conditions:
                yield satisfied(atom, self.seen, self.texts).astype(np.intp)

    def _points(self, variables: Sequence[str]) -> NDArray[np.float64]:
        parts = [
            standardise(self.values[name][:, None])
            if name in self.numeric
            else encode_nominal(np.array([text or "" for text in self.texts[name]], dtype=np.object_))
            for name in variables
        ]
        return np.concatenate(parts, axis=1)

    def _forms(self, block: Block) -> list[Form]:
        return [form_of(self.edits[check].constraint) for check in block.checks]

    def _satisfied(self, form: Form) -> NDArray[np.bool_]:
        """Which disjuncts each record satisfies, shape (n, disjuncts)."""
        holding = np.ones((self.n, len(form)), dtype=np.bool_)
        for position, conjunction in enumerate(form):
            for atom in conjunction:
                holding[:, position] &= satisfied(atom, self.seen, self.texts)
        return holding

    # prototypes

    def settle(self, block: Block, grouping: Grouping) -> Settled:
        """Find the prototypes of one block."""
        values = self._coded(block.variables)
        aggregator = _aggregator(block)
        patterns = np.stack([_pattern(self.columns[name]) for name in block.variables], axis=1)
        # No aggregate stands for these groups: the medoid does. Zeros keep the aggregator from refusing them.
        beyond = grouping.varying(patterns) | isinstance(aggregator, Medoid)
        usable = np.where(beyond[grouping.labels, None], 0.0, values)
        observed = aggregator if isinstance(aggregator, ObservedAggregator) else None
        forms = self._forms(block)
        shares = self._shares(forms, grouping)
        tied = _tied(forms)
        task = Task(
            variables=block.variables,
            columns=self.columns,
            members=tuple(np.split(np.argsort(grouping.labels, kind="stable"), np.cumsum(grouping.sizes)[:-1])),
            conditions=block.conditions,
            distances=Medoid().distances(self._points(block.variables), grouping.labels, self.weights),
            targets=np.where(self._is_text(block), np.nan, self._targets(block, usable, grouping)),
            modes=Mode().choose(usable, grouping.labels, self.weights) if self._is_text(block).any() else None,
            search=self._searches(
                Search(
                    grids={name: grid_of(self.columns[name], tied=name in tied) for name in block.variables},
                    scale=dict(zip(block.variables, scales(values).tolist(), strict=True)),
                    tied=tied,
                    codes=self.codes,
                    holds=self._quick_test(block, forms),
                    **(DERIVE_EFFORT if block.aggregator == DERIVE else {}),
                ),
                forms,
                shares,
            ),
            ways=self._ways(block, forms, shares, grouping),
            pooled=beyond,
            medians=None if observed else Median().choose(usable, grouping.labels, self.weights),
            observed=observed.name if observed else None,
            choices=observed.choose(usable, grouping.labels, self.weights) if observed else None,
        )
        return settle(task, self._judge(block))

    def _is_text(self, block: Block) -> NDArray[np.bool_]:
        return np.array([name not in self.numeric for name in block.variables])

    def _targets(self, block: Block, values: NDArray[np.float64], grouping: Grouping) -> NDArray[np.float64]:
        """Aggregate; the arithmetic mean stands in for the geometric one in mixed groups, where signs differ."""
        aggregator = _aggregator(block)
        if not block.one_signed:
            return aggregator.aggregate(values, grouping.labels, self.weights)
        unlike = grouping.varying(np.nan_to_num(np.sign(values)))
        one_signed = np.where(unlike[grouping.labels, None], 0.0, values)
        return np.where(
            unlike[:, None],
            Mean().aggregate(values, grouping.labels, self.weights),
            aggregator.aggregate(one_signed, grouping.labels, self.weights),
        )

    def _searches(
        self, search: Search, forms: Sequence[Form], shares: Sequence[NDArray[np.intp]]
    ) -> Callable[[int], Search]:
        """The search of a group, on the grids that its atoms ask for: integers, or certain values."""
        cache: dict[tuple[object, ...], Search] = {}

        def of(group: int) -> Search:
            atoms = [atom for form, share in zip(forms, shares, strict=True) if form for atom in form[share[group]]]
            special = tuple(
                atom
                for atom in atoms
                if isinstance(atom, Whole | Member | InDomain) and atom.variable in search.grids
            )
            if special not in cache:
                grids = dict(search.grids)
                for atom in special:
                    grids[atom.variable] = self._special_grid(grids[atom.variable], atom)
                cache[special] = replace(search, grids=grids)
            return cache[special]

        return of

    def _special_grid(self, grid: Grid, atom: Whole | Member | InDomain) -> Grid:
        match atom:
            case Whole():
                return replace(grid, whole=True)
            case InDomain():
                column = self.columns[atom.variable]
                return grid.only(str(lexeme) for lexeme in column.lexemes[column.is_number])
            case Member(negated=False):
                fits = [value for value in atom.values if isinstance(value, Fraction) and grid.holds(value)]
                return grid.only(grid.lexeme(value) for value in fits) if fits else grid
            case _:
                return grid

    def _shares(self, forms: Sequence[Form], grouping: Grouping) -> list[NDArray[np.intp]]:
        """For each rule, the disjunct that the records of each group share."""
        return [
            _shared(self._satisfied(form), grouping) if len(form) > 1 else np.zeros(grouping.groups, dtype=np.intp)
            for form in forms
        ]

    def _coded(self, variables: Sequence[str]) -> NDArray[np.float64]:
        """Numbers, and codes for categories; NaN where missing. Shape (n, p)."""
        return np.stack(
            [
                self.values[name]
                if name in self.numeric
                else np.where(self.columns[name].present, _codes(self.texts[name]).astype(np.float64), np.nan)
                for name in variables
            ],
            axis=1,
        )

    def _quick_test(self, block: Block, forms: Sequence[Form]) -> Callable[[Mapping[str, Value]], bool]:
        """Exact test of the rules that read masked numbers only; the engine judges all of them afterwards."""
        masked = self.numeric.intersection(block.variables)
        plain = [
            form
            for form in forms
            if form
            and all(variables_of(atom) <= masked for conjunction in form for atom in conjunction)
            # What only an engine can decide is left to the judge, which decides hundreds of records at a time.
            and not any(
                isinstance(atom, InDomain | Lexical | Untranslated) for conjunction in form for atom in conjunction
            )
        ]

        def test(values: Mapping[str, Value]) -> bool:
            return all(holds(form, values) for form in plain)

        return test

    def _ways(
        self, block: Block, forms: Sequence[Form], shares: Sequence[NDArray[np.intp]], grouping: Grouping
    ) -> Callable[[int], Sequence[Recipe]]:
        """Recipes of a group: the equalities of the disjuncts that its records share, solved."""
        first = np.unique(grouping.labels, return_index=True)[1]
        cache: dict[tuple[object, ...], list[Recipe]] = {}

        def ways(group: int) -> Sequence[Recipe]:
            record = first[group]
            known = tuple(name for name in block.variables if not np.isnan(self.values[name][record]))
            fixed = tuple((name, self.columns[name].lexemes[record]) for name in block.ties)
            case = tuple(int(share[group]) for share in shares)
            key = (known, fixed, case)
            if key not in cache:
                atoms = [atom for form, at in zip(forms, case, strict=True) if form for atom in form[at]]
                constants = {
                    name: Fraction(str(lexeme).strip())
                    for name, lexeme in fixed
                    if not np.isnan(self.values[name][record])
                }
                system: list[Equality] = [equality.given(constants) for equality in equalities(atoms)]
                cache[key] = recipes(known, system)
            return cache[key]

        return ways

    def _judge(self, block: Block) -> Judge:
        if not block.checks:
            return lambda rows: np.ones(len(rows), dtype=np.bool_)
        first = self._evaluator(block, "auto")
        # Both engines of XPath 1.0 have to accept a prototype; they differ only in how they read decimals.
        second = self._evaluator(block, "saxon") if self.rulebook.version == "1.0" else None
        fields = (*block.variables, *block.conditions)
        own = list(block.checks)
        alike = functools.cache(reads_alike)

        def accepted(evaluator: BatchEvaluator, rows: Sequence[Row]) -> NDArray[np.bool_]:
            verdicts = evaluator.verdicts(chunk_document(self.layout, rows))
            return np.asarray((verdicts[:, own] < Verdict.FAILS).all(axis=1))

        def judge(rows: Sequence[Row]) -> NDArray[np.bool_]:
            fine = accepted(first, rows)
            if second is not None:
                unlike = [
                    at
                    for at in np.flatnonzero(fine).tolist()
                    if not all(alike(rows[at][name] or "") for name in fields)
                ]
                if unlike:
                    fine[unlike] = accepted(second, [rows[at] for at in unlike])
            return fine

        return judge

    def _evaluator(self, block: Block, engine: EngineChoice) -> BatchEvaluator:
        return BatchEvaluator(self.rulebook, self.layout, checks=block.checks, original=self.original, engine=engine)


def _numbers_in(codes: Sequence[str]) -> frozenset[Fraction]:
    return frozenset(Fraction(code.strip()) for code in codes if not np.isnan(parse_number(code)))


def _needs_strata(form: Form, block: Block) -> bool:
    """Whether a group has to share a disjunct, or the aggregator keeps the rule as a whole without that.

    A rule on one variable is a condition on its value, which every observed value satisfies; a rule on variables that
    the medoid replaces together is satisfied by every record.
    """
    variables = {name for conjunction in form for atom in conjunction for name in variables_of(atom)}
    aggregator = _aggregator(block)
    whole = isinstance(aggregator, Medoid) or (isinstance(aggregator, ObservedAggregator) and len(variables) == 1)
    return not (whole and variables <= set(block.variables))


def _with_codes(column: Column) -> NDArray[np.float64]:
    coded = column.status == Status.CODE
    if not coded.any():
        return column.values
    values = column.values.copy()
    values[coded] = [parse_number(str(lexeme)) for lexeme in column.lexemes[coded]]
    return values


def _aggregator(block: Block) -> Aggregator:
    if block.aggregator == DERIVE:
        return Mean()
    return next(aggregator for aggregator in AGGREGATORS if aggregator.name == block.aggregator)


def _pattern(column: Column) -> NDArray[np.intp]:
    """Code what is missing and how: 0 for values; missing codes differ by their lexeme."""
    codes = column.status.astype(np.intp)
    coded = column.status == Status.CODE
    if coded.any():
        codes[coded] = int(Status.CODE) + _codes(column.lexemes[coded])
    return codes


def _codes(lexemes: NDArray[np.object_]) -> NDArray[np.intp]:
    """Number the distinct lexemes in sorted order, absent ones first."""
    _, codes = np.unique(np.array(["" if text is None else f"={text}" for text in lexemes]), return_inverse=True)
    return codes.ravel().astype(np.intp)


def _shared(satisfied_by: NDArray[np.bool_], grouping: Grouping) -> NDArray[np.intp]:
    """For each group, the first disjunct that all its records satisfy, else the one that most of them do."""
    if satisfied_by.shape[1] == 0:
        return np.zeros(grouping.groups, dtype=np.intp)
    counts = np.zeros((grouping.groups, satisfied_by.shape[1]), dtype=np.intp)
    np.add.at(counts, grouping.labels, satisfied_by.astype(np.intp))
    return counts.argmax(axis=1)


def _tied(forms: Sequence[Form]) -> frozenset[str]:
    """Variables of equalities, whose doubles must come out the same in every engine."""
    return frozenset(
        name
        for form in forms
        for conjunction in form
        for atom in conjunction
        if isinstance(atom, Linear | Product) and atom.relation == "="
        for name in variables_of(atom)
    )
