"""The Bayesian bootstrap: donors drawn with random weights, in many groups at once."""

from __future__ import annotations

import numpy as np

from masktron.arrays import Indices


def bayesian_bootstrap(donors: Indices, drawn: Indices, generator: np.random.Generator) -> Indices:
    """Draw a donor for everyone, from the donors of the same group.

    The donors of a group have weights from the flat Dirichlet distribution, drawn once: these are the gaps between
    sorted uniform numbers, and exponential numbers divided by their sum.

    Parameters
    ----------
    donors : ndarray of intp, shape (n,)
        Group of each donor, from 0.
    drawn : ndarray of intp, shape (q,)
        Group of each one that needs a donor; every such group has some.
    generator : numpy.random.Generator

    Returns
    -------
    ndarray of intp, shape (q,)
        Positions among the donors.

    Notes
    -----
    Source: Rubin (1981), The Bayesian bootstrap.
    """
    order = np.argsort(donors, kind="stable")
    sizes = np.bincount(donors)
    last = np.cumsum(sizes) - 1
    first = last - sizes + 1
    reached = np.concatenate([[0.0], np.cumsum(generator.standard_exponential(len(donors)))])
    low, high = reached[first[drawn]], reached[last[drawn] + 1]
    wanted = low + generator.random(len(drawn)) * (high - low)
    found = np.searchsorted(reached, wanted, side="right") - 1
    chosen: Indices = order[np.clip(found, first[drawn], last[drawn])]
    return chosen
