"""Regressions of many groups at once, against numpy's least squares group by group."""

from __future__ import annotations

import numpy as np

from masktron.synthesis.moments import lacking
from masktron.synthesis.regression import regress


def test_every_group_is_regressed_as_it_would_be_alone() -> None:
    generator = np.random.default_rng(0)
    known, kept = generator.normal(size=(20, 15, 3)) * [1e-3, 1.0, 1e6], generator.normal(size=(20, 15, 2))
    regression = regress(known, kept)
    fitted = regression.values(np.zeros_like(known))
    for group in range(20):
        design = np.column_stack([np.ones(15), kept[group]])
        by_hand = design @ np.linalg.lstsq(design, known[group])[0]
        assert np.allclose(fitted[group], by_hand, rtol=1e-9, atol=1e-9 * np.abs(known[group]).max(axis=0))
    assert np.allclose(regression.values(regression.residuals), known, rtol=1e-9, atol=1e-12)
    assert regression.rank.tolist() == [3] * 20
    assert regression.freedom.tolist() == [12] * 20


def test_collinear_and_constant_variables_do_not_count() -> None:
    generator = np.random.default_rng(1)
    three = generator.normal(size=(6, 10, 3))
    known = np.concatenate([three[:, :, :2], three[:, :, :2] @ [[1.0], [-2.0]], np.full((6, 10, 1), 3.0)], axis=2)
    kept = np.concatenate([three[:, :, 2:], 5.0 - 1e4 * three[:, :, 2:], np.full((6, 10, 1), 0.1)], axis=2)
    regression = regress(known, kept)
    assert regression.rank.tolist() == [2] * 6
    assert regression.freedom.tolist() == [8] * 6
    assert not lacking(regression).any()


def test_groups_of_different_rank_stand_beside_each_other() -> None:
    generator = np.random.default_rng(2)
    known, kept = generator.normal(size=(3, 12, 2)), generator.normal(size=(3, 12, 1))
    known[1] = 4.0
    kept[2] = 1.0
    known[2, :, 1] = 3.0 - known[2, :, 0]
    regression = regress(known, kept)
    assert regression.rank.tolist() == [2, 0, 1]
    assert regression.freedom.tolist() == [10, 10, 11]
    assert np.allclose(regression.values(regression.residuals), known)


def test_what_varies_by_rounding_alone_is_constant() -> None:
    known = np.full((1, 8, 1), 0.3)
    known[0, ::2] = 0.1 + 0.2
    assert regress(known, np.empty((1, 8, 0))).rank.tolist() == [0]


def test_an_exact_function_of_kept_variables_is_unchanged() -> None:
    generator = np.random.default_rng(3)
    kept = generator.normal(size=(1, 20, 2)) * [1.0, 1e5] + [1e3, 1e6]
    known = np.concatenate([kept @ [[0.25], [-3.0]], generator.normal(size=(1, 20, 1))], axis=2)
    regression = regress(known, kept)
    assert regression.unchanged.tolist() == [[True, False]]
    assert lacking(regression).tolist() == [True]
    # constant variables are no originals of anybody
    assert not regress(np.full((1, 20, 1), 7.0), kept).unchanged.any()
