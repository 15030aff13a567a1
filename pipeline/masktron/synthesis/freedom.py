"""Degrees of freedom: what groups need so that residuals with given moments are not the original ones."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from masktron.errors import InfeasibleError
from masktron.synthesis.moments import SPARE
from masktron.synthesis.regression import Regression


def needed(rank: NDArray[np.intp], *, strict: bool = False) -> NDArray[np.intp]:
    """Return the degrees of freedom, records less the rank of [1, Y], that residuals of some rank need.

    Exactness needs as many as the rank (strict: twice that, since draws are orthogonal to the original residuals).
    With no more, a single variable gets its original residuals or their mirror image (strict: one vector or its
    mirror image), so there have to be `SPARE` beyond the rank. Where all is constant none are needed.
    """
    least = np.maximum(2 * rank, rank + SPARE) if strict else rank + SPARE
    return np.asarray(np.where(rank > 0, least, 0))


def lacking(regression: Regression, *, strict: bool = False) -> NDArray[np.bool_]:
    """Tell which groups lack degrees of freedom, or would return a variable as it is; shape (g,)."""
    short = regression.freedom < needed(regression.rank, strict=strict)
    return np.asarray(short | regression.unchanged.any(axis=1))


def require_freedom(regression: Regression, name: str, *, strict: bool = False) -> None:
    """Refuse a group with too few degrees of freedom.

    Parameters
    ----------
    regression : Regression
        Of one group.
    name : str
        Of the method, for the message.
    strict : bool

    Raises
    ------
    InfeasibleError
    """
    rank, freedom = regression.rank[0], regression.freedom[0]
    least = needed(regression.rank, strict=strict)[0]
    _, n, columns = regression.basis.shape
    if freedom < least:
        what = f"{name}, for {rank} linearly independent variables beside {columns - 1} kept ones,"
        raise InfeasibleError.of("too-few-records", what=what, least=int(n + least - freedom), records=n)


def require_change(regression: Regression, name: str) -> None:
    """Refuse a group that would return a variable as it is, with the parameters of `require_freedom`.

    Raises
    ------
    InfeasibleError
    """
    unchanged = np.flatnonzero(regression.unchanged[0])
    if unchanged.size:
        refuse_original(name, int(unchanged[0]), regression.basis.shape[1], "kept variables")


def refuse_original(method: str, variable: int, records: int, others: str) -> NoReturn:
    """Refuse to return a variable, counted from 0, as it is, where others determine it.

    Raises
    ------
    InfeasibleError
    """
    raise InfeasibleError.of(
        "would-return-original", method=method, variable=variable + 1, records=records, others=others
    )
