"""IPSO: exact moments, exact relations, nobody's own values, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from masktron.errors import InfeasibleError
from masktron.methods import method_named
from masktron.methods.ipso import IpsoMethod
from masktron.synthesis.ipso import ipso
from masktron.synthesis.moments import needed
from masktron.synthesis.regression import regress
from refusals import refused
from synthesis_files import moments_off, related, relation_off, ugly

VARIANTS = ("plain", "strict")


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("keep", [(), (2,), (0, 3)])
def test_moments_and_relations_are_exact(variant: str, keep: tuple[int, ...]) -> None:
    original = related(300)
    drawn = IpsoMethod(variant, conditions=keep).check().mask(original, np.random.default_rng(1)).values
    assert moments_off(original, drawn) < 1e-9
    assert relation_off(drawn) < 1e-9
    assert np.array_equal(drawn[:, list(keep)], original[:, list(keep)])
    masked = [column for column in range(5) if column not in keep]
    assert (drawn[:, masked] != original[:, masked]).all()


def test_regressions_on_kept_fields_stay() -> None:
    original = related(60)
    drawn = IpsoMethod(conditions=(2, 3)).mask(original, np.random.default_rng(2)).values
    design = np.column_stack([np.ones(60), original[:, 2:4]])
    before, after = (np.linalg.lstsq(design, file[:, [0, 1]])[0] for file in (original, drawn))
    assert np.allclose(before, after, rtol=1e-9)


def test_strict_draws_are_uncorrelated_with_the_originals_given_kept_fields() -> None:
    original = related(40)
    design = np.column_stack([np.ones(40), original[:, 2]])
    kept_out = np.eye(40) - design @ np.linalg.pinv(design)
    for variant, largest in (("plain", 1.0), ("strict", 1e-9)):
        drawn = IpsoMethod(variant, conditions=(2,)).mask(original, np.random.default_rng(3)).values
        before, after = (kept_out @ file[:, [0, 1, 3]] for file in (original, drawn))
        before, after = before / np.linalg.norm(before, axis=0), after / np.linalg.norm(after, axis=0)
        assert (np.abs(before.T @ after).max() < 1e-9) == (largest < 1)


def nearest_relative_distance(groups: int, size: int, variables: int, kept: int, *, strict: bool) -> float:
    """Draw small groups; return how near a drawn record, or its mirror image, comes to an original of its group."""
    generator = np.random.default_rng(size)
    values = generator.normal(size=(groups, size, variables + kept))
    known, given = values[:, :, :variables], values[:, :, variables:]
    regression = regress(known, given)
    assert (regression.freedom >= needed(regression.rank, strict=strict)).all()
    drawn = ipso(regression, generator, strict=strict)
    predicted = known - regression.unit * regression.residuals
    nearest = np.inf
    for image in (drawn, 2 * predicted - drawn):
        distances = np.linalg.norm(image[:, :, None] - known[:, None], axis=3)
        nearest = min(nearest, float(distances.min()))
    return nearest


def test_no_original_and_no_mirror_image_in_10_000_small_groups() -> None:
    """The fewest records that are allowed, of one to three variables beside none or one kept."""
    for variables in (1, 2, 3):
        for kept in (0, 1):
            for strict in (False, True):
                rank = np.array([variables])
                size = 1 + kept + int(needed(rank, strict=strict)[0])
                assert nearest_relative_distance(850, size, variables, kept, strict=strict) > 1e-7


def test_with_as_many_degrees_of_freedom_as_variables_it_would_be_an_original() -> None:
    """Why two more are needed: at m = 1 the draw is the original or its mirror image."""
    generator = np.random.default_rng(5)
    known = generator.normal(size=(200, 2, 1))
    drawn = ipso(regress(known, np.empty((200, 2, 0))), generator)
    centre = known.mean(axis=1, keepdims=True)
    same = np.isclose(drawn, known).all(axis=(1, 2))
    mirrored = np.isclose(drawn, 2 * centre - known).all(axis=(1, 2))
    assert (same | mirrored).all()
    assert same.any()
    assert mirrored.any()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("variables", [1, 2, 4])
def test_the_fewest_records_are_enough_and_one_less_is_refused(variant: str, variables: int) -> None:
    method = IpsoMethod(variant, conditions=(0,) if variables > 2 else ())
    n = method.least(variables)
    values = np.random.default_rng(0).normal(size=(n, variables))
    assert moments_off(values, method.mask(values, np.random.default_rng(1)).values) < 1e-9
    with refused(InfeasibleError, "too-few-records", least=n, records=n - 1):
        method.mask(values[1:], np.random.default_rng(1))


def test_constant_columns_stay_constant() -> None:
    values = np.column_stack([np.full(20, 0.1), np.random.default_rng(0).normal(size=20)])
    drawn = IpsoMethod().mask(values, np.random.default_rng(1)).values
    assert (drawn[:, 0] == 0.1).all()
    assert (drawn[:, 1] != values[:, 1]).all()


@pytest.mark.few(1)
@pytest.mark.parametrize("variant", VARIANTS)
def test_ugly_files_have_exact_moments_or_are_refused(variant: str) -> None:
    masked = 0
    for seed in range(150):
        generator = np.random.default_rng(seed)
        original = ugly(int(generator.integers(2, 40)), seed)
        keep = tuple(range(int(generator.integers(0, original.shape[1]))))
        try:
            drawn = IpsoMethod(variant, conditions=keep).check().mask(original, generator).values
        except InfeasibleError:
            continue
        masked += 1
        assert moments_off(original, drawn) < 1e-9, seed
    assert masked > 90


@pytest.mark.parametrize("name", ["ipso", "noise", "microhybrid", "muralidhar_sarathy"])
def test_large_numbers_that_differ_little_are_not_constant(name: str) -> None:
    """Numbers of 15 digits that differ in the last three: doubles hold the differences exactly."""
    generator = np.random.default_rng(0)
    differ = np.round(30 * generator.normal(size=60))
    values = np.column_stack([1e14 + differ, generator.normal(size=60)])
    drawn = method_named(name)().mask(values, generator).values[:, 0] - 1e14
    assert len(np.unique(drawn)) > 50
    assert abs(drawn.std() / differ.std() - 1) < (0.3 if name == "noise" else 1e-3)
