"""Microhybrid: exact moments in groups and files, larger groups where freedom lacks, and its other synthesisers."""

from __future__ import annotations

import time

import numpy as np
import pytest

from examples import spread
from masktron import methods
from masktron.errors import InfeasibleError
from masktron.methods.base import Partitioning
from masktron.methods.microhybrid import PARTITIONS, MicrohybridMethod
from refusals import refused
from synthesis_files import moments_off, moments_off_in_groups, related, relation_off, ugly

REGISTERED = tuple(method for method in methods.ALL if issubclass(method, Partitioning))


def groups_of(labels: np.ndarray) -> list[int]:
    return np.bincount(labels).tolist()


def test_every_partition_can_be_named() -> None:
    assert {method.name for method in REGISTERED} <= set(PARTITIONS)


@pytest.mark.parametrize("keep", [(), (2,), (2, 3)])
def test_moments_of_groups_and_file_are_exact(keep: tuple[int, ...]) -> None:
    original = related(400)
    drawn = MicrohybridMethod(12, keep=keep).check().mask(original, np.random.default_rng(1))
    assert drawn.labels is not None
    assert min(groups_of(drawn.labels)) >= 12
    assert moments_off_in_groups(original, drawn.values, drawn.labels) < 1e-9
    assert moments_off(original, drawn.values) < 1e-9
    assert relation_off(drawn.values) < 1e-9
    assert np.array_equal(drawn.values[:, list(keep)], original[:, list(keep)])
    masked = [column for column in (0, 1, 3, 4) if column not in keep]
    assert (drawn.values[:, masked] != original[:, masked]).all()


def test_groups_are_near_in_what_is_masked() -> None:
    original = np.random.default_rng(0).normal(size=(200, 3))
    labels = MicrohybridMethod(10, keep=(1, 2)).mask(original, np.random.default_rng(1)).labels
    alone = MicrohybridMethod(10).mask(original[:, :1], np.random.default_rng(1)).labels
    assert np.array_equal(labels, alone)


def test_groups_grow_to_what_ipso_needs_and_that_is_said() -> None:
    original = related(200)  # rank 4
    drawn = MicrohybridMethod(3).mask(original, np.random.default_rng(1))
    assert drawn.labels is not None
    assert min(groups_of(drawn.labels)) == 7
    assert drawn.notes == (
        "groups have at least 7 records, not 3: ipso needs so many for 4 linearly independent variables beside 0 "
        "kept ones",
    )
    assert MicrohybridMethod(7).mask(original, np.random.default_rng(1)).notes == ()


def test_normal_draws_need_no_larger_groups() -> None:
    drawn = MicrohybridMethod(3, synthesiser="normal").mask(related(90), np.random.default_rng(1))
    assert drawn.labels is not None
    assert groups_of(drawn.labels) == [3] * 30
    assert drawn.notes == ()
    assert relation_off(drawn.values) < 1e-9


@pytest.mark.parametrize("synthesiser", ["ipso", "multiple_imputation"])
def test_the_fewest_records_are_enough_and_one_less_is_refused(synthesiser: str) -> None:
    values = np.random.default_rng(0).normal(size=(7, 4))
    method = MicrohybridMethod(2, synthesiser=synthesiser, keep=(1,))
    assert method.least(4) == 7
    method.mask(values, np.random.default_rng(1))
    with refused(InfeasibleError, "too-few-records", least=7, records=6):
        method.mask(values[1:], np.random.default_rng(1))


def test_a_group_that_would_return_its_original_joins_another() -> None:
    """In the last ten records the masked variable is a function of the kept one; in the file it is not."""
    generator = np.random.default_rng(3)
    kept, masked = generator.normal(size=(2, 60))
    masked[50:] = 50.0 + 2.0 * kept[50:]
    original = np.column_stack([kept, masked])
    drawn = MicrohybridMethod(10, keep=(0,)).mask(original, generator)
    assert drawn.labels is not None
    assert (np.abs(drawn.values[:, 1] - original[:, 1]) > 1e-6).all()
    assert groups_of(drawn.labels).count(10) == 4
    assert max(groups_of(drawn.labels)) == 20
    assert drawn.notes[-1].startswith("1 of 6 groups joined the nearest other one")
    assert moments_off_in_groups(original, drawn.values, drawn.labels) < 1e-9


def test_equal_records_stay_and_that_is_said() -> None:
    """Their figures leave no choice, and tell none of them apart."""
    original = np.random.default_rng(0).normal(size=(30, 2))
    original[20:] = [40.0, 0.0]
    drawn = MicrohybridMethod(10).mask(original, np.random.default_rng(1))
    assert (drawn.values == original).all(axis=1).tolist() == [False] * 20 + [True] * 10
    assert drawn.notes == ("10 of 30 records stay as they are: those of their group are equal in what is masked",)


@pytest.mark.parametrize("kind", REGISTERED, ids=lambda kind: kind.name)
def test_any_partition_can_be_taken(kind: type[Partitioning]) -> None:
    generator = np.random.default_rng(4)
    original = generator.normal(size=(90, 1 if kind.name == "univariate" else 3))
    method = MicrohybridMethod(8, kind.name).check()
    assert method.needs_class == kind.needs_class
    classes = generator.integers(0, 2, size=(90, 1)) if kind.needs_class else None
    drawn = method.mask(original, generator, classes=classes)
    assert drawn.labels is not None
    assert min(groups_of(drawn.labels)) >= 8
    assert moments_off_in_groups(original, drawn.values, drawn.labels) < 1e-9


def test_the_class_itself_needs_no_class() -> None:
    assert MicrohybridMethod.needs_class is False


@pytest.mark.full
@pytest.mark.parametrize("synthesiser", spread(["ipso", "normal", "multiple_imputation"], every=3))
def test_ugly_files_are_masked_or_refused(synthesiser: str) -> None:
    masked = 0
    for seed in range(120):
        generator = np.random.default_rng(seed)
        original = ugly(int(generator.integers(2, 80)), seed)
        keep = tuple(range(int(generator.integers(0, min(3, original.shape[1])))))
        method = MicrohybridMethod(int(generator.integers(2, 9)), synthesiser=synthesiser, keep=keep).check()
        try:
            drawn = method.mask(original, generator)
        except InfeasibleError:
            continue
        masked += 1
        assert np.isfinite(drawn.values).all()
        assert drawn.labels is not None
        assert min(groups_of(drawn.labels)) >= method.k
        if synthesiser == "ipso":
            assert moments_off_in_groups(original, drawn.values, drawn.labels) < 1e-9, seed
            assert moments_off(original, drawn.values) < 1e-9, seed
    assert masked > 70


@pytest.mark.full
def test_a_hundred_thousand_records_in_groups_of_ten_take_less_than_ten_seconds() -> None:
    original = np.random.default_rng(0).lognormal(size=(100_000, 5))
    original[:, 4] = original[:, 0] + original[:, 1]
    method = MicrohybridMethod(10)
    method.mask(original[:20_000], np.random.default_rng(1))  # compiles
    start = time.process_time()
    drawn = method.mask(original, np.random.default_rng(1))
    assert time.process_time() - start < 10.0
    assert moments_off(original, drawn.values) < 1e-9
