"""Fields of all levels of a file, by the names that settings have for them: not those of wide records."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config
from masktron.jobs.described import completed
from masktron.jobs.lowering.wide_settings import named_as_fields
from masktron.sources.column import Column
from masktron.sources.dataset import Dataset
from masktron.sources.joined.joined_source import JoinedSource
from masktron.sources.source import Source
from masktron.sources.variable_settings import with_variables
from masktron.sources.variables import Variable


@dataclass(frozen=True, slots=True, eq=False)
class HeldField:
    """A field of a file.

    Attributes
    ----------
    level : str
        Name of the records that have it, such as ``Person``; empty where the file is flat.
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
    if len(dataset.levels) == 1:
        return {name: HeldField("", column, dataset.lines) for name, column in dataset.columns.items()}
    found = {}
    for name, (path, own) in dataset.tree.names.items():
        records = dataset.levels[path]
        if own.name in records.columns:
            level = dataset.tree.level(path).name
            found[name] = HeldField(level, records.columns[own.name], records.lines)
    return found


def variables_by_level(source: Source) -> tuple[Variable, ...]:
    """Return what a file says of its fields, by their names; a nested one in XML says nothing of them."""
    if source.tree is None:
        return source.variables
    if not isinstance(source, JoinedSource):
        return ()
    known = source.level_variables
    return tuple(
        replace(known[path, own.name], name=name)
        for name, (path, own) in source.tree.names.items()
        if (path, own.name) in known
    )


def completed_by_level(config: Config, source: Source) -> tuple[Config, tuple[str, ...]]:
    """Return settings with one name for each field, and with what the file declares; and what came from it.

    Raises
    ------
    UsageError
        A field has two roles by two of its names.
    """
    if source.tree is None:
        return completed(config, source)
    config = named_as_fields(config, source.tree, str(source.path))
    variables = variables_by_level(source)
    return with_variables(config, variables) if variables else (config, ())


def levels_of_file(source: Source) -> tuple[str, ...]:
    """Return the levels of a file by their names and those above, ``Household/Person``; of a flat one, one."""
    if source.tree is None:
        return (source.layout.record_tag.rpartition("}")[2],)
    return tuple(source.tree.shown(path) for path, _ in source.tree.levels())
