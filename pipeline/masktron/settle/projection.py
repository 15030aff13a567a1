"""The point of the grids nearest to a target that satisfies the rules, by mixed-integer linear programming.

The lattice is searched a few steps around the target. Where the rules leave nothing there, the nearest solution is
found by a program: every number is a whole number of grid steps from the rounded target, or one of certain values;
every category one of its options; every rule with several disjuncts chooses one. Conditions are rows with integer
coefficients, switched on by the choice of their disjunct; the objective is the distance to the target, each field
in its own unit, summed. Products become linear by fixing all their factors but one at values near the target.

The solution is a candidate like others: the exact test and the engine judge it. The work is bounded by nodes of the
search tree, not by the clock, so that the same input gives the same bytes.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from masktron.settle.lattice import ball
from masktron.settle.mixed_integer import Problem, ProjectionProgram, Solution
from masktron.settle.residual_rules import NumberComparison, ResidualRule, breakpoints
from masktron.settle.solver import Infeasible

MAX_PROGRAMS = 16
"""Programs that are solved for one target: products fix their factors at that many points at most."""
BATCH = 8
"""Programs whose solutions are compared before the nearest is tried."""
MAX_POINTS = 4
"""Points where a condition on a factor changes that are tried for it."""
PACE = 16
"""Other values of a factor lie this part of its spread apart, or one grid step if that is more."""
MAX_SETS = 3
"""Choices of the factors to fix."""


def project(problem: Problem) -> Iterator[Solution]:
    """Yield solutions, the nearest first; for products one for each choice of fixed factors that has one."""
    for some in itertools.batched(itertools.islice(_fixings(problem), MAX_PROGRAMS), BATCH):
        solved = [solution for fixed in some if (solution := _solved(problem, fixed)) is not None]
        yield from sorted(solved, key=lambda solution: solution.distance)


def _solved(problem: Problem, fixed: Mapping[str, Fraction]) -> Solution | None:
    try:
        return ProjectionProgram(problem, fixed).solve()
    except Infeasible:
        return None


def conflict(problem: Problem) -> tuple[int, ...]:
    """Return checks that cannot hold together, none of which can be left out; empty where nothing is proved.

    Rules that are not linear are left out: what the others exclude, all of them exclude.
    """
    linear = [rule for rule in problem.rules if not any(True for _ in _nonlinear([rule]))]
    if not _impossible(problem, linear):
        return ()
    for check in sorted({rule.check for rule in linear}):
        others = [rule for rule in linear if rule.check != check]
        if _impossible(problem, others):
            linear = others
    return tuple(sorted({rule.check for rule in linear}))


def _impossible(problem: Problem, rules: Sequence[ResidualRule]) -> bool:
    """Whether it is proved that no point of the grids in the box satisfies the rules."""
    relaxed = Problem(problem.target, problem.grids, problem.scale, problem.box, {}, problem.options, rules)
    try:
        program = ProjectionProgram(relaxed, {})
    except Infeasible:
        return True
    return program.impossible()


def _nonlinear(rules: Sequence[ResidualRule]) -> Iterator[NumberComparison]:
    for condition in (c for rule in rules for d in rule.disjuncts for c in d.conditions):
        if isinstance(condition, NumberComparison) and not condition.linear:
            yield condition


def _fixings(problem: Problem) -> Iterator[dict[str, Fraction]]:
    """Yield values for the factors to fix, the likeliest first; one empty choice where there are no products."""
    products = [
        term.powers
        for comparison in _nonlinear(problem.rules)
        for term in comparison.terms
        if len(term.powers) > 1 or any(power != 1 for _, power in term.powers)
    ]
    if not products:
        yield {}
        return
    sources = [_values(problem, names) for names in _factor_sets(problem, products)]
    seen: set[tuple[tuple[str, Fraction], ...]] = set()
    for round_ in itertools.zip_longest(*sources):
        for fixed in round_:
            if fixed is not None and (key := tuple(sorted(fixed.items()))) not in seen:
                seen.add(key)
                yield fixed


def _factor_sets(problem: Problem, products: Sequence[tuple[tuple[str, int], ...]]) -> list[tuple[str, ...]]:
    """List small sets of factors without which every product is linear; integers are fixed before long fractions."""
    found: dict[tuple[str, ...], None] = {}
    for avoided in [None, *sorted({name for powers in products for name, _ in powers})]:
        fixed = {name for powers in products for name, power in powers if power != 1}
        while left := [names for powers in products if len(names := [n for n, _ in powers if n not in fixed]) > 1]:
            readers = Counter(name for names in left for name in names)
            fixed.add(min(readers, key=lambda name: (name == avoided, -readers[name], _length(problem, name), name)))
        found[tuple(sorted(fixed))] = None
    return list(found)[:MAX_SETS]


def _length(problem: Problem, name: str) -> int:
    grid = problem.grids[name]
    return grid.decimals if grid.digits is None or grid.among else 100


def _values(problem: Problem, names: tuple[str, ...]) -> Iterator[dict[str, Fraction]]:
    """Yield values of the factors: the rounded targets, points where a condition changes, and others around."""
    middle = {name: _at(problem, name, problem.target[name]) for name in names}
    yield middle
    for name in names:
        low, high = problem.box[name]
        points = [point for point in breakpoints(problem.rules, name) if low <= point <= high]
        points.sort(key=lambda point: (abs(point - problem.target[name]), point))
        yield from ({**middle, name: _at(problem, name, point)} for point in points[:MAX_POINTS])
    pace = {
        name: max(float(problem.grids[name].step(problem.target[name])), problem.scale[name] / PACE) for name in names
    }
    for offsets in ball(len(names), MAX_PROGRAMS)[1:].tolist():
        yield {
            name: _at(problem, name, problem.target[name] + offset * pace[name])
            for name, offset in zip(names, offsets, strict=True)
        }


def _at(problem: Problem, name: str, value: float) -> Fraction:
    """Return the number of the grid of a field that is nearest to a value."""
    return problem.grids[name].settled(Fraction(value), near=True)
