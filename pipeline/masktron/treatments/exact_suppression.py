"""The least suppression of small files, as an integer program that HiGHS solves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from masktron.settle.solver import silence
from masktron.treatments.key_patterns import Suppressing, cost_of, record_bounds

if TYPE_CHECKING:
    from scipy.optimize import OptimizeResult

_NODES = 2_000
"""Of the search tree, so that the result does not depend on the clock."""
_GAP = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Least:
    """What was found.

    Attributes
    ----------
    cells : ndarray of bool, shape (n, m)
    bound : float
        No suppression costs less.
    proved : bool
        Whether these cells cost no more than that.
    """

    cells: NDArray[np.bool_]
    bound: float
    proved: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Ways:
    """Ways to write a class of records that are alike in keys and in what may be missing.

    Attributes
    ----------
    of : ndarray of intp, shape (w,)
        The class.
    pattern : ndarray of intp, shape (w,)
        Which keys are suppressed; -1 for none.
    into : ndarray of intp, shape (w,)
        The combination that is written.
    price : ndarray of float64, shape (w,)
        For each record.
    """

    of: NDArray[np.intp]
    pattern: NDArray[np.intp]
    into: NDArray[np.intp]
    price: NDArray[np.float64]

    def some(self, which: NDArray[np.bool_]) -> _Ways:
        return _Ways(self.of[which], self.pattern[which], self.into[which], self.price[which])


def least_suppression(file: Suppressing, found: NDArray[np.bool_] | None, most: int) -> Least | None:
    """Find the least suppression.

    Parameters
    ----------
    file : Suppressing
        With all sets of keys among its patterns.
    found : ndarray of bool, shape (n, m), or None
        A suppression that is valid; what must cost more than it is left out beforehand. None where none is known.
    most : int
        Variables of a part of the file that are solved for; in larger parts `found` stays.

    Returns
    -------
    Least or None
        None where there is no suppression, or none was found. `bound` is infinite where there is none.

    Notes
    -----
    How many records of class u are written as combination c, z(u, c), whether c occurs, y(c): minimise the sum of
    price times z, where the z of a class add up to its records, those of a combination to at least k y(c), and
    z(u, c) <= n(u) y(c). Ways by which the costs would be above those that are known (`least_cost`, whose shares add
    up) are left out; what then hangs together is a part of its own. Presolving is off, as in `settle.solver`.
    """
    first, members, ways = _all_ways(file)
    bounds = record_bounds(file)
    if np.isinf(bounds).any():
        return None
    total = float(bounds.sum())
    if found is not None:
        cost = float(cost_of(found, file.cost).sum())
        ways = ways.some(_worth(file, first, members, ways, bounds, cost - total + _GAP * max(1.0, cost)))
    count = np.bincount(members, minlength=len(first))
    cells = np.zeros(file.codes.shape, dtype=np.bool_) if found is None else found.copy()
    bound, proved = 0.0, True
    for part in _parts(ways, len(first)):
        own = ways.some(part)
        rows = np.flatnonzero(np.isin(members, own.of))
        if (own.pattern < 0).all():
            continue
        solved = _solved(own, count, file.k) if len(own.of) <= most else None
        if solved is None or solved.x is None:
            if found is None:
                return None
            dual = None if solved is None else solved.mip_dual_bound
            low = max(float(bounds[rows].sum()), -np.inf if dual is None else float(dual))
            bound += low
            proved &= float(cost_of(found[rows], file.cost).sum()) <= low + _GAP
            continue
        amounts = np.rint(solved.x[: len(own.of)]).astype(np.int64)
        made = _spread(file, own, amounts, members, rows)
        price, low = (
            float(cost_of(made, file.cost).sum()),
            max(float(solved.mip_dual_bound), float(bounds[rows].sum())),
        )
        bound += low
        if found is None or price < float(cost_of(found[rows], file.cost).sum()) - _GAP:
            cells[rows] = made
        proved &= float(cost_of(cells[rows], file.cost).sum()) <= low + _GAP * max(1.0, price)
    return Least(cells, bound, proved)


def _all_ways(file: Suppressing) -> tuple[NDArray[np.intp], NDArray[np.intp], _Ways]:
    """Return a record of each class, the class of each record, and all ways to write them."""
    everyone = np.arange(len(file.codes))
    may = np.column_stack([file.may(everyone, at) for at in range(len(file.patterns))])
    _, first, members = np.unique(np.hstack([file.codes, may]), axis=0, return_index=True, return_inverse=True)
    of, pattern, numbers, price = [np.arange(len(first))], [np.full(len(first), -1)], [file.numbers[first]], []
    price.append(np.zeros(len(first)))
    for at, own in enumerate(file.patterns):
        # a key without a value is not suppressed: such a set is the same as one without it
        which = np.flatnonzero(may[first, at] & (file.codes[first][:, own] >= 0).all(axis=1))
        of.append(which)
        pattern.append(np.full(len(which), at))
        numbers.append(file.without(first[which], own))
        price.append(file.price(first[which], own))
    into = np.unique(np.concatenate(numbers), return_inverse=True)[1]
    return first, members.ravel(), _Ways(np.concatenate(of), np.concatenate(pattern), into, np.concatenate(price))


def _worth(
    file: Suppressing,
    first: NDArray[np.intp],
    members: NDArray[np.intp],
    ways: _Ways,
    bounds: NDArray[np.float64],
    gap: float,
) -> NDArray[np.bool_]:
    """Tell which ways can be part of a suppression that costs at most `gap` more than the bound."""
    count = np.bincount(members, minlength=len(first))
    combinations = int(ways.into.max()) + 1
    risk = bounds[first] > 0
    room = np.bincount(ways.into, count[ways.of], combinations) >= file.k
    at_risk = np.bincount(ways.into, np.where(risk[ways.of], count[ways.of], 0), combinations)
    others = np.flatnonzero(~risk[ways.of])
    lowest = np.full(combinations, np.inf)
    np.minimum.at(lowest, ways.into[others], ways.price[others])
    few = np.maximum(file.k / np.maximum(at_risk, 1) - 1, 0)
    share = ways.price + np.where(few > 0, lowest, 0.0)[ways.into] * few[ways.into]
    fine = room[ways.into] & (~risk[ways.of] | (share - bounds[first][ways.of] <= gap))
    served = np.zeros(combinations, dtype=np.bool_)
    served[ways.into[fine & risk[ways.of]]] = True
    served |= lowest * file.k <= gap  # records that are not at risk, written as one combination
    return np.asarray(room[ways.into] & np.where(risk[ways.of], fine, served[ways.into]))


def _parts(ways: _Ways, classes: int) -> list[NDArray[np.bool_]]:
    """Return the parts of a file that share no combination: masks of ways."""
    from scipy.sparse import coo_array  # noqa: PLC0415 -- most runs do without
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 -- most runs do without

    size = classes + int(ways.into.max(initial=-1)) + 1
    links = coo_array((np.ones(len(ways.of)), (ways.of, classes + ways.into)), shape=(size, size))
    part = connected_components(links, directed=False)[1][ways.of]
    return [part == at for at in np.unique(part)]


def _solved(ways: _Ways, count: NDArray[np.int64], k: int) -> OptimizeResult:
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 -- most runs do without
    from scipy.sparse import coo_array  # noqa: PLC0415 -- most runs do without

    classes, own = np.unique(ways.of, return_inverse=True)
    combinations, into = np.unique(ways.into, return_inverse=True)
    n, c, u = len(ways.of), len(combinations), len(classes)
    at, most = np.arange(n), count[ways.of]
    filled = coo_array(
        (np.concatenate([np.ones(n), np.full(c, -k)]), (np.concatenate([into, np.arange(c)]), np.arange(n + c))),
        shape=(c, n + c),
    )
    whole = coo_array((np.ones(n), (own, at)), shape=(u, n + c))
    there = coo_array((np.concatenate([np.ones(n), -most]), (np.tile(at, 2), np.concatenate([at, n + into]))))
    with silence():
        return milp(
            np.concatenate([ways.price, np.zeros(c)]),
            integrality=np.ones(n + c, dtype=np.int64),
            bounds=Bounds(0, np.concatenate([most, np.ones(c)])),
            constraints=[
                LinearConstraint(filled.tocsr(), 0, np.inf),
                LinearConstraint(whole.tocsr(), count[classes], count[classes]),
                LinearConstraint(there.tocsr(), -np.inf, 0),
            ],
            options={"node_limit": _NODES, "mip_rel_gap": _GAP, "presolve": False},
        )


def _spread(
    file: Suppressing, ways: _Ways, amounts: NDArray[np.int64], members: NDArray[np.intp], rows: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Give the ways of a class to its records, in their order; shape (records, m)."""
    order = np.argsort(members[rows], kind="stable")
    sequence = np.argsort(ways.of, kind="stable")
    pattern = np.repeat(ways.pattern[sequence], amounts[sequence])
    cells = np.zeros((len(rows), file.codes.shape[1]), dtype=np.bool_)
    cells[order] = np.where((pattern >= 0)[:, np.newaxis], file.patterns[pattern], False)
    return cells
