"""The columns of a masked file that is not written: what reading it back would give."""

from __future__ import annotations

import pyarrow as pa

from masktron.jobs.prepared import Prepared
from masktron.masking import Masked
from masktron.sources.records import Column
from masktron.sources.tables.columns_of_cells import column_of


def unwritten_columns(run: Prepared, made: Masked) -> dict[str, Column]:
    """Return the masked fields as they would be read from the written file, in the order of the original.

    Parameters
    ----------
    run : Prepared
    made : Masked
        Of the same records.

    Returns
    -------
    dict of str to Column
        In the order of the original, shape (n,) each; fields without a value among them.
    """
    codes = {fact.name: frozenset(fact.codes) for fact in run.plan.fields}
    found: dict[str, Column] = {}
    for masked in made.blocks:
        labels = masked.grouping.labels
        for position, name in enumerate(masked.block.variables):
            own = position in masked.settled.own
            lexemes = masked.lexemes(position) if own else masked.settled.texts(position)
            before = run.kept.columns[name]
            cells = pa.chunked_array([pa.array(lexemes, pa.string())])
            column = column_of(before.field, cells, codes[name], before.typed)
            found[name] = column if own else column.taken(labels)
    return {name: found[name] for name in run.kept.columns if name in found}
