"""Small files of which values are drawn anew, with what rules admit in them, for the law and for who verifies it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.treatments.pram import PramLaw

type Judge = Callable[[Sequence[NDArray[np.intp]]], NDArray[np.bool_]]


def rows_of(law: PramLaw) -> NDArray[np.float64]:
    """Probability of each combination for each record; a record without a value has none."""
    found = np.zeros((len(law.value), len(law.domain)))
    for record, (group, value) in enumerate(zip(law.group.tolist(), law.value.tolist(), strict=True)):
        if group >= 0:
            one = law.groups[group]
            found[record, one.values] = one.matrix[one.values.tolist().index(value)]
    return found


def made_up(seed: int) -> dict[str, Any]:
    """A small file with values that the rules admit or not, weights, strata and missing values."""
    rng = np.random.default_rng(seed)
    n, c, fields = int(rng.integers(2, 40)), int(rng.integers(2, 5)), int(rng.integers(1, 3))
    columns = [rng.integers(-1 if seed % 3 == 0 else 0, c, n) for _ in range(fields)]
    other = rng.integers(0, 3, n)
    rule = rng.random((3, *(c,) * fields)) < 0.8  # which combinations go with each value of a field that stays
    rule[(other, *columns)] = True

    def admissible(proposed: Sequence[NDArray[np.intp]]) -> NDArray[np.bool_]:
        missing = np.logical_or.reduce([one < 0 for one in proposed])
        found: NDArray[np.bool_] = rule[(other, *proposed)] | missing
        return found

    return {
        "columns": columns,
        "admissible": admissible,
        "weights": rng.choice([0.5, 1.0, 7.25], n) if seed % 2 else None,
        "strata": rng.integers(0, 2, n) if seed % 5 == 0 else None,
    }


def group_of(
    columns: Sequence[NDArray[np.intp]],
    admissible: Judge | None = None,
    strata: NDArray[np.intp] | None = None,
    **_: Any,
) -> NDArray[np.intp]:
    """Number the records of a stratum to which the same combinations of the file are admitted."""
    table = np.stack(columns, axis=1)
    known = (table >= 0).all(axis=1)
    admitted = [np.zeros(len(table), dtype=np.intp) if strata is None else strata]
    for one in np.unique(table[known], axis=0) if admissible else ():
        proposed = [np.where(known, value, column) for value, column in zip(one, columns, strict=True)]
        admitted.append(admissible(proposed).astype(np.intp) if admissible else admitted[0])
    return np.unique(np.stack(admitted, axis=1), axis=0, return_inverse=True)[1]
