"""Two files side by side, as the figures of `masktron.figures` need them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.constraints import Linear
from masktron.kernels.distinct import alike, codes_of
from masktron.measures.base import FieldPairs
from masktron.measures.category_shares import CategoryShares, category_shares
from masktron.measures.differencing import Differencing
from masktron.measures.eta_squared import EtaSquared, eta_squared
from masktron.measures.keys.key_file import KeyFile
from masktron.measures.weighted_totals import WeightedTotal, totals_of_fields
from masktron.sources.column import Column

MOST_CATEGORIES = 50
"""Different values that a field may have and still sort records into categories, up to which means are compared."""


class ColumnsOnDemand(Mapping[str, Column]):
    """Columns that are made when they are asked for, and their numbers alone, which is less."""

    @abstractmethod
    def numbers(self, name: str) -> NDArray[np.float64]:
        """Return the values of one column, shape (n,)."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadRecords:
    """All records of the original as they were read: those that were released, and those that were left out.

    Attributes
    ----------
    columns : mapping of str to Column
        With m cells each.
    weights : ndarray of float64, shape (m,)
        As the original has them: 1 where it has none, 0 where a weight is not a positive number.
    """

    columns: Mapping[str, Column]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, columns: Mapping[str, Column], records: int, weights: NDArray[np.float64] | None) -> ReadRecords:
        """Put records and their weights together; a record without a usable weight counts in no total."""
        return cls(columns, np.ones(records) if weights is None else np.where(weights > 0, weights, 0.0))

    def missing_weight(self, keep: NDArray[np.bool_]) -> float:
        """Return the share of the weight that is not in some of the records, per cent."""
        return 100.0 * math.fsum(self.weights[~keep]) / math.fsum(self.weights)


@dataclass(frozen=True, eq=False)
class Assessed:
    """An original and a masked file, field by field, and what is known of how one became the other.

    Attributes
    ----------
    original, masked : mapping of str to Column
        The compared fields: the same ones in the same order, row i of both of the same respondent,
        unless `paired` says otherwise.
    numeric : tuple of str
        Those that are compared as numbers; the others are categories.
    codes : mapping of str to ndarray of int32, each of shape (n,)
        The masked lexemes of each compared field, numbered by `masktron.kernels.distinct.codes_of`.
    weights : ndarray of float64, shape (n,), or None
        Survey weights, as the masked file has them.
    classes : ndarray of int32, shape (n,), or None
        The class of each record, numbered; -1 where it is missing.
    blocks : tuple of tuple of str
        Fields that were masked together; empty where nobody knows.
    solved : frozenset of str
        Fields that follow from others in each record, so that groups do not share them.
    known : mapping of str to float
        Figures that somebody else has counted.
    workers : int
        Threads that a measure may use; no figure depends on them.
    paired : bool
        Whether row i of both files is known to be of the same respondent.
    differenced : mapping of str to Differencing
        By field: what an earlier release tells together with this one; empty where there is none.
    known_exactly : ndarray of int64, shape (n,), or None
        Equal where records are alike in all fields that were not masked; None where there is none.
    rows : ndarray of intp, shape (n,), or None
        Which records of the original these are; None where nobody asks.
    everything : mapping of str to Column
        All fields of the original, in the same order; empty where nobody asks.
    unmasked : tuple of str
        Those of them that are released as they are here, but for the weight.
    keys : KeyFile or None
        What others may know of the masked file; None where nothing is.
    keys_before : callable
        Returns the same of the original, before anything was done to keys; made when it is asked for.
    weights_before : ndarray of float64, shape (n,), or None
        Survey weights of the original in the records that were released, where these are others: written in classes.
    read : ReadRecords or None
        All records of the original, whose totals and categories those of the masked file are compared with; None
        where those that are compared stand for them.
    relations : tuple of Linear
        Equalities and ``<=`` that the rules demand of every record.
    """

    original: Mapping[str, Column]
    masked: Mapping[str, Column]
    numeric: tuple[str, ...]
    codes: Mapping[str, NDArray[np.int32]]
    weights: NDArray[np.float64] | None = None
    classes: NDArray[np.int32] | None = None
    blocks: tuple[tuple[str, ...], ...] = ()
    solved: frozenset[str] = frozenset()
    known: Mapping[str, float] = MappingProxyType({})
    workers: int = 1
    paired: bool = True
    differenced: Mapping[str, Differencing] = MappingProxyType({})
    known_exactly: NDArray[np.int64] | None = None
    rows: NDArray[np.intp] | None = None
    everything: Mapping[str, Column] = MappingProxyType({})
    unmasked: tuple[str, ...] = ()
    keys: KeyFile | None = None
    keys_before: Callable[[], KeyFile | None] = lambda: None
    weights_before: NDArray[np.float64] | None = None
    read: ReadRecords | None = None
    relations: tuple[Linear, ...] = ()
    _found: dict[object, Any] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        columns: Mapping[str, Sized] = self.codes or self.everything
        return len(next(iter(columns.values())))

    @property
    def pairs(self) -> FieldPairs:
        """The numbers of both files, field by field, in the order of `numeric`, with the weights of each file."""
        before = self.weights if self.weights_before is None else self.weights_before
        weights = None if self.weights is None or before is None else (before, self.weights)
        return replace(pairs_of(self.original, self.masked, self.numeric), weights=weights)

    def pair(self, name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the numbers of one field before and after masking, shape (n,) each; NaN where missing."""
        return _numbers(self.original, name), _numbers(self.masked, name)

    @property
    def before(self) -> NDArray[np.float64]:
        """Numbers of the original, shape (n, p), one column after the other; NaN where missing.

        Made whenever it is asked for: of a large file, as much as all other measures take.
        """
        return numbers_of(self.original, self.numeric)

    @property
    def after(self) -> NDArray[np.float64]:
        """Numbers of the masked file, as `before`."""
        return numbers_of(self.masked, self.numeric)

    @property
    def categorical(self) -> tuple[str, ...]:
        """The compared fields that are no numbers."""
        return tuple(name for name in self.original if name not in self.numeric)

    @property
    def category_pairs(self) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
        """Categories of each field before and after masking, numbered alike, shape (n,) each; -1 where missing."""
        for name in self.categorical:
            both = codes_of(np.concatenate([self.original[name].held, self.masked[name].held]))
            yield both[: len(self)], both[len(self) :]

    @cached_property
    def totals(self) -> tuple[WeightedTotal, ...]:
        """Weighted totals of the numbers, in their order: before, of all records that were read."""
        if self.read is None:
            return totals_of_fields(self.pairs)
        columns = self.read.columns
        read = (_numbers(columns, name) for name in self.numeric)
        return totals_of_fields(self.pairs, read=read, weights_read=self.read.weights)

    @cached_property
    def categories(self) -> dict[str, CategoryShares]:
        """Weighted counts of the categories of each field that is no number; before, of all records read."""
        columns, earlier = (self.original, None) if self.read is None else (self.read.columns, self.read.weights)
        return {
            name: category_shares(columns[name].held, self.masked[name].held, self.weights, weights_before=earlier)
            for name in self.categorical
        }

    @cached_property
    def explained(self) -> dict[tuple[str, str], tuple[EtaSquared, EtaSquared]]:
        """By number and categorical field: how much of the number's variance the field explains, before and after."""
        pairs = self.pairs
        own, now = (None, None) if pairs.weights is None else pairs.weights
        found = {}
        for by in (*self.unmasked, *self.categorical):
            sides = (self.original[by], self.masked[by]) if by in self.original else (self.everything[by],)
            codes = [column.numbered(held=True) for column in sides]
            if not 1 <= codes[0].max(initial=-1) < MOST_CATEGORIES:
                continue
            for name, (before, after) in zip(self.numeric, pairs, strict=True):
                found[name, by] = eta_squared(before, codes[0], own), eta_squared(after, codes[-1], now)
        return found

    @cached_property
    def numeric_blocks(self) -> tuple[tuple[int, ...], ...]:
        """Columns of the numbers of each block that has any."""
        place = {name: at for at, name in enumerate(self.numeric)}
        blocks = (tuple(place[name] for name in block if name in place) for block in self.blocks)
        return tuple(block for block in blocks if block)

    @cached_property
    def groups(self) -> tuple[NDArray[np.intp], ...]:
        """For each block the group of each record, shape (n,): those alike in its fields, as the file shows them."""
        return tuple(
            alike((self.codes[name] for name in block if name not in self.solved), len(self))[0]
            for block in self.blocks
        )

    def once[T](self, measure: Callable[..., T], **options: object) -> T:
        """Return what a measure finds on the numbers; several figures may ask, it is computed once.

        Parameters
        ----------
        measure : callable
            Of two arrays of shape (n, p), original and masked. A function of a module, not one made on the spot: it
            is known again by itself.
        **options
            What else it takes; hashable.
        """
        return self._kept(measure, lambda: measure(self.before, self.after, **options), options)

    def by_field[T](self, measure: Callable[..., T], **options: object) -> T:
        """Return what a measure finds that takes the numbers field by field; as `once`."""
        return self._kept(measure, lambda: measure(self.pairs, **options), options)

    def _kept[T](self, measure: Callable[..., T], asked: Callable[[], T], options: Mapping[str, object]) -> T:
        key = measure, tuple(options.items())
        if key not in self._found:
            self._found[key] = asked()
        found: T = self._found[key]
        return found


def pairs_of(original: Mapping[str, Column], masked: Mapping[str, Column], names: Sequence[str]) -> FieldPairs:
    """Return the numbers of some fields, one field after the other."""

    def columns(at: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return _numbers(original, names[at]), _numbers(masked, names[at])

    return FieldPairs(columns, range(len(names)), len(_numbers(masked, names[0])) if names else 0)


def numbers_of(columns: Mapping[str, Column], names: Sequence[str]) -> NDArray[np.float64]:
    """Put the numbers of some fields side by side, by column as all measures take them; shape (n, p)."""
    records = next((len(_numbers(columns, name)) for name in columns), 0)
    values = np.empty((records, len(names)), order="F")
    for at, name in enumerate(names):
        values[:, at] = _numbers(columns, name)
    return values


def _numbers(columns: Mapping[str, Column], name: str) -> NDArray[np.float64]:
    return columns.numbers(name) if isinstance(columns, ColumnsOnDemand) else columns[name].values
