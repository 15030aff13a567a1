"""Types of arrays that stand in many signatures."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
