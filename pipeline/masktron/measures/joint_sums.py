"""Which values the sums of several partitions determine together, by sparse linear algebra."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

_RIDGE = 1e-9
"""What is added to the diagonal, so that sums which follow from others can be factored, too."""
_REFINED = 2
"""Times that a solution is improved, after which the ridge does not show in it."""
_NOTHING = 1e-6
"""Size of a coefficient up to which it is 0."""
_AT_A_TIME = 128
"""Values that are solved in one go."""

type _Numbers = NDArray[np.float64]


def determined_by_sums(
    groups: Sequence[NDArray[np.intp]], error: _Numbers, tolerance: _Numbers, solved: NDArray[np.bool_]
) -> Iterator[tuple[NDArray[np.intp], _Numbers, _Numbers]]:
    """Yield the values that all sums determine together.

    Let A have a row for each sum, which is 1 for the values in it and 0 else. Sums determine value j if and only if
    its unit vector is a combination of rows, A'y = e_j. The shortest such y solves AA'y = a_j, where a_j is column j
    of A; so j is determined if and only if this y fulfils A'y = e_j. The value is then the sum of y_r times sum r. It
    is off by the sum of y_r times the error of r, and by at most that of abs(y_r) times its tolerance.

    One vector shows which values are worth that. A random vector less its part in the row space of A is a random
    solution of Ax = 0. It is 0 in the determined values and, with probability 1, in no others.

    Parameters
    ----------
    groups : sequence of ndarray of intp, shape (n,) each
        By partition: the number of the sum, over all partitions, that a value is in; negative for none.
    error, tolerance : ndarray of float64, shape (m,)
        By sum: the true one less the published one, and the most by which the two differ.
    solved : ndarray of bool, shape (n,)
        Values that are not asked for.

    Yields
    ------
    values : ndarray of intp, shape (d,)
    low, high : ndarray of float64, shape (d,)
        The least and the largest number that each may be, less itself. Other combinations of the sums may tell more:
        the intervals are not the narrowest ones.
    """
    from scipy.sparse import coo_array, eye_array  # noqa: PLC0415 -- most runs do without
    from scipy.sparse.linalg import splu  # noqa: PLC0415 -- most runs do without

    sums, values = np.concatenate(groups), np.tile(np.arange(len(solved)), len(groups))
    inside = sums >= 0
    shape = (len(error), len(solved))
    rows = coo_array((np.ones(int(inside.sum())), (sums[inside], values[inside])), shape=shape).tocsr()
    if not rows.nnz:
        return
    columns, across = rows.tocsc(), rows.T.tocsr()
    square = (rows @ across + _RIDGE * eye_array(len(error))).tocsc()
    factors = splu(square, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})

    def shortest(right: _Numbers) -> _Numbers:
        found = factors.solve(right)
        for _ in range(_REFINED):
            found += factors.solve(right - rows @ (across @ found))
        return np.asarray(found)

    vector = np.random.default_rng(0).standard_normal(len(solved))
    rest = np.abs(vector - across @ shortest(rows @ vector))
    open_ = np.flatnonzero((rest <= _NOTHING) & ~solved)
    for some in np.split(open_, range(_AT_A_TIME, len(open_), _AT_A_TIME)):
        y = shortest(columns[:, some].toarray())
        unit = across @ y
        unit[some, np.arange(len(some))] -= 1.0
        there = np.abs(unit).max(axis=0, initial=0.0) <= _NOTHING
        off, most = y.T @ error, np.abs(y).T @ tolerance
        yield some[there], (-off - most)[there], (most - off)[there]
