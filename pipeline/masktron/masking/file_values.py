"""The records to mask, column by column: as numbers, as rules see them, as texts, and as points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from operator import attrgetter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from masktron.aggregators.median import Median
from masktron.aggregators.mode import Mode
from masktron.arrays import FloatColumns, Floats
from masktron.config import Role
from masktron.grouping.members import codes_of_columns
from masktron.kernels.mdav import TREE_FROM
from masktron.kernels.standardise import Standard
from masktron.large_arrays import kept
from masktron.partitions.column_kinds import NOMINAL, NUMBER, ORDINAL, Kinds
from masktron.partitions.encode import encode_nominal
from masktron.partitions.mdav import require_finite
from masktron.plan import Plan
from masktron.roles import ranks
from masktron.settle.grid import Grid, grid_of, scales
from masktron.sources.column import Column, OnDemand, Status
from masktron.sources.dataset import Dataset
from masktron.sources.record_layout import Layout


@dataclass(frozen=True, slots=True)
class FieldScale:
    """The scale of a masked field.

    Attributes
    ----------
    standard : Standard
        Of its numbers or ranks.
    measured_in : float
        What distances are measured in, in settle.
    deviation : float
        Standard deviation of its numbers, with divisor n; 0 where there are none.
    free, tied : Grid or None
        What it can hold where it stands in no equality, and where it does; None for categories.
    """

    standard: Standard
    measured_in: float
    deviation: float
    free: Grid | None
    tied: Grid | None

    def grid(self, *, tied: bool) -> Grid:
        """Return the grid of a field of numbers."""
        found = self.tied if tied else self.free
        if found is None:
            raise TypeError("categories have no grid")
        return found


type FileScales = Mapping[str, FieldScale]
"""Of masked fields, by name."""


@dataclass(frozen=True, slots=True, eq=False)
class FileValues:
    """The records to mask, in the forms in which grouping and settling need them.

    Attributes
    ----------
    source : Path
        The file of the records, for messages.
    layout : Layout
    columns : mapping of field name to Column
    n : int
        Number of records.
    numeric : frozenset of str
        Fields that are masked as numbers; the others hold categories.
    ranks : mapping of field name to ndarray of float64, shape (n,)
        Of the masked fields with ordered categories; NaN where missing.
    masked : frozenset of str
        Fields that are masked.
    written : tuple of str
        Fields that are written as they are, but keys and weights.
    categories : frozenset of str
        Those of them that are declared as categories.
    codes : mapping of field name to frozenset of Fraction
        Numbers that mean 'missing'.
    weights : ndarray of float64, shape (n,), or None
    scales : mapping of field name to FieldScale, or None
        Those of the file, where the records are a part of it.
    """

    source: Path
    layout: Layout
    columns: Mapping[str, Column]
    n: int
    numeric: frozenset[str]
    ranks: FloatColumns
    masked: frozenset[str]
    written: tuple[str, ...]
    categories: frozenset[str]
    codes: Mapping[str, frozenset[Fraction]]
    weights: Floats | None
    scales: FileScales | None = None
    _known_places: dict[str, Floats] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def of(cls, records: Dataset, plan: Plan) -> FileValues:
        """Read the columns of some records as the roles of a plan ask."""
        columns = records.columns
        weight = plan.by_role(Role.WEIGHT)
        return cls(
            source=records.path,
            layout=records.layout,
            columns=columns,
            n=len(records),
            numeric=frozenset(fact.name for fact in plan.fields if fact.numeric),
            ranks={
                fact.name: kept(ranks(columns[fact.name], fact.order))
                for fact in plan.fields
                if fact.order is not None and fact.role is Role.CONFIDENTIAL
            },
            masked=frozenset(plan.by_role(Role.CONFIDENTIAL)),
            written=tuple(fact.name for fact in plan.fields if fact.role in (Role.UNTOUCHED, Role.QUASI_IDENTIFIER)),
            categories=frozenset(fact.name for fact in plan.fields if fact.declared_category),
            codes={fact.name: fact.code_numbers for fact in plan.fields},
            weights=kept(columns[weight[0]].values) if weight else None,
        )

    @property
    def values(self) -> FloatColumns:
        """Numbers by field name, shape (n,); NaN where missing."""
        return OnDemand(self.columns, attrgetter("values"))

    @property
    def seen(self) -> FloatColumns:
        """The same as rules read them: a missing code that is a number counts as that number."""
        return OnDemand(self.columns, Column.as_read)

    @property
    def texts(self) -> Mapping[str, NDArray[np.object_]]:
        """Lexemes by field name, shape (n,); None where absent."""
        return OnDemand.lexemes(self.columns)

    def part(self, records: NDArray[np.intp], fields: frozenset[str] | None = None) -> FileValues:
        """Return some of the records, in the scales of all.

        Parameters
        ----------
        records : ndarray of intp, shape (m,)
            Positions, ascending.
        fields : frozenset of str, optional
            Those that are needed; all by default.
        """
        names = [name for name in self.columns if fields is None or name in fields]
        columns = {name: self.columns[name].apart(records) for name in names}
        return replace(
            self,
            columns=columns,
            n=len(records),
            ranks={name: own[records] for name, own in self.ranks.items() if name in columns},
            weights=None if self.weights is None else self.weights[records],
            scales=self.found_scales(),
        )

    def found_scales(self) -> FileScales:
        """Return the scales of all masked fields."""
        if self.scales is not None:
            return self.scales
        return {name: self._scale(name) for name in sorted(self.masked)}

    def _scale(self, name: str) -> FieldScale:
        number = name in self.numeric
        return FieldScale(
            standard=self.standard(name),
            measured_in=self.measured_in(name),
            deviation=self.deviation(name),
            free=self.grid(name, tied=False) if number else None,
            tied=self.grid(name, tied=True) if number else None,
        )

    def standard(self, name: str) -> Standard:
        """Return the zero and the unit of a field of numbers or ranks as coordinates; of what `ordered` returns."""
        if self.scales is not None:
            return self.scales[name].standard
        own = self.ordered(name)
        require_finite(own[:, None])
        return Standard.of(own)

    def measured_in(self, name: str) -> float:
        """Return what distances of a field are measured in, in settle."""
        return float(scales(self.ordered(name)[:, None])[0]) if self.scales is None else self.scales[name].measured_in

    def deviation(self, name: str) -> float:
        """Return the standard deviation of the numbers of a field, with divisor n; 0 where there are none."""
        if self.scales is not None:
            return self.scales[name].deviation
        own = self.values[name]
        return 0.0 if np.isnan(own).all() else float(np.nanstd(own))

    def grid(self, name: str, *, tied: bool) -> Grid:
        """Return the numbers that a field can hold; `tied` where it stands in an equality."""
        if self.scales is not None:
            return self.scales[name].grid(tied=tied)
        return grid_of(self.columns[name], tied=tied)

    def values_of(self, name: str, records: NDArray[np.intp]) -> Floats:
        """Return the numbers of some records; NaN where missing."""
        column = self.columns[name]
        return column.numbers[column.codes[records]]

    def squares(self, name: str) -> float:
        """Return the sum of squares of the coordinates of a field, over the records that have a value."""
        if name in self.numeric or name in self.ranks:
            return float(np.nansum(np.square(self.standard(name).places(self.ordered(name)))))
        return 0.5 * self.n if len(self.columns[name].texts()) > 1 else 0.0

    def points(self, variables: Sequence[str]) -> NDArray[np.float64]:
        """Return coordinates, shape (n, d): numbers and ranks standardised, NaN where missing; categories one-hot."""
        return np.concatenate([self._places(name) for name in variables], axis=1)

    def kinds(self, variables: Sequence[str]) -> Kinds:
        """Return what the columns of `points` are."""
        kinds = (NUMBER if name in self.numeric else ORDINAL if name in self.ranks else NOMINAL for name in variables)
        widths = (self._places(name).shape[1] for name in variables)
        return Kinds(tuple(kinds), tuple(widths))

    def _places(self, name: str) -> NDArray[np.float64]:
        """Return the coordinates of a field; kept for few records, where they take time and no memory to speak of."""
        if name in self._known_places:
            return self._known_places[name]
        places = self._placed(name)
        if self.n < TREE_FROM:
            self._known_places[name] = places
        return places

    def _placed(self, name: str) -> NDArray[np.float64]:
        if name in self.numeric or name in self.ranks:
            return self.standard(name).places(self.ordered(name))[:, None]
        return encode_nominal(self._texts_or_empty(name), name)

    def _texts_or_empty(self, name: str) -> NDArray[np.object_]:
        distinct, codes = self.columns[name].ranked()
        return np.array([text or "" for text in distinct.objects()], dtype=np.object_)[codes]

    def patterns(self, variables: Sequence[str]) -> NDArray[np.intp]:
        """Number the patterns of missing values, shape (n,): the rows of `missing`, one column at a time."""
        return codes_of_columns((_missing(self.columns[name]) for name in variables), self.n)

    def missing(self, variables: Sequence[str]) -> NDArray[np.intp]:
        """Code what is missing and how, shape (n, p): 0 for values; missing codes differ by their lexeme."""
        return np.stack([_missing(self.columns[name]) for name in variables], axis=1)

    def without_codes(self, name: str, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers of a field with NaN in the place of those that mean 'missing'."""
        codes = self.codes.get(name, frozenset())
        return np.where(np.isin(numbers, [float(code) for code in codes]), np.nan, numbers) if codes else numbers

    def coded(self, variables: Sequence[str]) -> NDArray[np.float64]:
        """Numbers, ranks of ordered categories and codes of others; NaN where missing. Shape (n, p)."""
        return np.stack([self.ordered(name) for name in variables], axis=1)

    def ordered(self, name: str) -> NDArray[np.float64]:
        """Numbers or ranks of a field, or categories by the order of their texts; NaN where missing. Shape (n,)."""
        if name in self.numeric:
            return self.values[name]
        if name in self.ranks:
            return self.ranks[name]
        return np.where(self.columns[name].present, self.columns[name].ranked()[1].astype(np.float64), np.nan)

    def tells_alike(self, name: str) -> bool:
        """Tell whether an unmasked field says what records have in common.

        One value does not, nor do texts or whole numbers that are others in each record: these name records.
        """
        column = self.columns[name]
        count = len(column.texts())
        if count < self.n:
            return count > 1
        return name in self.numeric and bool((self.values[name] != np.rint(self.values[name])).any())

    def in_categories(self, name: str, few: int) -> bool:
        """Tell whether an unmasked field of numbers is one of categories: declared so, or of few whole numbers."""
        numbers = self.values[name]
        there = np.unique(numbers[~np.isnan(numbers)])
        return name in self.categories or (len(there) <= few and bool((there == np.rint(there)).all()))

    def ordered_of(self, name: str, records: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return what `ordered` does of a field of numbers or ranks, for some records."""
        return self.values_of(name, records) if name in self.numeric else self.ranks[name][records]

    def middles(
        self,
        variables: Sequence[str],
        coded: NDArray[np.float64],
        labels: NDArray[np.intp],
        records: NDArray[np.intp] | None = None,
    ) -> NDArray[np.intp]:
        """Records with the middle value of each group: the mode of nominal fields, else the median.

        Parameters
        ----------
        variables : sequence of str
        coded : ndarray of float64, shape (n, p)
            What `coded` returns of them.
        labels : ndarray of intp, shape (n,)
        records : ndarray of intp, shape (n,), optional
            Which these are; by default all.

        Returns
        -------
        ndarray of intp, shape (groups, p)
            Positions among the given records.

        Notes
        -----
        Theorem: they keep every atom on one variable that all records of the group satisfy. Proof: each value is the
        cell of a record, which satisfies the atom, and what else the atom reads is constant in the group.
        """
        nominal = np.array([name not in self.numeric and name not in self.ranks for name in variables])
        weights = self.weights if self.weights is None or records is None else self.weights[records]
        chosen = Median().choose(coded, labels, weights)
        chosen[:, nominal] = Mode().choose(coded[:, nominal], labels, weights)
        return chosen

    def holders(
        self, variables: Sequence[str], coded: NDArray[np.float64], others: NDArray[np.intp]
    ) -> NDArray[np.intp]:
        """Return records that hold categories given as `coded` numbers them, shape (m, p); `others` for numbers.

        Ranks are rounded to the nearest that some record has, halves down.
        """
        found = others.copy()
        for position, name in enumerate(variables):
            if name in self.numeric:
                continue
            known, first = np.unique(self.ordered(name), return_index=True)
            first = first[~np.isnan(known)]
            known = known[~np.isnan(known)]
            given = ~np.isnan(coded[:, position])
            at = np.searchsorted((known[1:] + known[:-1]) / 2, coded[given, position])
            found[given, position] = first[at]
        return found


def _missing(column: Column) -> NDArray[np.intp]:
    codes = column.status.astype(np.intp)
    coded = column.status == Status.CODE
    if coded.any():
        codes[coded] = int(Status.CODE) + column.taken(coded).ranked()[1]
    return codes
