"""The prototypes of one block: targets, recipes, grids and the judge, handed to settle."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import ObservedAggregator, variables_of
from masktron.aggregators.mean import Mean
from masktron.aggregators.median import Median
from masktron.aggregators.medoid import Medoid
from masktron.aggregators.mode import Mode
from masktron.classify.forms import Value, holds
from masktron.constraints import Form, InDomain, Lexical, Linear, Member, Product, Untranslated, Whole
from masktron.evaluation.exact import BatchEvaluator, EngineChoice
from masktron.evaluation.findings import Verdict
from masktron.masking.views import Views, aggregator_of, pattern_of
from masktron.methods.grouping import Grouping
from masktron.plan import DERIVE, Block
from masktron.read.lexical import reads_alike
from masktron.read.microdata import chunk_document
from masktron.settle.grid import Grid, grid_of, scales
from masktron.settle.lattice import Search
from masktron.settle.prototypes import Judge, Row, Settled, Task, settle
from masktron.settle.system import Equality, Recipe, equalities, recipes

DERIVE_EFFORT = MappingProxyType({"points": 40, "recipes": 2})
"""No theorem says that a derived prototype exists near the mean, so the search for it is short."""


def settle_block(views: Views, block: Block, grouping: Grouping) -> Settled:
    """Find the prototypes of one block."""
    return settle(task_of(views, block, grouping), judge_of(views, block))


def task_of(views: Views, block: Block, grouping: Grouping) -> Task:
    """Put together what settle needs for a block."""
    values = views.coded(block.variables)
    aggregator = aggregator_of(block)
    is_text = np.array([name not in views.numeric for name in block.variables])
    patterns = np.stack([pattern_of(views.columns[name]) for name in block.variables], axis=1)
    # No aggregate stands for these groups: the medoid does. Zeros keep the aggregator from refusing them.
    beyond = grouping.varying(patterns) | isinstance(aggregator, Medoid)
    usable = np.where(beyond[grouping.labels, None], 0.0, values)
    observed = aggregator if isinstance(aggregator, ObservedAggregator) else None
    forms = views.forms(block)
    shares = _shares(views, forms, grouping)
    tied = _tied(forms)
    return Task(
        variables=block.variables,
        columns=views.columns,
        members=tuple(np.split(np.argsort(grouping.labels, kind="stable"), np.cumsum(grouping.sizes)[:-1])),
        conditions=block.conditions,
        distances=Medoid().distances(views.points(block.variables), grouping.labels, views.weights),
        targets=np.where(is_text, np.nan, _targets(views, block, usable, grouping)),
        modes=Mode().choose(usable, grouping.labels, views.weights) if is_text.any() else None,
        search=_searches(
            views,
            Search(
                grids={name: grid_of(views.columns[name], tied=name in tied) for name in block.variables},
                scale=dict(zip(block.variables, scales(values).tolist(), strict=True)),
                tied=tied,
                codes=views.codes,
                holds=_quick_test(views, block, forms),
                **(DERIVE_EFFORT if block.aggregator == DERIVE else {}),
            ),
            forms,
            shares,
        ),
        ways=_ways(views, block, forms, shares, grouping),
        pooled=beyond,
        medians=None if observed else Median().choose(usable, grouping.labels, views.weights),
        observed=observed.name if observed else None,
        choices=observed.choose(usable, grouping.labels, views.weights) if observed else None,
    )


def _targets(views: Views, block: Block, values: NDArray[np.float64], grouping: Grouping) -> NDArray[np.float64]:
    """Aggregate; the arithmetic mean stands in for the geometric one in mixed groups, where signs differ."""
    aggregator = aggregator_of(block)
    if not block.one_signed:
        return aggregator.aggregate(values, grouping.labels, views.weights)
    unlike = grouping.varying(np.nan_to_num(np.sign(values)))
    one_signed = np.where(unlike[grouping.labels, None], 0.0, values)
    return np.where(
        unlike[:, None],
        Mean().aggregate(values, grouping.labels, views.weights),
        aggregator.aggregate(one_signed, grouping.labels, views.weights),
    )


def _searches(
    views: Views, search: Search, forms: Sequence[Form], shares: Sequence[NDArray[np.intp]]
) -> Callable[[int], Search]:
    """The search of a group, on the grids that its atoms ask for: integers, or certain values."""
    cache: dict[tuple[object, ...], Search] = {}

    def of(group: int) -> Search:
        atoms = [atom for form, share in zip(forms, shares, strict=True) if form for atom in form[share[group]]]
        special = tuple(
            atom for atom in atoms if isinstance(atom, Whole | Member | InDomain) and atom.variable in search.grids
        )
        if special not in cache:
            grids = dict(search.grids)
            for atom in special:
                grids[atom.variable] = _special_grid(views, grids[atom.variable], atom)
            cache[special] = replace(search, grids=grids)
        return cache[special]

    return of


def _special_grid(views: Views, grid: Grid, atom: Whole | Member | InDomain) -> Grid:
    match atom:
        case Whole():
            return replace(grid, whole=True)
        case InDomain():
            column = views.columns[atom.variable]
            return grid.only(str(lexeme) for lexeme in column.lexemes[column.is_number])
        case Member(negated=False):
            fits = [value for value in atom.values if isinstance(value, Fraction) and grid.holds(value)]
            return grid.only(grid.lexeme(value) for value in fits) if fits else grid
        case _:
            return grid


def _shares(views: Views, forms: Sequence[Form], grouping: Grouping) -> list[NDArray[np.intp]]:
    """For each rule, the disjunct that the records of each group share."""
    return [
        _shared(views.satisfied_by(form), grouping) if len(form) > 1 else np.zeros(grouping.groups, dtype=np.intp)
        for form in forms
    ]


def _quick_test(views: Views, block: Block, forms: Sequence[Form]) -> Callable[[Mapping[str, Value]], bool]:
    """Exact test of the rules that read masked numbers only; the engine judges all of them afterwards."""
    masked = views.numeric.intersection(block.variables)
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
    views: Views, block: Block, forms: Sequence[Form], shares: Sequence[NDArray[np.intp]], grouping: Grouping
) -> Callable[[int], Sequence[Recipe]]:
    """Recipes of a group: the equalities of the disjuncts that its records share, solved."""
    first = np.unique(grouping.labels, return_index=True)[1]
    cache: dict[tuple[object, ...], list[Recipe]] = {}

    def ways(group: int) -> Sequence[Recipe]:
        record = first[group]
        known = tuple(name for name in block.variables if not np.isnan(views.values[name][record]))
        fixed = tuple((name, views.columns[name].lexemes[record]) for name in block.ties)
        case = tuple(int(share[group]) for share in shares)
        key = (known, fixed, case)
        if key not in cache:
            atoms = [atom for form, at in zip(forms, case, strict=True) if form for atom in form[at]]
            constants = {
                name: Fraction(str(lexeme).strip())
                for name, lexeme in fixed
                if not np.isnan(views.values[name][record])
            }
            system: list[Equality] = [equality.given(constants) for equality in equalities(atoms)]
            cache[key] = recipes(known, system)
        return cache[key]

    return ways


def judge_of(views: Views, block: Block) -> Judge:
    """Return what tells which records obey the rules of a block: the engines, on the original expressions."""
    if not block.checks:
        return lambda rows: np.ones(len(rows), dtype=np.bool_)
    first = _evaluator(views, block, "auto")
    # Both engines of XPath 1.0 have to accept a prototype; they differ only in how they read decimals.
    second = _evaluator(views, block, "saxon") if views.rulebook.version == "1.0" else None
    fields = (*block.variables, *block.conditions)
    own = list(block.checks)
    alike = functools.cache(reads_alike)

    def accepted(evaluator: BatchEvaluator, rows: Sequence[Row]) -> NDArray[np.bool_]:
        verdicts = evaluator.verdicts(chunk_document(views.layout, rows))
        return np.asarray((verdicts[:, own] < Verdict.FAILS).all(axis=1))

    def judge(rows: Sequence[Row]) -> NDArray[np.bool_]:
        fine = accepted(first, rows)
        if second is not None:
            unlike = [
                at for at in np.flatnonzero(fine).tolist() if not all(alike(rows[at][name] or "") for name in fields)
            ]
            if unlike:
                fine[unlike] = accepted(second, [rows[at] for at in unlike])
        return fine

    return judge


def _evaluator(views: Views, block: Block, engine: EngineChoice) -> BatchEvaluator:
    return BatchEvaluator(views.rulebook, views.layout, checks=block.checks, original=views.original, engine=engine)


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
