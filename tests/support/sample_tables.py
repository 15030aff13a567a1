"""The household sample as a table, for tests of formats."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from masktron.sources.formats import open_source
from masktron.sources.tables.names import column_name
from masktron.sources.tables.table import Table
from masktron.sources.variables import Variable
from paths import SAMPLES


def household(xml: Path = SAMPLES / "household.xml") -> Table:
    """Read the sample from XML, with whole numbers as such, and all else as text."""
    records = open_source(xml).records()
    cells, variables = {}, []
    for name, column in records.columns.items():
        texts = [None if text is None else str(text) for text in column.lexemes.tolist()]
        cells[name] = pa.array(texts, type=pa.string())
        variables.append(Variable(name, column_name(name)))
    return Table(tuple(variables), pa.table(cells))
