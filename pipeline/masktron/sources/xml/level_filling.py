"""The tables of a large nested file from its batches of units."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from masktron.progress import Told, untold
from masktron.sources.level_tables import LevelTable, LevelTables
from masktron.sources.level_tree import TOP, LevelPath, Tree
from masktron.sources.missing_codes import codes_of_field
from masktron.sources.xml.level_blocks import NestedFile
from masktron.sources.xml.microdata import cell_of
from masktron.sources.xml.nested_units import iter_units
from masktron.sources.xml.table import TableFilling


def fill_levels(
    path: Path,
    tree: Tree,
    nested: NestedFile,
    codes: Mapping[tuple[LevelPath, str], frozenset[str]],
    told: Told = untold,
) -> LevelTables | None:
    """Read a nested file into tables; None where the scanner leaves a unit or a cell to a parser.

    Parameters
    ----------
    path : Path
    tree, nested
        From `masktron.sources.xml.nested_units.survey_nested`.
    codes : mapping of (LevelPath, str) to frozenset of str
        Missing codes of every field, by its level and its own name.
    told : callable, optional
        Told of the units read, and of how many there are.

    Raises
    ------
    DocumentError
        The file cannot be read, or changed since it was surveyed.
    """
    paths = [at for at, _ in tree.levels()]
    if {at for at, _ in nested.names} != {*paths}:
        return None  # some levels stand in units alone that a parser has to see
    fillings = {at: _filling(path, tree, at, codes) for at in paths}
    parents: dict[LevelPath, list[NDArray[np.intp]]] = {at: [] for at in paths}
    rows = dict.fromkeys(paths, 0)
    with closing(iter_units(path, tree, nested)) as batches:
        for batch in batches:
            if batch.odd.any() or not all(fillings[at].add(batch.table(at)) for at in paths):
                return None
            for at in paths:
                above = batch.first if at == TOP else rows[at[:-1]]
                parents[at].append((batch.levels[at].parent + above).astype(np.intp))
            for at in paths:
                rows[at] += len(batch.levels[at])
            told(rows[TOP], nested.units)
    tables = {
        at: LevelTable(tree.level(at), fillings.pop(at).records(), np.concatenate([np.zeros(0, dtype=np.intp), *own]))
        for at, own in parents.items()
    }
    return LevelTables(path, tree, MappingProxyType(tables))


def _filling(
    path: Path, tree: Tree, at: LevelPath, codes: Mapping[tuple[LevelPath, str], frozenset[str]]
) -> TableFilling:
    layout = tree.layout_of(at)
    own = {field.name: codes_of_field(codes[at, field.name]) for field in layout.fields}
    return TableFilling(path, layout, own, cell_of)
