"""What treatments of keys lose: how much less is known of the values of keys from the file as it is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.errors import UsageError


def key_loss(original: Sequence[NDArray[np.integer[Any]]], written: Sequence[NDArray[np.integer[Any]]]) -> float:
    """Compute what is lost of keys, in per cent of what suppression of all their cells loses.

    A cell with value v that is written as l loses ``log(n(l) / n(v, l))``: n(l) records are written so, n(v, l) of
    them with this value before. A cell that is left out loses ``log(n / n(v))``, where n(v) of the n records with a
    value have this one. The sum over all cells of all keys is divided by the sum for a file without any. Where all
    records of a value are written alike, as recoding does, n(v, l) is n(v).

    Parameters
    ----------
    original, written : sequence of ndarray of int, shape (n,) each
        Keys before and after, in the same order, row i of both of the same respondent. Codes from 0; -1 where
        missing. What was missing before loses nothing.

    Returns
    -------
    float
        From 0 to 100; 0 where no key has two values.

    Raises
    ------
    UsageError
        The numbers of keys differ.

    Notes
    -----
    Source: de Waal and Willenborg (1999), Information loss through global recoding and local suppression, and for
    values that are drawn as well; Gionis and Tassa (2009), k-anonymization with minimal loss of information,
    non-uniform entropy, which this is where classes list their values.
    """
    if len(original) != len(written):
        shapes = (f"{len(original)} keys before", f"{len(written)} keys after")
        raise UsageError.of("arrays-differ", shapes=shapes)
    lost = most = 0.0
    for before, after in zip(original, written, strict=True):
        there = before >= 0
        counts = np.bincount(before[there])
        rarity = np.log(max(1, int(there.sum()))) - np.log(np.maximum(counts, 1))
        most += float((counts * rarity).sum())
        lost += float(rarity[before[there & (after < 0)]].sum())
        lost += _of_written(before[there & (after >= 0)], after[there & (after >= 0)])
    return 100 * lost / most if most else 0.0


def _of_written(before: NDArray[np.integer[Any]], after: NDArray[np.integer[Any]]) -> float:
    """Return the loss of the cells that are written, shape (m,) both."""
    if not len(before):
        return 0.0
    pairs, times = np.unique(np.stack([after, before]), axis=1, return_counts=True)
    labels = np.bincount(after)
    return float((times * (np.log(labels[pairs[0]]) - np.log(times))).sum())
