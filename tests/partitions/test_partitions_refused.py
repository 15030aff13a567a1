"""Partitions and encodings refuse records, classes and shares that do not go together."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from masktron import estimators
from masktron.errors import InfeasibleError, UsageError
from masktron.methods.crest import CrestMethod
from masktron.methods.t_closeness import TClosenessMethod
from masktron.partitions.centroid import agglomerate
from masktron.partitions.column_kinds import Kinds
from masktron.partitions.crest import crest
from masktron.partitions.encode import encode_nominal
from masktron.partitions.generic import (
    partition_consensus,
    partition_generic,
    partition_imposed,
    partitions_by_kind,
)
from masktron.partitions.partitioner import Partitioner
from masktron.partitions.t_closeness import close_partition
from refusals import Refusal

NINE, TEN, CLASSES = np.zeros((9, 1)), np.arange(10.0)[:, None], np.zeros(10, np.intp)
MANY, HALVES = np.arange(10_000), np.array([0.5, 0.5])
OF_KINDS: Any = (partition_generic, partition_imposed, partition_consensus, partitions_by_kind)
REFUSED = [
    Refusal(UsageError, "arrays-differ", lambda: crest(TEN, 2, np.zeros(9, np.intp))),
    Refusal(UsageError, "bad-value", lambda: crest(TEN, 2, np.arange(10), shares=np.ones(9))),
    Refusal(UsageError, "bad-value", lambda: crest(TEN, 2, np.arange(10) - 1, shares=np.ones(10))),
    Refusal(UsageError, "bad-value", lambda: crest(TEN, 2, np.zeros((10, 2), np.intp), shares=np.ones(4))),
    *(
        Refusal(UsageError, "bad-value", partial(crest, TEN, 2, CLASSES, shares=np.array(shares)))
        for shares in ([-1.0, 2.0], [np.nan], [0.0])
    ),
    Refusal(UsageError, "too-many-categories", lambda: crest(MANY[:, None] * 1.0, 2, MANY), categories=10_000),
    Refusal(UsageError, "needs-setting", lambda: CrestMethod().partition(NINE), name="crest"),
    Refusal(UsageError, "needs-setting", lambda: TClosenessMethod().partition(NINE), name="t_closeness"),
    Refusal(UsageError, "y-missing", lambda: estimators.TCloseness().fit(NINE)),
    Refusal(UsageError, "bad-value", lambda: close_partition(NINE, 2, 0.5, np.arange(9) % 3, HALVES), name="shares"),
    Refusal(UsageError, "missing-values", lambda: encode_nominal(np.array(["a", None], object)), where="record 2"),
    Refusal(UsageError, "missing-values", lambda: encode_nominal(np.array(["a", np.nan], object)), where="record 2"),
    Refusal(UsageError, "too-many-categories", lambda: encode_nominal(MANY, "X"), field="X", categories=10_000),
    Refusal(UsageError, "bad-value", lambda: Partitioner(14)(np.zeros((100, 2)), 5), name="most", given=14),
    Refusal(InfeasibleError, "too-few-records", lambda: agglomerate(NINE, np.arange(9)), least=10),
    Refusal(InfeasibleError, "too-few-values", lambda: agglomerate(np.zeros((20, 1)), np.arange(20) % 2), least=3),
]


@pytest.mark.parametrize("row", REFUSED, ids=str)
def test_what_is_refused(row: Refusal) -> None:
    row.check()


@pytest.mark.parametrize("split", OF_KINDS)
@pytest.mark.parametrize(
    "row",
    [
        Refusal(
            InfeasibleError,
            "too-few-records",
            lambda split: split(np.zeros((4, 2)), Kinds.numbers(2), 5),
            least=5,
            records=4,
        ),
        Refusal(UsageError, "arrays-differ", lambda split: split(np.zeros((9, 2)), Kinds.numbers(3), 5)),
        Refusal(UsageError, "missing-values", lambda split: split(np.full((9, 1), np.nan), Kinds.numbers(1), 5)),
    ],
    ids=str,
)
def test_partitions_of_kinds(row: Refusal, split: Any) -> None:
    row.check(split)
