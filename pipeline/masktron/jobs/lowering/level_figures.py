"""Figures of a masked nested file level by level: of households, and of the persons in them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from masktron.config import Role
from masktron.kernels.cores import usable_cores
from masktron.measures.achieved_k import achieved_k
from masktron.measures.assessed import Assessed, ReadRecords, numbers_of
from masktron.measures.figures import measure
from masktron.measures.keys.key_file import KeyFile
from masktron.measures.linkage_within import linkage_within
from masktron.results.figure import FigureResult, MaskedLevel
from masktron.sources.column import Column
from masktron.sources.level_tree import LevelPath
from masktron.sources.record_layout import Field
from masktron.sources.variables import Variable
from masktron.sources.wide.wide_record import UnitField, UnitPlace
from masktron.sources.wide.wide_source import WideSource

UTILITY = ("unchanged", "information_loss", "total_change", "category_change", "correlation_change")
"""Figures of the fields of a level."""
_OF_KEYS = ("key_k", "key_uniques", "global_risk")
"""Figures of the quasi-identifiers of members, with those of the records around them."""

type Columns = Mapping[str, Column]


@dataclass(frozen=True, eq=False)
class NestedColumns:
    """The columns of a nested file's units, with what its fields are.

    Attributes
    ----------
    source : WideSource
        The original, or the masked file where nothing else is at hand.
    units : ndarray of intp, shape (n,)
        Which of its units are meant, in the order of the columns.
    roles : mapping of str to Role
        Of the fields of wide records.
    numeric : frozenset of str
        Those of them that are masked as numbers.
    weights : mapping of tuple of str to str
        By level, the field of its own that is its weight.
    """

    source: WideSource
    units: NDArray[np.intp]
    roles: Mapping[str, Role]
    numeric: frozenset[str]
    weights: Mapping[LevelPath, str]

    @cached_property
    def compositions(self) -> NDArray[np.intp]:
        """Code of the composition of each unit, shape (n,)."""
        there = np.stack([rows[self.units] >= 0 for rows in self.source.members.rows.values()], axis=1)
        return np.unique(there, axis=0, return_inverse=True)[1].astype(np.intp).ravel()

    def places(self, path: LevelPath) -> list[tuple[UnitPlace, NDArray[np.intp]]]:
        """Return the places of a level's records, each with the units that have a record there."""
        return [
            (place, np.flatnonzero(self.source.members.rows[place.name][self.units] >= 0))
            for place in self.source.wide.places
            if place.level_path == path
        ]

    def fields(self, path: LevelPath, *roles: Role) -> list[Field]:
        """Return the fields of a level that have one of some roles."""
        level, leaves = self.source.levels.level(path), self.source.wide.by_field()
        return [
            own
            for own in level.fields
            if any(self.roles.get(leaf.name) in roles for leaf in leaves.get((path, own), ()))
        ]

    def is_number(self, path: LevelPath, own: Field) -> bool:
        """Whether a field is masked as a number wherever it is masked."""
        leaves = self.source.wide.by_field().get((path, own), ())
        masked = [leaf.name for leaf in leaves if self.roles.get(leaf.name) is Role.CONFIDENTIAL]
        return bool(masked) and self.numeric.issuperset(masked)

    def column(self, columns: Columns, path: LevelPath, above: LevelPath, own: Field) -> Column:
        """Return a field as the records of a level have it: their own, or that of the record around them.

        Parameters
        ----------
        columns : mapping of str to Column
            Of wide fields, n cells each.
        path, above : tuple of str
            Of the level, and of that whose field it is.
        own : Field
        """
        lexemes: list[NDArray[np.object_]] = []
        missing: frozenset[str] = frozenset()
        for place, units in self.places(path):
            leaf = _leaf(place, above, own)
            column = None if leaf is None else columns.get(leaf.name)
            if column is None:  # no unit has it in this place
                lexemes.append(np.full(len(units), None, dtype=np.object_))
                continue
            lexemes.append(column.lexemes[units])
            missing |= column.known.missing
        return Column.of_cells(Variable.named(own.name), np.concatenate(lexemes).tolist(), missing)

    def chain(self, path: LevelPath) -> Iterator[LevelPath]:
        """Yield the path of a level and those of the levels around it, from the unit on."""
        for depth in range(len(path) + 1):
            yield path[:depth]

    def known(self, columns: Columns, path: LevelPath, *roles: Role) -> dict[str, Column]:
        """Return the fields of some roles of a level and of those around it, by names of the tree."""
        names = self.source.levels.name_of
        return {
            names[above, own]: self.column(columns, path, above, own)
            for above in self.chain(path)
            for own in self.fields(above, *roles)
        }

    def weight(self, path: LevelPath) -> tuple[LevelPath, str] | None:
        """Return the weight of a level: its own, or that of the nearest level around it."""
        found = [(above, self.weights[above]) for above in self.chain(path) if above in self.weights]
        return found[-1] if found else None

    def weights_of(self, columns: Columns, path: LevelPath) -> NDArray[np.float64] | None:
        """Return the weight of each record of a level; None where there is none, or it is no positive number."""
        values = self.any_weights(columns, path)
        return values if values is not None and bool((values > 0).all()) else None

    def any_weights(self, columns: Columns, path: LevelPath) -> NDArray[np.float64] | None:
        """Return the weight of each record of a level, whatever it is; None where there is none."""
        found = self.weight(path)
        if found is None:
            return None
        above, name = found
        own = self.source.levels.level(above).field(name)
        return None if own is None else self.column(columns, path, above, own).values


def alike_by_level(nested: NestedColumns, columns: Columns) -> tuple[MaskedLevel, ...]:
    """Count for each level how many records are alike in all that is masked, their own fields and those around them.

    Parameters
    ----------
    nested : NestedColumns
    columns : mapping of str to Column
        Of wide fields, as they are written.
    """
    return tuple(
        _described(nested, path, len(values), (_alike(nested, columns, path, values),))
        for path, values in _masked(nested, columns)
    )


def figures_by_level(
    nested: NestedColumns | None,
    before: Columns,
    after: Columns,
    workers: int | None = None,
    *,
    read: ReadRecords | None = None,
) -> tuple[MaskedLevel, ...]:
    """Return what masking cost and what risk is left, level by level.

    An intruder knows the composition of each household, and looks among households of the same one.

    Parameters
    ----------
    nested : NestedColumns or None
        Of a file without levels, None: there are no figures of any.
    before, after : mapping of str to Column
        Of wide fields, row i of both of the same unit; those that are not masked in `before`, at least.
    workers : int, optional
        Threads; no figure depends on them.
    read : ReadRecords, optional
        All units of the original, with which totals and categories are compared; those of `before` by default.
    """
    if nested is None:
        return ()
    found = []
    everything = None if read is None else replace(nested, units=np.arange(len(read.weights)))
    names = nested.source.levels.name_of
    weighted_by = {(above, own.name): name for (above, own), name in names.items()}
    for path, values in _masked(nested, after):
        figures = [_alike(nested, after, path, values)]
        numbers = frozenset(
            names[above, own]
            for above in nested.chain(path)
            for own in nested.fields(above, Role.CONFIDENTIAL)
            if nested.is_number(above, own)
        )
        earlier = nested.known(before, path, Role.CONFIDENTIAL)
        own = [names[path, field] for field in nested.fields(path, Role.CONFIDENTIAL)]
        weights = nested.weights_of(before, path)
        figures += _linked(
            nested, path, (before, after), (earlier, values.columns), numbers, workers or usable_cores()
        )
        if own:
            pair = _assessed(earlier, values.columns, own, numbers, weights)
            if everything is not None and read is not None:
                pair = replace(pair, read=_read(everything, read.columns, path, weighted=weights is not None))
            figures += map(FigureResult.of, measure(UTILITY, pair))
        figures += _of_keys(nested, before, path, weights)
        there = [one for one in figures if not math.isnan(one.value)]
        weight = nested.weight(path) if weights is not None else None
        found.append(_described(nested, path, len(values), there, "" if weight is None else weighted_by[weight]))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Masked:
    """The masked fields of a level's records and of what is around them."""

    columns: dict[str, Column]
    codes: NDArray[np.intp]
    """Of the composition of the unit and the place in it."""

    def __len__(self) -> int:
        return len(self.codes)


def _masked(nested: NestedColumns, columns: Columns) -> Iterator[tuple[LevelPath, _Masked]]:
    root = nested.source.record_level
    for path, _ in nested.source.levels.levels():
        if path[: len(root)] != root:
            continue
        places = nested.places(path)
        codes = [nested.compositions[units] * len(places) + at for at, (_, units) in enumerate(places)]
        if sum(map(len, codes)):
            yield path, _Masked(nested.known(columns, path, Role.CONFIDENTIAL), np.concatenate(codes))


def _alike(nested: NestedColumns, columns: Columns, path: LevelPath, values: _Masked) -> FigureResult:
    """Count records that are alike: of units, in all that is masked in them, with units of the same composition."""
    if path == nested.source.record_level:
        written = [
            column.numbered() for name, column in columns.items() if nested.roles.get(name) is Role.CONFIDENTIAL
        ]
        least = achieved_k([nested.compositions.astype(np.int64), *written])
    else:
        least = (
            achieved_k([column.numbered() for column in values.columns.values()]) if values.columns else len(values)
        )
    return FigureResult.of(measure(["whole_record_k"], _known({"whole_record_k": float(least)}))[0])


def _linked(
    nested: NestedColumns,
    path: LevelPath,
    wide: tuple[Columns, Columns],
    own: tuple[Columns, Columns],
    numbers: frozenset[str],
    workers: int,
) -> list[FigureResult]:
    """Link the records of a level among those of units of the same composition."""
    if path == nested.source.record_level:
        names = [name for name in wide[1] if name in nested.numeric and nested.roles.get(name) is Role.CONFIDENTIAL]
        pair, classes = wide, nested.compositions
    else:
        names, pair = [name for name in own[1] if name in numbers], own
        classes = np.concatenate([nested.compositions[units] for _, units in nested.places(path)])
    if not names:
        return []
    share = linkage_within(numbers_of(pair[0], names), numbers_of(pair[1], names), classes, workers=workers)
    return [FigureResult.of(measure(["linkage"], _known({"linkage": share}))[0])]


def _of_keys(
    nested: NestedColumns, columns: Columns, path: LevelPath, weights: NDArray[np.float64] | None
) -> Iterator[FigureResult]:
    """Say what members tell by their quasi-identifiers and those around them; of units, the file's figures do."""
    keys = nested.known(columns, path, Role.QUASI_IDENTIFIER)
    if path == nested.source.record_level or not keys:
        return
    codes = {name: column.numbered(held=True) for name, column in keys.items()}
    files = replace(_known({}), keys=KeyFile(tuple(codes), codes, stated=True, weights=weights))
    yield from map(FigureResult.of, measure(_OF_KEYS, files))


def _assessed(
    before: Columns, after: Columns, own: list[str], numbers: frozenset[str], weights: NDArray[np.float64] | None
) -> Assessed:
    return Assessed(
        original={name: before[name] for name in own},
        masked={name: after[name] for name in own},
        numeric=tuple(name for name in own if name in numbers),
        codes={name: after[name].numbered() for name in own},
        weights=weights,
    )


def _read(nested: NestedColumns, columns: Columns, path: LevelPath, *, weighted: bool) -> ReadRecords:
    """All records of a level, those of units that were left out among them."""
    records = sum(len(units) for _, units in nested.places(path))
    weights = nested.any_weights(columns, path) if weighted else None
    return ReadRecords.of(nested.known(columns, path, Role.CONFIDENTIAL), records, weights)


def _known(figures: Mapping[str, float]) -> Assessed:
    return Assessed({}, {}, (), {}, known=figures)


def _leaf(place: UnitPlace, above: LevelPath, own: Field) -> UnitField | None:
    """Return a field of a place, or of the record around it of another level."""
    at: UnitPlace | None = place
    while at is not None and at.level_path != above:
        at = at.parent
    return None if at is None else next((leaf for leaf in at.leaves if leaf.field == own), None)


def _described(
    nested: NestedColumns, path: LevelPath, records: int, figures: Iterable[FigureResult], weight: str = ""
) -> MaskedLevel:
    return MaskedLevel(nested.source.levels.shown(path), records, weight, tuple(figures))
