"""A nested original and its masked file level by level: the masked fields of households, and those of persons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from masktron.config import Config, Role
from masktron.jobs.lowering.level_figures import NestedColumns
from masktron.jobs.lowering.wide_settings import roles_by_name, weights_by_level
from masktron.kernels.distinct import alike
from masktron.measures.assessed import Assessed
from masktron.sources.level_tree import LevelPath
from masktron.sources.record_layout import Field
from masktron.sources.source import Source
from masktron.sources.wide.wide_source import WideSource
from masktron.write.manifest import DescribedRelease


@dataclass(frozen=True, slots=True, eq=False)
class LevelFile:
    """The masked fields of one level in both files, a row for each of its records.

    Attributes
    ----------
    level : str
        Names from the top level down, with ``/`` between them.
    files : Assessed
        Its own masked fields, by the names that settings have for them; n records.
    units : ndarray of intp, shape (n,)
        In which of the records that were masked each stands, such as the household of a person; from 0.
    partitions : mapping of str to tuple of (ndarray of intp, shape (n,))
        By field, who shares values: first all that a group of masked records has of it, whatever the position in
        these, then each position by itself.
    """

    level: str
    files: Assessed
    units: NDArray[np.intp]
    partitions: Mapping[str, tuple[NDArray[np.intp], NDArray[np.intp]]]


def nested_columns(
    original: Source, files: Assessed, described: DescribedRelease | None, config: Config | None = None
) -> NestedColumns | None:
    """Return the columns of a nested original; None of any other, or where nobody knows what belongs together.

    Parameters
    ----------
    original : Source
    files : Assessed
    described : DescribedRelease or None
        What a manifest says of roles and weights.
    config : Config, optional
        What settings say of them, where there is no manifest.
    """
    if not isinstance(original, WideSource) or files.rows is None or not files.paired:
        return None
    if described is not None:
        roles = {name: Role(role) for name, role in described.roles.items()}
        weights = described.nested.weights
    else:
        stated = {} if config is None else config.roles
        roles, weights = (
            roles_by_name(original, stated),
            weights_by_level(original.levels, stated, str(original.path)),
        )
    roles |= dict.fromkeys(files.original, Role.CONFIDENTIAL)
    return NestedColumns(original, files.rows, roles, frozenset(files.numeric), weights)


def level_files(nested: NestedColumns | None, files: Assessed, *, whole: bool) -> tuple[LevelFile, ...]:
    """Return both files level by level; levels without a masked field of their own are left out.

    Parameters
    ----------
    nested : NestedColumns or None
        Of the original; of one without levels, None.
    files : Assessed
        The records that were masked, with all their members; row i that of `nested`.
    whole : bool
        Whether one partition was made of all masked fields.
    """
    if nested is None:
        return ()
    together = groups_of_all(files) if whole else None
    names = nested.source.levels.name_of
    found = []
    root = nested.source.record_level
    for path, _ in nested.source.levels.levels():
        own = nested.fields(path, Role.CONFIDENTIAL) if path[: len(root)] == root else []
        places = nested.places(path)
        units = np.concatenate([units for _, units in places]) if places else np.zeros(0, dtype=np.intp)
        if not own or not len(units):
            continue
        before, after = (
            {names[path, field]: nested.column(side, path, path, field) for field in own}
            for side in (files.original, files.masked)
        )
        assessed = Assessed(
            original=before,
            masked=after,
            numeric=tuple(names[path, field] for field in own if nested.is_number(path, field)),
            codes={name: column.numbered() for name, column in after.items()},
            weights=nested.weights_of(files.everything, path),
            workers=files.workers,
        )
        shared = {names[path, field]: _partitions(nested, path, field, files, together) for field in own}
        found.append(LevelFile(nested.source.levels.shown(path), assessed, units.astype(np.intp), shared))
    return tuple(found)


def groups_of_all(files: Assessed) -> NDArray[np.intp]:
    """Return the groups of a partition of all masked fields, as the file shows them, shape (n,)."""
    names = (name for block in files.blocks for name in block if name not in files.solved)
    return alike((files.codes[name] for name in names), len(files))[0]


def groups_of_block(files: Assessed, name: str, together: NDArray[np.intp] | None = None) -> NDArray[np.intp] | None:
    """Return the groups that share their values of a field; None where each record has one of its own.

    Parameters
    ----------
    files : Assessed
    name : str
    together : ndarray of intp, shape (n,), optional
        Groups of all masked fields, where one partition was made of them.
    """
    for block, groups in zip(files.blocks, files.groups, strict=True):
        if name in block and name not in files.solved and len(np.unique(groups)) < len(groups):
            return groups if together is None else together
    return None


def _partitions(
    nested: NestedColumns, path: LevelPath, own: Field, files: Assessed, together: NDArray[np.intp] | None
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return who shares values of a field of a level, at any position and position by position."""
    coarse, fine = [], []
    records = len(files)
    for at, (units, shared, partition) in enumerate(_by_place(nested, path, own, files, together)):
        groups = units if shared is None else shared[units]
        coarse.append(partition * records + groups)
        fine.append(at * records + groups)
    return _numbered_anew(coarse), _numbered_anew(fine)


def _numbered_anew(parts: list[NDArray[np.intp]]) -> NDArray[np.intp]:
    return np.unique(np.concatenate(parts), return_inverse=True)[1].astype(np.intp)


def _by_place(
    nested: NestedColumns, path: LevelPath, own: Field, files: Assessed, together: NDArray[np.intp] | None
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp] | None, int]]:
    """Yield for each position its records, their groups, and the number of the partition that these are of."""
    blocks = {name: at for at, block in enumerate(files.blocks) for name in block}
    for place, units in nested.places(path):
        name = next((leaf.name for leaf in place.leaves if leaf.field == own), None)
        shared = None if name is None or name not in blocks else groups_of_block(files, name, together)
        if shared is None or name is None:
            yield units, None, len(files.blocks)
        else:
            yield units, shared, 0 if together is not None else blocks[name]
