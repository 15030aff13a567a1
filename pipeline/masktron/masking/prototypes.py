"""The prototypes of one block: targets, patterns, grids and the judge, handed to settle."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.base import ObservedAggregator, variables_of
from masktron.aggregators.mean import Mean
from masktron.aggregators.medoid import Medoid
from masktron.aggregators.mode import Mode
from masktron.constraints import Form, Linear, Polynomial, Product
from masktron.evaluation.exact import EngineChoice
from masktron.evaluation.findings import Verdict
from masktron.masking.patterns import Patterns
from masktron.masking.targets import targets
from masktron.masking.views import Views, aggregator_of, pattern_of
from masktron.methods.grouping import Grouping
from masktron.plan import Block
from masktron.read.lexical import reads_alike
from masktron.read.microdata import chunk_document
from masktron.settle.grid import grid_of, scales
from masktron.settle.hunt import Hunt
from masktron.settle.lattice import Search
from masktron.settle.prototypes import Judge, Row, Settled, Task, settle


def settle_block(views: Views, block: Block, grouping: Grouping) -> Settled:
    """Find the prototypes of one block."""
    values = views.coded(block.variables)
    aggregator = aggregator_of(block)
    patterns = np.stack([pattern_of(views.columns[name]) for name in block.variables], axis=1)
    # No aggregate stands for these groups. Zeros keep the aggregator from refusing them.
    beyond = grouping.varying(patterns) | isinstance(aggregator, Medoid)
    usable = np.where(beyond[grouping.labels, None], 0.0, values)
    observed = aggregator if isinstance(aggregator, ObservedAggregator) else None
    middles = views.middles(block.variables, usable, grouping.labels)
    choices = observed.choose(usable, grouping.labels, views.weights) if observed else None
    if isinstance(aggregator, Mode) and not views.numeric.issuperset(block.variables):
        # Ordered categories beside others take their median, which keeps all that the mode was chosen for.
        choices = middles
    members = tuple(np.split(np.argsort(grouping.labels, kind="stable"), np.cumsum(grouping.sizes)[:-1]))
    cases = Patterns.of(
        views,
        block,
        targets=targets(views, block, usable, grouping),
        centres=Mean().aggregate(usable, grouping.labels, views.weights),
        middles=middles,
        pooled=beyond,
    )
    hunt = _hunt(views, block, values)
    task = Task(
        variables=block.variables,
        columns=views.columns,
        members=members,
        conditions=block.conditions,
        distances=Medoid().distances(views.points(block.variables), grouping.labels, views.weights),
        candidates=lambda group: hunt.candidates(cases.group(group, members[group])),
        conflict=lambda group: _names(views, hunt.conflict(cases.group(group, members[group]))),
        pooled=beyond,
        medians=None if observed else middles,
        observed=observed.name if observed else None,
        choices=choices,
    )
    return settle(task, _judge(views, block))


def _hunt(views: Views, block: Block, values: NDArray[np.float64]) -> Hunt:
    forms = views.forms(block)
    tied = _tied(forms)
    numbers = [name for name in block.variables if name in views.numeric]
    search = Search(
        grids={name: grid_of(views.columns[name], tied=name in tied) for name in numbers},
        scale=dict(zip(block.variables, scales(values).tolist(), strict=True)),
        tied=tied,
        codes=views.codes,
    )
    return Hunt(tuple(zip(block.checks, forms, strict=True)), search, views.domains.get, block.derived)


def _names(views: Views, checks: Sequence[int]) -> list[str]:
    return [views.rulebook.checks[check].id for check in checks]


def _judge(views: Views, block: Block) -> Judge:
    if not block.checks:
        return lambda rows: np.ones(len(rows), dtype=np.bool_)
    fields = (*block.variables, *block.conditions)
    own = list(block.checks)
    alike = functools.cache(reads_alike)

    def accepted(choice: EngineChoice, rows: Sequence[Row]) -> NDArray[np.bool_]:
        verdicts = views.engine(block.checks, choice).verdicts(chunk_document(views.layout, rows))
        return np.asarray((verdicts[:, own] < Verdict.FAILS).all(axis=1))

    def judge(rows: Sequence[Row]) -> NDArray[np.bool_]:
        fine = accepted("auto", rows)
        # Both engines of XPath 1.0 have to accept a prototype; they differ only in how they read decimals.
        if views.rulebook.version == "1.0":
            unlike = [
                at for at in np.flatnonzero(fine).tolist() if not all(alike(rows[at][name] or "") for name in fields)
            ]
            if unlike:
                fine[unlike] = accepted("saxon", [rows[at] for at in unlike])
        return fine

    return judge


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
