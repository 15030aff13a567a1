"""MDAV-generic: MDAV for numbers, ordered categories and categories without an order, together or kind by kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self, override

import numpy as np

from masktron.arrays import Floats, Labels
from masktron.errors import InfeasibleError
from masktron.methods.base import Drawn, Partitioning, RecordContext, require_records
from masktron.methods.parameters import columns_at, parameter, require_positions
from masktron.partitions.column_kinds import KINDS, NOMINAL, NUMBER, ORDINAL, Kinds
from masktron.partitions.encode import encode_nominal, encode_ordinal
from masktron.partitions.generic import (
    partition_consensus,
    partition_generic,
    partition_imposed,
    partitions_by_kind,
    varying_kinds,
)
from masktron.partitions.mdav import standardise

type Mixed = Literal["together", "per_type", "imposed", "consensus"]


class MdavGenericMethod(Partitioning):
    """MDAV with the average and the distance of each type of attribute.

    Parameters
    ----------
    k : int
        Smallest number of records in a group, at least 2.
    mixed : {"together", "per_type", "imposed", "consensus"}
        What is done with several types: one distance that adds up theirs; a partition for each type; the partition
        by one type for all; one partition on which those by each type agree.
    imposing : {"number", "ordinal", "nominal"}, optional
        The type whose partition is imposed; the first of these in which records differ where it is not given or
        tells no records apart.
    nominal, ordinal : sequence of int
        Columns of an array that hold codes of categories, without an order and in the order of the codes; the others
        are numbers. In a file, fields are declared so.

    Notes
    -----
    Source: Domingo-Ferrer and Gonzalez-Nicolas (2010), sections 2.2 and 3.2; Domingo-Ferrer and Torra (2005). With
    numbers alone it is MDAV, also for a single one.
    """

    name: ClassVar[str] = "mdav_generic"
    title: ClassVar[str] = "MDAV-generic for ordinal, nominal and mixed data"
    says: ClassVar[str] = (
        "MDAV from the mean of numbers, the median of ordered categories and the mode of the others, whose distances "
        "are squared differences, of ranks too, and 0 or 1."
    )
    when: ClassVar[str] = "Categories are masked beside numbers, or the partition is to follow one type of attribute."
    source: ClassVar[str] = (
        "Domingo-Ferrer and Gonzalez-Nicolas 2010, sections 2.2 and 3.2; Domingo-Ferrer and Torra 2005"
    )
    preserves: ClassVar[tuple[str, ...]] = (
        "means of numbers, where the aggregate is the mean",
        "the values of categories: medians and modes are values of the group",
    )

    mixed: Mixed = parameter("What is done with several types of attributes.", default="together")
    imposing: str | None = parameter(
        "The type whose partition is imposed; the first that tells records apart when not given.",
        default=None,
        choices=KINDS,
    )
    nominal: Sequence[int] = parameter(
        "Columns with codes of categories; in a file, declare the fields nominal.", default=()
    )
    ordinal: Sequence[int] = parameter(
        "Columns with codes in their order; in a file, declare the fields ordinal.", default=()
    )

    @override
    def check(self) -> Self:
        super().check()
        require_positions(self.nominal)
        require_positions(self.ordinal, "ordinal")
        if both := sorted(set(self.nominal).intersection(self.ordinal)):
            raise self.parameters["ordinal"].error(both, "columns that are not nominal")
        return self

    @override
    def _partition(self, points: Floats, context: RecordContext) -> Labels:
        """Partition points by MDAV-generic; see `Partitioning.partition`.

        Raises
        ------
        InfeasibleError
            A partition for each type is asked for, and records differ in several types.
        """
        kinds, k = context.kinds, int(self.k)
        match self.mixed:
            case "imposed":
                return partition_imposed(points, kinds, k, self.imposing)
            case "consensus":
                return partition_consensus(points, kinds, k)
            case "per_type" if len(varying := varying_kinds(points, kinds)) > 1:
                raise InfeasibleError.of("kinds-masked-together", method=self.name, kinds=tuple(varying))
            case _:
                return partition_generic(points, kinds, k)

    @override
    def _mask(self, values: Floats, generator: np.random.Generator, context: RecordContext) -> Drawn:
        """Replace the records of each group by means of numbers, lower medians of orders and modes of the others."""
        require_records(len(values), self.least(values.shape[1]), self.name)
        kind_of = self._kinds(context.kinds)
        points, kinds = _encoded(values, kind_of)
        if self.mixed != "per_type":
            labels = self.partition(points, kinds=kinds)
            return Drawn(_aggregated(values, kind_of, dict.fromkeys(KINDS, labels)), labels)
        by_kind = partitions_by_kind(points, kinds, int(self.k))
        only = next(iter(by_kind.values())) if len(by_kind) == 1 else None
        return Drawn(_aggregated(values, kind_of, by_kind), only)

    def _kinds(self, declared: Kinds) -> list[str]:
        """Return the kind of each column."""
        nominal = columns_at(self.nominal, declared.columns, NOMINAL)
        ordinal = columns_at(self.ordinal, declared.columns, ORDINAL)
        kinds = zip(declared.kinds, nominal, ordinal, strict=True)
        return [NOMINAL if first else ORDINAL if second else kind for kind, first, second in kinds]


def _encoded(values: Floats, kind_of: Sequence[str]) -> tuple[Floats, Kinds]:
    """Return the coordinates of records, and what their columns are."""
    parts = []
    for column, kind in zip(values.T, kind_of, strict=True):
        if kind == NUMBER:
            parts.append(standardise(column[:, None]))
        elif kind == ORDINAL:
            parts.append(encode_ordinal(np.unique(column, return_inverse=True)[1].astype(np.float64)))
        else:
            parts.append(encode_nominal(column))
    return np.concatenate(parts, axis=1), Kinds(tuple(kind_of), tuple(part.shape[1] for part in parts))


def _aggregated(values: Floats, kind_of: Sequence[str], labels: dict[str, Labels]) -> Floats:
    from masktron.aggregators.mean import Mean  # noqa: PLC0415 -- `masktron methods` needs no rules
    from masktron.aggregators.median import Median  # noqa: PLC0415
    from masktron.aggregators.mode import Mode  # noqa: PLC0415

    masked = np.empty_like(values)
    for kind, aggregator in ((NUMBER, Mean()), (ORDINAL, Median()), (NOMINAL, Mode())):
        own = np.array([one == kind for one in kind_of], dtype=np.bool_)
        if own.any():
            masked[:, own] = aggregator.aggregate(values[:, own], labels[kind])[labels[kind]]
    return masked
