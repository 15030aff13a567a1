"""Fields of a nested file by level, by the names that settings have for them: not those of wide records."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config
from masktron.jobs.lowering.wide_settings import named_as_fields
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.sources.joined.joined_source import JoinedSource
from masktron.sources.level_tree import Tree
from masktron.sources.source import Source
from masktron.sources.variable_settings import with_variables
from masktron.sources.variables import Variable


@dataclass(frozen=True, slots=True, eq=False)
class HeldField:
    """A field of a nested file.

    Attributes
    ----------
    level : str
        Name of the records that have it, such as ``Person``.
    column : Column
        Its n values, one for each record of the level.
    lines : ndarray of int64, shape (n,)
        Where these records begin.
    """

    level: str
    column: Column
    lines: NDArray[np.int64]


def fields_by_level(dataset: Dataset) -> dict[str, HeldField]:
    """Return the fields of all levels by their names, ``Income`` or ``Person/Age``."""
    found = {}
    for name, (path, own) in dataset.tree.names.items():
        records = dataset.levels[path]
        if own.name in records.columns:
            level = dataset.tree.level(path).name
            found[name] = HeldField(level, records.columns[own.name], records.lines)
    return found


def variables_by_level(source: Source, tree: Tree) -> tuple[Variable, ...]:
    """Return what tables say of their columns, by the names of fields; a file in XML says nothing of them."""
    if not isinstance(source, JoinedSource):
        return ()
    known = source.level_variables
    return tuple(
        replace(known[path, own.name], name=name)
        for name, (path, own) in tree.names.items()
        if (path, own.name) in known
    )


def completed_by_level(config: Config, source: Source, tree: Tree) -> tuple[Config, tuple[str, ...]]:
    """Return settings with one name for each field, and with what tables declare; and what came from them.

    Raises
    ------
    UsageError
        A field has two roles by two of its names.
    """
    config = named_as_fields(config, tree, str(source.path))
    variables = variables_by_level(source, tree)
    return with_variables(config, variables) if variables else (config, ())


def levels_of_file(source: Source) -> tuple[str, ...]:
    """Return the levels of a file by their names and those above, ``Household/Person``; of a flat one, one."""
    if source.tree is None:
        return (source.layout.record_tag.rpartition("}")[2],)
    return tuple(source.tree.shown(path) for path, _ in source.tree.levels())
