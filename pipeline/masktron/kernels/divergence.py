"""Jensen-Shannon divergence of classes within groups from the classes of the file, logarithms to base 2."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def jsd(counts: NDArray[np.integer], shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the divergence of each group's classes from the shares of the classes in the file.

    With ``f`` the shares of a group, ``F`` those of the file and ``M = (f + F) / 2``:
    ``JSD = (sum f log(f / M) + sum F log(F / M)) / 2``, and ``0 log 0 = 0``.

    Parameters
    ----------
    counts : ndarray of int, shape (g, c)
        Records of each class in each group; no group is empty.
    shares : ndarray of float64, shape (c,)
        Of the classes in the file; they add up to 1.

    Returns
    -------
    ndarray of float64, shape (g,)
        0 where a group has the shares of the file, 1 where they have no class in common.

    Notes
    -----
    Source: class-restricted clustering (2013), definition 2, equation (5); Lin (1991).
    """
    of_group = counts / counts.sum(axis=1, keepdims=True)
    middle = (of_group + shares) / 2
    terms = (_x_log_x(of_group) + _x_log_x(shares)) / 2 - _x_log_x(middle)
    return np.clip(terms.sum(axis=1), 0.0, 1.0)


def wjsd(counts: NDArray[np.integer], shares: NDArray[np.float64]) -> float:
    """Average `jsd` over the parts of a group, each weighted by its records.

    Notes
    -----
    Lemma 1 of the source: it is never less than the divergence of the parts put together. Definition 4, equation (7);
    the 0.323 that is printed there for its example has a Kullback-Leibler divergence in place of one JSD: the value
    is 0.280.
    """
    sizes = counts.sum(axis=1)
    return float(sizes @ jsd(counts, shares) / sizes.sum())


def _x_log_x(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return x * np.log2(np.where(x > 0, x, 1.0))
