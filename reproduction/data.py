"""The reference files as columns: Census with the variables of the edit paper, and EIA."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

type Values = NDArray[np.float64]

PAPER_ORDER = (
    "AFNLWGT", "AGI", "EMCONTRB", "ERNVAL", "FEDTAX", "FICA", "INTVAL", "PEARNVAL", "POTHVAL", "PTOTVAL",
    "STATETAX", "TAXINC", "WSALVAL",
)  # fmt: skip
"""V1 to V13 of the edit paper."""
MEASURED = len(PAPER_ORDER)
"""Variables on which the scenarios are measured; V14 to V16 are functions of these."""


def census(folder: Path) -> Values:
    """Return the Census file with its 13 variables in the order of the file, shape (1080, 13)."""
    return _values(pd.read_csv(folder / "census.csv"))


def census_of_the_paper(folder: Path) -> Values:
    """Return V1 to V16 of the edit paper, with V14 = V9 + V10, V15 = 1 / V11 and V16 = V5 * V15, shape (1080, 16)."""
    values = _values(pd.read_csv(folder / "census.csv")[list(PAPER_ORDER)])
    total = column(values, 9) + column(values, 10)
    inverse = 1 / column(values, 11)
    return np.column_stack([values, total, inverse, column(values, 5) * inverse])


def eia(folder: Path) -> Values:
    """Return UTILITYID and the ten amounts of the EIA file, shape (4092, 11)."""
    table = pd.read_csv(folder / "eia.csv")
    amounts = [name for name in table.columns if name.endswith(("REVENUE", "SALES"))]
    return _values(table[["UTILITYID", *amounts]])


def column(values: Values, variable: int) -> Values:
    """Return the column of a variable by its number in the paper, from 1."""
    return np.asarray(values[:, variable - 1])


def columns(variables: Sequence[int]) -> list[int]:
    """Return the positions of variables by their numbers in the paper, from 1."""
    return [variable - 1 for variable in variables]


def _values(table: pd.DataFrame) -> Values:
    return table.to_numpy(dtype=np.float64)
