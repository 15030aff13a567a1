"""Treatments refuse arguments that do not fit, and what they cannot draw."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from masktron.errors import DocumentError, InfeasibleError, UsageError
from masktron.treatments.allowing import Consequences
from masktron.treatments.pram import pram_law
from masktron.treatments.recoding_search import LOSSES, KeyDemands, search_recodings
from masktron.treatments.record_swapping import record_swaps
from masktron.treatments.roll_up import LeveledKey
from masktron.treatments.suppression import local_suppression
from masktron.treatments.suppression_check import kept
from masktron.treatments.suppressor import LocalSuppressor
from refusals import Refusal


def key(codes: list[int], *levels: list[int], importance: float = 1.0) -> LeveledKey:
    return LeveledKey("A", np.array(codes), tuple(np.array(one, dtype=np.int32) for one in levels), importance)


def searched(keys: list[LeveledKey], demands: KeyDemands) -> object:
    return search_recodings(keys, demands, LOSSES["entropy"]([KEY]))


def consequences(fields: int, importance: int, records: int = 3) -> object:
    keys, companions = np.zeros((records, 2), dtype=np.int32), np.ones((3, fields), dtype=bool)
    return Consequences(lambda rows, _: np.ones(len(rows), dtype=bool), keys, companions, [1.0] * importance, ORDER)


def suppressed(keys: tuple[Any, ...] = ([0, 1], [0, 1]), k: int = 2, **options: Any) -> object:
    return local_suppression([np.array(one) for one in keys], k, np.random.default_rng(0), **options)


def drawn(codes: Any = (0, 1, 1), **arguments: Any) -> object:
    return pram_law([np.array(codes)], **arguments)


def swapped(**arguments: Any) -> object:
    regions = [np.array([0, 0, 1, 1, 2, 2])]
    return record_swaps(regions, np.random.default_rng(0), **{"rate": 1.0, **arguments})


ORDER, KEY = np.arange(3), key([0, 1], [0, 1])
REFUSED = [
    Refusal(UsageError, "bad-arrays", lambda: consequences(2, 1)),
    Refusal(UsageError, "bad-arrays", lambda: consequences(1, 1, records=2)),
    Refusal(UsageError, "too-many-values", lambda: consequences(9, 9), number=9),
    Refusal(UsageError, "bad-arrays", lambda: key([0, 1, 2], [0, 0, 1], [0, 1, 1])),
    Refusal(UsageError, "bad-arrays", lambda: key([3], [0, 1, 2], [0, 0, 0])),
    Refusal(UsageError, "bad-arrays", lambda: key([0], [1])),
    Refusal(UsageError, "bad-value", lambda: key([0], [0], importance=0.0)),
    *(
        Refusal(UsageError, "bad-value", partial(KeyDemands, **how))
        for how in ({"k": 0}, {"k": 2, "diversity": {"A": 0}}, {"k": 2, "suppressed": -1}, {"k": 2, "mean_risk": 1.5})
    ),
    Refusal(UsageError, "bad-arrays", lambda: searched([], KeyDemands(2))),
    Refusal(UsageError, "bad-arrays", lambda: searched([KEY], KeyDemands(2, diversity={"A": 2}))),
    Refusal(UsageError, "arrays-differ", lambda: searched([KEY, key([0], [0])], KeyDemands(1))),
    Refusal(UsageError, "too-many-values", lambda: searched([key([0, 1], [0, 1], [0, 0])] * 23, KeyDemands(2))),
    Refusal(UsageError, "bad-arrays", lambda: kept([np.array([0, 1])], [np.array([0])], 2)),
    Refusal(UsageError, "bad-arrays", lambda: kept([], [], 2)),
    *(Refusal(UsageError, "bad-value", partial(suppressed, **how)) for how in ({"k": 1}, {"subsets": 0})),
    *(
        Refusal(UsageError, "bad-value", partial(suppressed, importance=importance))
        for importance in ([1.0], [1.0, 0.0], [1.0, np.inf])
    ),
    *(
        Refusal(UsageError, "bad-arrays", partial(suppressed, keys))
        for keys in ((), ([0, 1], [0]), ([0, -2], [0, 0]))
    ),
    Refusal(
        InfeasibleError,
        "too-few-records",
        lambda: LocalSuppressor(k=3).fit(np.array([["a"], ["b"]], dtype=object)),
        records=2,
        least=3,
    ),
    Refusal(UsageError, "bad-arrays", drawn),
    Refusal(UsageError, "bad-arrays", lambda: drawn(change=0.1, matrix=np.eye(2))),
    Refusal(UsageError, "bad-value", lambda: drawn(change=1.0)),
    Refusal(UsageError, "bad-value", lambda: drawn(change=0.1, minimum=1.0)),
    Refusal(UsageError, "pram-share-too-large", lambda: drawn(change=0.6)),
    Refusal(UsageError, "pram-share-too-large", lambda: drawn(change=0.3, minimum=0.9)),
    Refusal(UsageError, "bad-arrays", lambda: drawn(matrix=np.eye(1))),
    Refusal(UsageError, "bad-matrix", lambda: drawn(matrix=np.ones((2, 2)))),
    Refusal(UsageError, "bad-value", lambda: drawn(change=0.1, weights=np.array([1.0, 0, 1]))),
    Refusal(UsageError, "bad-arrays", lambda: drawn(change=0.1, strata=np.arange(2))),
    Refusal(UsageError, "bad-arrays", lambda: drawn(change=0.1, admissible=lambda _: np.ones(2, dtype=bool))),
    Refusal(UsageError, "bad-arrays", lambda: drawn([0.5], change=0.1)),
    Refusal(
        InfeasibleError,
        "own-value-refused",
        lambda: drawn(change=0.1, admissible=lambda codes: codes[0] == 0),
        where="record 2",
    ),
    Refusal(InfeasibleError, "too-many-values", lambda: drawn(np.arange(501), change=0.1), number=501),
    *(
        Refusal(UsageError, "bad-value", partial(swapped, **how))
        for how in ({"k": 1}, {"rate": 1.1}, {"required": 1}, {"least_regions": 0})
    ),
    Refusal(UsageError, "bad-arrays", lambda: swapped(keys=[np.zeros(5, dtype=int)])),
    Refusal(UsageError, "bad-value", lambda: swapped(weights=np.zeros(6))),
    Refusal(UsageError, "bad-arrays", lambda: swapped(households=np.zeros(6))),
    Refusal(
        DocumentError,
        "household-differs",
        lambda: swapped(households=np.array([0, 1, 2, 1, 3, 3])),
        where="record 4",
    ),
    Refusal(
        InfeasibleError,
        "own-value-refused",
        lambda: swapped(admissible=lambda proposed: proposed[0] < 2),
        where="record 5",
    ),
]


@pytest.mark.parametrize("row", REFUSED, ids=str)
def test_what_is_refused(row: Refusal) -> None:
    row.check()
