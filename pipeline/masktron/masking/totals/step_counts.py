"""Spreading a difference over groups: how many steps each group moves so that totals over the file come out right.

Each step that a group can take moves every condition by a known amount, and wanted are whole numbers of steps that
bring all conditions between their limits: a subset sum in several dimensions. Steps with the same effect are one
*kind*, of which the cheapest are taken first. The shift that is missing is met in the middle: it is the sum of two
shifts, each of which takes at most two kinds of steps. Where it is not, the two kinds that come nearest are taken,
and the rest is looked for again. All arithmetic is exact.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from masktron.settle.grid import common_measure

REPEATED = 8
"""Steps of one kind that are taken at a time."""
MULTIPLES = 700
"""Numbers of steps of some kind that are combined in pairs."""
CHECKED = 1000
"""Ways to meet that are looked at, the cheapest first: there may be too few steps of a kind for them."""
ROUNDS = 24
"""Times that the two kinds that come nearest are taken before the search gives up."""
LARGEST = 2**52
"""Shifts beyond this many units are not looked for."""

type _Shifts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ShiftRange:
    """By how much a condition has to move: between two limits; None where there is none."""

    low: Fraction | None
    high: Fraction | None

    def holds(self, shift: Fraction) -> bool:
        """Whether a shift lies within."""
        return (self.low is None or shift >= self.low) and (self.high is None or shift <= self.high)


@dataclass(frozen=True, slots=True)
class StepKind:
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


def whole_steps(steps: Sequence[StepKind], wanted: Sequence[ShiftRange]) -> list[int] | None:
    """Return how often to take each step; None where no way is found.

    Parameters
    ----------
    steps : sequence of StepKind
        The most useful first: where there are too many kinds, the last ones are left out.
    wanted : sequence of ShiftRange
        One for each effect.
    """
    times = [0] * len(steps)
    if all(interval.holds(Fraction(0)) for interval in wanted):
        return times
    units = [_unit(steps, interval, at) for at, interval in enumerate(wanted)]
    low = [-LARGEST if x.low is None else math.ceil(x.low / unit) for x, unit in zip(wanted, units, strict=True)]
    high = [LARGEST if x.high is None else math.floor(x.high / unit) for x, unit in zip(wanted, units, strict=True)]
    effects = [[int(effect / unit) for effect, unit in zip(step.effects, units, strict=True)] for step in steps]
    sizes = [abs(effect) * REPEATED for row in effects for effect in row]
    if not steps or max(*sizes, *map(abs, low), *map(abs, high)) > LARGEST or any(map(operator.gt, low, high)):
        return None
    kinds = _Kinds(steps, np.array(effects, dtype=np.int64))
    limits = np.array([low, high], dtype=np.int64)
    for _ in range(ROUNDS):
        if (limits[0] <= 0).all() and (limits[1] >= 0).all():
            return times if _right(steps, times, wanted) else None
        chosen = kinds.chosen(limits)
        if not chosen:
            return None
        for kind, count in chosen:
            limits = limits - count * kinds.effects[kind]
            for at in kinds.take(kind, count):
                times[at] += 1
    return None


class _Kinds:
    """Steps by their effects: each kind with its steps in the order of what they cost."""

    def __init__(self, steps: Sequence[StepKind], effects: _Shifts) -> None:
        _, first, which = np.unique(effects, axis=0, return_index=True, return_inverse=True)
        rank = np.argsort(np.argsort(first))
        self.effects = effects[np.sort(first)]
        self._largest: _Shifts = np.maximum(np.abs(effects).max(axis=0), 1)
        self._left: list[list[tuple[float, int]]] = [[] for _ in first]
        for at, (kind, step) in enumerate(zip(rank[which.ravel()].tolist(), steps, strict=True)):
            # A second step of the same group changes it twice as much, so that other groups come first.
            self._left[kind] += [(step.cost * (repeat + 1), at) for repeat in range(step.limit)]
        for queue in self._left:
            queue.sort()
        # A linear hash: the sum of two shifts has the sum of their hashes. Collisions are found out in the end.
        self._hash: _Shifts = np.random.default_rng(len(effects)).integers(
            1, 2**62, size=(effects.shape[1],), dtype=np.int64
        )

    def take(self, kind: int, count: int) -> list[int]:
        """Return the cheapest steps of a kind, and strike them off."""
        taken = self._left[kind][:count]
        del self._left[kind][:count]
        return [at for _, at in taken]

    def chosen(self, limits: _Shifts) -> list[tuple[int, int]]:
        """Return kinds and counts that bring a shift between its limits, or else nearer to them; none if none do."""
        multiples = self._multiples()
        kind = np.array([kind for kind, _, _ in multiples])
        one, two = np.triu_indices(len(multiples))
        apart = (kind[one] != kind[two]) | (kind[two] < 0)
        one, two = one[apart], two[apart]
        counts, costs = np.array([count for _, count, _ in multiples]), np.array([cost for *_, cost in multiples])
        shifts = self.effects[kind] * counts[:, None]
        pairs = _Pairs(shifts[one] + shifts[two], costs[one] + costs[two])

        def parts(*at: int) -> list[tuple[int, int]]:
            found: Counter[int] = Counter()
            for entry in (side[pair] for pair in at for side in (one, two)):
                found[int(kind[entry])] += int(counts[entry])
            return [(which, count) for which, count in found.items() if count]

        def free(*at: int) -> bool:
            return all(count <= len(self._left[which]) for which, count in parts(*at))

        return parts(*(pairs.meeting(limits, self._hash, free) or pairs.nearest(limits, self._largest)))

    def _multiples(self) -> list[tuple[int, int, float]]:
        """List kinds, counts and costs, few steps of all kinds before more of the first; (-1, 0, 0) is nothing."""
        found: list[tuple[int, int, float]] = [(-1, 0, 0.0)]
        for count in range(1, REPEATED + 1):
            for kind, queue in enumerate(self._left):
                if count <= len(queue) and len(found) < MULTIPLES:
                    found.append((kind, count, sum(cost for cost, _ in queue[:count])))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Pairs:
    """What two kinds of steps together shift, shape (pairs, conditions), and what they cost."""

    shifts: _Shifts
    costs: NDArray[np.float64]

    def meeting(self, limits: _Shifts, hashes: _Shifts, free: Callable[[int, int], bool]) -> tuple[int, ...]:
        """Return the cheapest two pairs found that together reach the limits; none where there are no equalities."""
        tight = limits[0] == limits[1]
        if not tight.any():
            return ()
        keys = (self.shifts * hashes)[:, tight].sum(axis=1)
        order = np.lexsort((self.costs, keys))
        order = order[np.append(True, keys[order][1:] != keys[order][:-1])]  # the cheapest of each key
        wanted = (limits[0] * hashes)[tight].sum() - keys[order]
        place = np.minimum(np.searchsorted(keys[order], wanted), len(order) - 1)
        hits = np.flatnonzero(keys[order][place] == wanted)
        ones, others = order[hits], order[place[hits]]
        total = self.shifts[ones] + self.shifts[others]
        inside = ((total >= limits[0]) & (total <= limits[1])).all(axis=1)
        ones, others = ones[inside], others[inside]
        ranked = np.argsort(self.costs[ones] + self.costs[others], kind="stable")
        for at in ranked[:CHECKED].tolist():
            if free(int(ones[at]), int(others[at])):
                return int(ones[at]), int(others[at])
        return ()

    def nearest(self, limits: _Shifts, largest: _Shifts) -> tuple[int, ...]:
        """Return the pair that comes nearest to the limits, the cheapest of these; none where that is no step."""
        far = np.maximum(limits[0] - self.shifts, 0) + np.maximum(self.shifts - limits[1], 0)
        return (int(np.lexsort((self.costs, (far / largest).sum(axis=1)))[0]),)


def even_steps(steps: Sequence[StepKind], wanted: Sequence[ShiftRange]) -> list[int] | None:
    """Return how often to take each step so that no group changes much more than the others, rounded down.

    The conditions are then nearly where they have to be; `whole_steps` does the rest. None where even fractions of
    steps do not help. (HiGHS solves a linear program.)
    """
    from scipy import sparse  # noqa: PLC0415 -- most runs do without
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 -- most runs do without

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
        bounds=Bounds(0, np.array([*(float(step.limit) for step in steps), np.inf])),
    )
    if found.x is None:
        return None
    return [math.floor(x + 1e-9) for x in found.x[:-1]]


def _unit(steps: Sequence[StepKind], interval: ShiftRange, at: int) -> Fraction:
    """Return what all effects on a condition are whole multiples of, and its limits if they are equal."""
    limits = [interval.low] if interval.low is not None and interval.low == interval.high else []
    return common_measure([*(step.effects[at] for step in steps), *limits]) or Fraction(1)


def _scaled(
    steps: Sequence[StepKind], wanted: Sequence[ShiftRange]
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


def _right(steps: Sequence[StepKind], times: Sequence[int], wanted: Sequence[ShiftRange]) -> bool:
    if not all(0 <= count <= step.limit for count, step in zip(times, steps, strict=True)):
        return False
    shifts = (
        sum((count * step.effects[position] for count, step in zip(times, steps, strict=True)), Fraction(0))
        for position in range(len(wanted))
    )
    return all(interval.holds(shift) for interval, shift in zip(wanted, shifts, strict=True))
