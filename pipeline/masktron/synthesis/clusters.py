"""Clusters that are too small to be drawn alone, joined with near ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def joined(points: NDArray[np.float64], labels: NDArray[np.intp], least: int) -> tuple[NDArray[np.intp], int]:
    """Join every cluster of fewer than `least` records with the one whose mean is nearest, the smallest first.

    Parameters
    ----------
    points : ndarray of float64, shape (n, d)
        Coordinates in which Euclidean distance is meant; n of at least `least`.
    labels : ndarray of intp, shape (n,)
        Clusters, 0 to g - 1.
    least : int

    Returns
    -------
    labels : ndarray of intp, shape (n,)
        Without gaps from 0.
    joins : int
        Clusters that were too small, some of them made of others.
    """
    labels = labels.copy()
    joins = 0
    while True:
        present, places = np.unique(labels, return_inverse=True)
        sizes = np.bincount(places)
        smallest = int(sizes.argmin())
        if sizes[smallest] >= least or len(present) == 1:
            return places.astype(np.intp), joins
        means = np.stack([points[places == place].mean(axis=0) for place in range(len(present))])
        apart = np.square(means - means[smallest]).sum(axis=1)
        apart[smallest] = np.inf
        labels[places == smallest] = present[apart.argmin()]
        joins += 1
