"""The prototypes of one block: targets, recipes, grids and the judge, handed to settle."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import ObservedAggregator, variables_of
from masktron.aggregators.medoid import Medoid
from masktron.aggregators.mode import Mode
from masktron.classify.forms import Value, holds
from masktron.constraints import Form, InDomain, Lexical, Linear, Member, Polynomial, Product, Untranslated, Whole
from masktron.evaluation.exact import BatchEvaluator, EngineChoice
from masktron.evaluation.findings import Verdict
from masktron.masking.targets import aimed, targets
from masktron.masking.views import Views, aggregator_of, pattern_of
from masktron.methods.grouping import Grouping, codes_of
from masktron.plan import Block
from masktron.read.lexical import parse_number, reads_alike
from masktron.read.microdata import chunk_document
from masktron.settle.grid import Grid, grid_of, scales
from masktron.settle.lattice import Search
from masktron.settle.prototypes import Judge, Row, Settled, Task, settle
from masktron.settle.system import Equality, Recipe, equalities, recipes

DERIVE_EFFORT = MappingProxyType({"points": 40, "recipes": 2})
"""No theorem says that a derived prototype exists near the mean, so the search for it is short."""
COMBINATIONS = 4
"""Observed combinations of categories that are tried in a group whose most frequent values do not go together."""


def settle_block(views: Views, block: Block, grouping: Grouping) -> Settled:
    """Find the prototypes of one block."""
    values = views.coded(block.variables)
    aggregator = aggregator_of(block)
    category = np.array([name not in views.numeric for name in block.variables])
    patterns = np.stack([pattern_of(views.columns[name]) for name in block.variables], axis=1)
    # No aggregate stands for these groups: the medoid does. Zeros keep the aggregator from refusing them.
    beyond = grouping.varying(patterns) | isinstance(aggregator, Medoid)
    usable = np.where(beyond[grouping.labels, None], 0.0, values)
    observed = aggregator if isinstance(aggregator, ObservedAggregator) else None
    middles = views.middles(block.variables, usable, grouping.labels)
    choices = observed.choose(usable, grouping.labels, views.weights) if observed else None
    if isinstance(aggregator, Mode) and category.any():
        # Ordered categories beside others take their median, which keeps all that the mode was chosen for.
        choices = middles
    forms = views.forms(block)
    shares = _shares(views, forms, grouping)
    tied = _tied(forms)
    ways = _ways(views, block, forms, shares, grouping)
    fits = _quick_test(views, block, forms)
    aims = np.where(category, np.nan, targets(views, block, usable, grouping))
    if block.derived:
        aims = aimed(views, block, aims, usable, grouping, lambda group: ways(group, {}), fits)
    task = Task(
        variables=block.variables,
        columns=views.columns,
        members=tuple(np.split(np.argsort(grouping.labels, kind="stable"), np.cumsum(grouping.sizes)[:-1])),
        conditions=block.conditions,
        distances=Medoid().distances(views.points(block.variables), grouping.labels, views.weights),
        targets=aims,
        categories=_categories(views, block, usable, middles, grouping) if category.any() else None,
        search=_searches(
            views,
            Search(
                grids={name: grid_of(views.columns[name], tied=name in tied) for name in block.variables},
                scale=dict(zip(block.variables, scales(values).tolist(), strict=True)),
                tied=tied,
                codes=views.codes,
                holds=fits,
                **(DERIVE_EFFORT if block.derived else {}),
            ),
            forms,
            shares,
        ),
        ways=ways,
        pooled=beyond,
        medians=None if observed else middles,
        observed=observed.name if observed else None,
        choices=choices,
    )
    return settle(task, _judge(views, block))


def _categories(
    views: Views, block: Block, values: NDArray[np.float64], middles: NDArray[np.intp], grouping: Grouping
) -> Callable[[int], Iterator[NDArray[np.intp]]]:
    """Records to take the categories of a group from: each field's middle, then the combinations that records hold.

    The middles of several fields need not be an allowed combination where the records share no disjunct; each
    observed combination is one, as far as the rules read categories only. The one of the largest weight comes first.
    """
    at = [position for position, name in enumerate(block.variables) if name not in views.numeric]
    codes = codes_of(np.nan_to_num(values[:, at], nan=-1.0))
    weights = np.ones(views.n) if views.weights is None else views.weights

    def of(group: int) -> Iterator[NDArray[np.intp]]:
        yield middles[group]
        members = np.flatnonzero(grouping.labels == group)
        _, first, own = np.unique(codes[members], return_index=True, return_inverse=True)
        heaviest = np.lexsort((first, -np.bincount(own.ravel(), weights[members])))
        for combination in heaviest[:COMBINATIONS]:
            yield np.full(len(block.variables), members[first[combination]])

    return of


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
) -> Callable[[int, Mapping[str, str | None]], Sequence[Recipe]]:
    """Recipes of a group: the equalities of the disjuncts that its records share, solved, given its categories."""
    first = np.unique(grouping.labels, return_index=True)[1]
    tied = _tied(forms)
    cache: dict[tuple[object, ...], list[Recipe]] = {}

    def ways(group: int, categories: Mapping[str, str | None]) -> Sequence[Recipe]:
        record = first[group]
        known = tuple(
            name for name in block.variables if name in views.numeric and not np.isnan(views.values[name][record])
        )
        fixed = tuple((name, views.columns[name].lexemes[record]) for name in block.ties)
        fixed += tuple((name, lexeme) for name, lexeme in categories.items() if name in tied)
        case = tuple(int(share[group]) for share in shares)
        key = (known, fixed, case)
        if key not in cache:
            atoms = [atom for form, at in zip(forms, case, strict=True) if form for atom in form[at]]
            constants = {
                name: Fraction(str(lexeme).strip())
                for name, lexeme in fixed
                if not math.isnan(parse_number(str(lexeme)) if name in categories else views.values[name][record])
            }
            system: list[Equality] = [equality.given(constants) for equality in equalities(atoms)]
            cache[key] = recipes(known, system)
        return cache[key]

    return ways


def _judge(views: Views, block: Block) -> Judge:
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
        if isinstance(atom, Linear | Product | Polynomial) and atom.relation == "="
        for name in variables_of(atom)
    )
