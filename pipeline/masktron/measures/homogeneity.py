"""Class homogeneity: records whose group gives their class away."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.measures.base import require_classes


def homogeneity(groups: NDArray[np.integer[Any]], classes: NDArray[np.integer[Any]]) -> float:
    """Compute the share of records in groups all of whose records have one class.

    A record whose class is missing tells nothing and is left out: the others of its group may still be of one class.
    A group with a single record that has a class is homogeneous. Groups without any class count nothing.

    Parameters
    ----------
    groups : ndarray of int, shape (n,)
        Groups of records that are released alike, or masked together, from 0.
    classes : ndarray of int, shape (n,)
        Codes of a confidential categorical variable, from 0; -1 where missing.

    Returns
    -------
    float
        Per cent of the records that have a class; 0 without any. 100 where all records are of one class. Groups that
        are split never have a smaller share.

    Raises
    ------
    UsageError
        The shapes differ, or a code is below 0 (classes: below -1).

    Notes
    -----
    Source: class-restricted clustering (2013), sections 1 and 7; Machanavajjhala et al. (2006), l-diversity, the
    homogeneity attack.
    """
    require_classes(groups, classes)
    held = classes >= 0
    _, group = np.unique(groups[held], return_inverse=True)
    known = classes[held]
    if not known.size:
        return 0.0
    # whichever record of a group is written last: all others have to be of its class
    sample = np.empty(group.max() + 1, dtype=known.dtype)
    sample[group] = known
    mixed = np.zeros(len(sample), dtype=np.bool_)
    mixed[group[known != sample[group]]] = True
    return 100.0 * int((~mixed[group]).sum()) / len(known)
