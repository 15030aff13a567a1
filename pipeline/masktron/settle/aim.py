"""Where a derived prototype is looked for: the solution of the equalities nearest to the group's mean.

Means break products: of many solutions around them, the one that recomputes the product from the mean factors can be
far off, as the mean product weighs large records more. Each recipe solves for other variables, which gives another
solution; the nearest of them loses least. Theorem: of two prototypes of a group, the one nearer to its mean, in units
of standard deviations, has the smaller sum of squares. Proof: in each variable, the squares of the deviations from a
constant add up to those from the mean, plus n times the squared distance of the constant from the mean; weights
change nothing in that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from masktron.settle.system import Recipe


def aim(
    start: Mapping[str, float],
    centre: Mapping[str, float],
    ways: Sequence[Recipe],
    scale: Mapping[str, float],
    admits: Callable[[Mapping[str, Fraction]], bool],
) -> Mapping[str, float]:
    """Return the admitted solution that is nearest to the centre of a group; the start where there is none.

    Parameters
    ----------
    start : mapping of field name to float
        What free variables are given, for each recipe.
    centre : mapping of field name to float
        The means of the group, for the same fields.
    ways : sequence of Recipe
    scale : mapping of field name to float
        Unit of distance.
    admits : callable
        Whether the rules may hold for the values; asked in the order of distance.

    Returns
    -------
    mapping of field name to float
        The values that solve the equalities but for rounding. Where they are linear, means solve them already, and
        `start` is returned.
    """
    if all(equality.linear for recipe in ways for _, equality in recipe.steps):
        return start
    solutions = []
    for position, recipe in enumerate(ways):
        values = recipe.complete({name: Fraction(start[name]) for name in recipe.free})
        if values is not None:
            solutions.append((_distance(values, centre, scale), position, values))
    for distance, _, values in sorted(solutions, key=lambda solution: solution[:2]):
        if math.isfinite(distance) and admits(values):
            return {name: float(value) for name, value in values.items()}
    return start


def _distance(values: Mapping[str, Fraction], centre: Mapping[str, float], scale: Mapping[str, float]) -> float:
    try:
        return math.hypot(*((float(value) - centre[name]) / scale[name] for name, value in values.items()))
    except OverflowError:
        return math.inf
