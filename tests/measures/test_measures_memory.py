"""Measures of single fields have the columns of one field in memory, and linkage the points of one file."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from masktron.kernels.linkage import compile_links
from masktron.measures.base import FieldPairs
from masktron.measures.classes import biases, biases_of_fields
from masktron.measures.correlation_change import correlation_change, correlation_change_of_fields
from masktron.measures.il1s import il1s, il1s_of_fields
from masktron.measures.information_loss import information_loss, loss_of_fields
from masktron.measures.interval_disclosure import by_deviation, by_ranks, deviations_of_fields, ranks_of_fields
from masktron.measures.linkage import linkage, linkage_of_fields
from masktron.measures.linkage_variants import second, second_of_fields
from masktron.measures.pil import pil, pil_of_fields
from masktron.measures.subdomains import subdomains, subdomains_of_fields
from masktron.measures.true_cells import true_cells, true_cells_of_fields
from masktron.measures.weighted_totals import totals_of_fields, weighted_totals

RECORDS, FIELDS = 20_000, 24
COLUMN = 8 * RECORDS


def columns(at: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Columns as a file gives them: made whenever they are asked for."""
    rng = np.random.default_rng(at)
    before = rng.integers(0, 500, size=RECORDS).astype(np.float64)
    before[rng.random(RECORDS) < 0.01] = np.nan
    return before, before + rng.integers(-9, 10, size=RECORDS)


PAIRS = FieldPairs(columns, range(FIELDS), RECORDS)


def peak(asked: Callable[[], object]) -> float:
    """Memory that is allocated at a time, in columns."""
    tracemalloc.start()
    try:
        asked()
        return tracemalloc.get_traced_memory()[1] / COLUMN
    finally:
        tracemalloc.stop()


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("by_field", "of_arrays"),
    [
        (loss_of_fields, information_loss),
        (il1s_of_fields, il1s),
        (totals_of_fields, weighted_totals),
        (true_cells_of_fields, true_cells),
        (ranks_of_fields, by_ranks),
        (deviations_of_fields, by_deviation),
    ],
)
def test_one_field_at_a_time(by_field: Callable[..., object], of_arrays: Callable[..., object]) -> None:
    found = by_field(PAIRS)
    original, masked = (np.stack([pair[side] for pair in PAIRS], axis=1) for side in (0, 1))
    assert repr(found) == repr(of_arrays(original, masked))
    assert peak(lambda: by_field(PAIRS)) < FIELDS


@pytest.mark.parametrize(
    ("by_field", "of_arrays", "files"),
    [
        (biases_of_fields, biases, 2),
        (correlation_change_of_fields, correlation_change, 1),
    ],
)
def test_what_is_standardised_is_in_memory_once(
    by_field: Callable[..., object], of_arrays: Callable[..., object], files: int
) -> None:
    few = PAIRS.of(range(4))
    original, masked = (np.stack([pair[side] for pair in few], axis=1) for side in (0, 1))
    assert repr(by_field(few)) == repr(of_arrays(original, masked))
    assert peak(lambda: by_field(PAIRS)) < (files + 0.9) * FIELDS


def test_figures_of_fields_are_those_of_arrays() -> None:
    few = PAIRS.of(range(3))
    original, masked = (np.stack([pair[side] for pair in few], axis=1) for side in (0, 1))
    assert pil_of_fields(few) == pil(original, masked)
    assert subdomains_of_fields(few, samples=2) == subdomains(original, masked, samples=2)


@pytest.mark.parametrize(("by_field", "of_arrays"), [(linkage_of_fields, linkage), (second_of_fields, second)])
def test_linkage_has_points_of_one_file(by_field: Callable[..., object], of_arrays: Callable[..., object]) -> None:
    compile_links()
    few = PAIRS.of(range(2))
    original, masked = (np.stack([pair[side] for pair in few], axis=1) for side in (0, 1))
    assert by_field(few) == of_arrays(original, masked) > 0
    # values and whether they are missing: points and codes take 3 columns a field, and the tree 2
    assert peak(lambda: by_field(PAIRS)) < 5.5 * FIELDS
