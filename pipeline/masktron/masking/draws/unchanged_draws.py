"""Records for which a method drew the values that they had."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import Floats
from masktron.kernels.elementary import decimal_magnitudes
from masktron.masking.draws.drawing import Drawing
from masktron.masking.file_values import FileValues
from masktron.masking.masked import MaskedBlock
from masktron.settle.grid import LONG, TIED_DIGITS
from masktron.sources.records import Column

type _Flags = NDArray[np.bool_]


def to_replace(drawing: Drawing) -> _Flags:
    """Which values are drawn: all that a record has, or those that the method marked; shape (n, variables)."""
    marked = drawing.draw(0).marked
    return drawing.known if marked is None else drawing.known & marked


def unchanged_draws(file: FileValues, drawing: Drawing, masked: Sequence[MaskedBlock], prototype: str) -> _Flags:
    """Tell which records got, in every block, a draw that rounds to the values that they had.

    Parameters
    ----------
    file : FileValues
    drawing : Drawing
    masked : sequence of MaskedBlock
        Of its variables, in their order.
    prototype : str
        Exit of records whose values are not drawn, but those of a group.

    Returns
    -------
    ndarray of bool, shape (n,)
        A record counts where each block of which a value of it is to be replaced takes a draw, and one of the draws
        that were made has its own values in the place of all that is to be replaced there; also where nothing is.
    """
    wanted = to_replace(drawing)
    found = np.ones(file.n, dtype=np.bool_)
    same = [_same(file, drawing, drawn.values) | ~wanted for drawn in drawing.made]
    for one in masked:
        columns = drawing.columns(one.block)
        drawn = np.logical_or.reduce([cells[:, columns].all(axis=1) for cells in same])
        found &= (drawn & ~one.settled.left_by(prototype)) | ~wanted[:, columns].any(axis=1)
    return found


def _same(file: FileValues, drawing: Drawing, drawn: Floats) -> _Flags:
    """Which drawn values are those of the original once they are rounded as `settle` rounds; shape (n, variables)."""
    same = np.zeros(drawn.shape, dtype=np.bool_)
    for at, name in enumerate(drawing.variables):
        own = drawing.values[:, at]
        if name in file.numeric:
            same[:, at] = np.abs(drawn[:, at] - own) <= _half_step(file.columns[name], own)
        else:
            holders = file.holders((name,), drawn[:, [at]], np.zeros((file.n, 1), dtype=np.intp))
            same[:, at] = own[holders[:, 0]] == own
    return same


def _half_step(column: Column, own: Floats) -> Floats:
    """Half the distance of neighbouring numbers of a field around its values, with room for rounding errors."""
    places = np.full(len(own), float(-column.decimals))
    if column.decimals > LONG:
        magnitude = decimal_magnitudes(np.maximum(np.abs(own), np.finfo(np.float64).tiny))
        places = (magnitude + 1 - TIED_DIGITS).astype(np.float64)
    half: Floats = np.power(10.0, places) / 2 + 4 * np.spacing(np.abs(own))
    return half
