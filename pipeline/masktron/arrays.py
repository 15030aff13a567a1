"""Types of arrays that stand in many signatures, and a check of shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from masktron.errors import UsageError
from masktron.problems.problem import Place

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

type Floats = NDArray[np.float64]
"""Numbers, in whatever shape the docstring gives."""

type Labels = NDArray[np.intp]
"""The group of each record, as a number from 0."""

type Indices = NDArray[np.intp]
"""Places of records in an array or an order, from 0."""

type FloatColumns = Mapping[str, NDArray[np.float64]]
"""Numbers by field name, in columns of one length."""


def require_fitting(fitting: bool, **arrays: Any) -> None:
    """Refuse arrays that do not fit together, by their names and shapes.

    Raises
    ------
    UsageError
    """
    if not fitting:
        shapes = tuple(f"{name} of shape {one.shape}" for name, one in arrays.items())
        raise UsageError.of("arrays-differ", shapes=shapes)


def require_value(condition: object, name: str, expected: str, given: object) -> None:
    """Refuse an argument that is not what it must be.

    Raises
    ------
    UsageError
    """
    if not condition:
        raise UsageError.of("bad-value", name=name, expected=expected, given=given)


def require_arrays(condition: object, detail: str) -> None:
    """Refuse arrays that are not what they must be.

    Raises
    ------
    UsageError
    """
    if not condition:
        raise UsageError.of("bad-arrays", detail=detail)


def cell_place(record: int, column: int) -> Place:
    """Return the place of a value of an array, for an error: both count from 0."""
    return Place(f"column {column + 1}", record=int(record) + 1)
