"""Spreading a difference over groups: how many steps each group moves so that totals over the file come out right.

Each step that a group can take moves every condition by a known amount. Wanted are whole numbers of steps that bring
all conditions between their limits, at the least cost. Coefficients are exact rationals; HiGHS, which works in
doubles, proposes a solution, and only one that is right in exact arithmetic is returned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

NODES = 300
"""Nodes of the search tree after which the integer program gives up: a bound on time that is the same everywhere."""
GAP = 0.25
"""A solution this near to the cheapest is good enough."""


@dataclass(frozen=True, slots=True)
class Interval:
    """By how much a condition has to move: between two limits; None where there is none."""

    low: Fraction | None
    high: Fraction | None

    def holds(self, shift: Fraction) -> bool:
        """Whether a shift lies within."""
        return (self.low is None or shift >= self.low) and (self.high is None or shift <= self.high)


@dataclass(frozen=True, slots=True)
class Step:
    """One step that a group can take.

    Attributes
    ----------
    effects : tuple of Fraction
        By how much it moves each condition.
    cost : float
        What it changes, relative to the values of the group; above 0.
    limit : int
        How often it can be taken.
    """

    effects: tuple[Fraction, ...]
    cost: float
    limit: int


def whole_steps(steps: Sequence[Step], wanted: Sequence[Interval]) -> list[int] | None:
    """Return how often to take each step, at nearly the least cost; None where no way is found.

    Parameters
    ----------
    steps : sequence of Step
    wanted : sequence of Interval
        One for each effect.
    """
    if not steps:
        return [] if all(interval.holds(Fraction(0)) for interval in wanted) else None
    rows, low, high = _scaled(steps, wanted)
    found = milp(
        c=np.array([step.cost for step in steps]),
        constraints=LinearConstraint(rows, low, high),
        integrality=np.ones(len(steps), dtype=np.intp),
        bounds=Bounds(0, np.array([step.limit for step in steps], dtype=np.float64)),
        options={"presolve": False, "node_limit": NODES, "mip_rel_gap": GAP},
    )
    if found.x is None:
        return None
    times = [round(float(x)) for x in found.x]
    return times if _right(steps, times, wanted) else None


def even_steps(steps: Sequence[Step], wanted: Sequence[Interval]) -> list[int] | None:
    """Return how often to take each step so that no group changes much more than the others, rounded down.

    The conditions are then nearly where they have to be; `whole_steps` does the rest. None where even fractions of
    steps do not help.
    """
    rows, low, high = _scaled(steps, wanted)
    costs = np.array([step.cost for step in steps])
    # The last variable is the largest relative change: cost * times <= it, and it is what is made small.
    last = sparse.csr_array(np.ones((len(steps), 1)))
    found = milp(
        c=np.append(costs / len(steps) * 1e-3, 1.0),
        constraints=[
            LinearConstraint(np.column_stack([rows, np.zeros(len(wanted))]), low, high),
            LinearConstraint(sparse.hstack([sparse.csr_array(sparse.diags_array(costs)), -last]), -np.inf, 0.0),
        ],
        bounds=Bounds(0, np.inf),
    )
    if found.x is None:
        return None
    return [math.floor(x + 1e-9) for x in found.x[:-1]]


def common_measure(numbers: Sequence[Fraction]) -> Fraction:
    """Return the largest number of which all are whole multiples; 0 if all are 0.

    Theorem: whole multiples of the numbers add up to a total if and only if it is a multiple of this one. Proof: on
    a common denominator the numbers are integers, and their integer combinations are the multiples of their greatest
    common divisor (Bezout).
    """
    denominator = math.lcm(*(number.denominator for number in numbers))
    return Fraction(math.gcd(*(int(number * denominator) for number in numbers)), denominator)


def _scaled(
    steps: Sequence[Step], wanted: Sequence[Interval]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Write each condition in doubles with effects of at most 1: tolerances of the solver are absolute."""
    rows, low, high = [], [], []
    for position, interval in enumerate(wanted):
        effects = [step.effects[position] for step in steps]
        unit = max(map(abs, effects)) or Fraction(1)
        rows.append([float(effect / unit) for effect in effects])
        low.append(-math.inf if interval.low is None else float(interval.low / unit))
        high.append(math.inf if interval.high is None else float(interval.high / unit))
    return np.array(rows), np.array(low), np.array(high)


def _right(steps: Sequence[Step], times: Sequence[int], wanted: Sequence[Interval]) -> bool:
    if not all(0 <= count <= step.limit for count, step in zip(times, steps, strict=True)):
        return False
    shifts = (
        sum((count * step.effects[position] for count, step in zip(times, steps, strict=True)), Fraction(0))
        for position in range(len(wanted))
    )
    return all(interval.holds(shift) for interval, shift in zip(wanted, shifts, strict=True))
