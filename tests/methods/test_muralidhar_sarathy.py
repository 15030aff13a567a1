"""MS: exact moments, the printed equations, what is left of the original, and shares that are impossible."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from masktron.errors import InfeasibleError, UsageError
from masktron.methods.muralidhar_sarathy import MuralidharSarathyMethod
from refusals import refused
from synthesis_files import moments_off, related, relation_off, ugly


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.9, (0.9,)])
@pytest.mark.parametrize("keep", [(), (2, 3)])
def test_moments_and_relations_are_exact(alpha: float, keep: tuple[int, ...]) -> None:
    original = related(200)
    masked = MuralidharSarathyMethod(alpha, keep=keep).check().mask(original, np.random.default_rng(1)).values
    assert moments_off(original, masked) < 1e-9
    assert relation_off(masked) < 1e-9
    assert np.array_equal(masked[:, list(keep)], original[:, list(keep)])


def test_the_printed_equations() -> None:
    """x' = gamma + x alpha' + y beta' + e, with beta, gamma and Sigma_ee as printed, for different shares."""
    generator = np.random.default_rng(2)
    y = generator.normal(size=(500, 2)) * [3.0, 1e3]
    x = generator.normal(size=(500, 2)) * [1e-2, 50.0] + y @ [[1e-3, 1.0], [1e-5, 0.1]]
    original = np.column_stack([x, y])
    alpha = np.diag([0.8, 0.3])
    masked = MuralidharSarathyMethod((0.8, 0.3), keep=(2, 3)).mask(original, generator).values
    both = np.cov(original.T, bias=True)
    xx, xy, yy = both[:2, :2], both[:2, 2:], both[2:, 2:]
    beta = (np.linalg.inv(yy) @ xy.T @ (np.eye(2) - alpha.T)).T
    gamma = (np.eye(2) - alpha) @ x.mean(axis=0) - beta @ y.mean(axis=0)
    e = masked[:, :2] - gamma - x @ alpha.T - y @ beta.T
    given = xx - xy @ np.linalg.inv(yy) @ xy.T
    sigma = given - alpha @ given @ alpha.T
    unit = np.sqrt(np.diagonal(sigma))
    assert np.abs((np.cov(e.T, bias=True) - sigma) / unit / unit[:, None]).max() < 1e-9
    assert np.abs(np.corrcoef(np.column_stack([e, original]).T)[:2, 2:]).max() < 1e-9
    assert np.abs(e.mean(axis=0) / unit).max() < 1e-9
    assert moments_off(original, masked) < 1e-9


def test_the_share_of_the_original_is_alpha() -> None:
    original = np.random.default_rng(3).normal(size=(100, 2))
    masked = MuralidharSarathyMethod(0.7).mask(original, np.random.default_rng(4)).values
    for column in range(2):
        assert abs(np.corrcoef(original[:, column], masked[:, column])[0, 1] - 0.7) < 1e-9


def test_shares_that_leave_no_noise_are_refused_with_the_eigenvalue() -> None:
    """Correlation 0.95, shares 0.8 and 0.3: by hand, in units of the noise's variances."""
    generator = np.random.default_rng(5)
    first = generator.normal(size=400)
    original = np.column_stack([first, 0.95 * first + np.sqrt(1 - 0.95**2) * generator.normal(size=400)])
    correlation = np.corrcoef(original.T)[0, 1]
    off = correlation * (1 - 0.8 * 0.3) / np.sqrt((1 - 0.8**2) * (1 - 0.3**2))
    assert off > 1
    with refused(InfeasibleError, "no-noise-for-alpha", eigenvalue=pytest.approx(1 - off)):
        MuralidharSarathyMethod((0.8, 0.3)).mask(original, generator)


def test_the_second_alpha_of_the_paper_is_impossible_on_its_second_file(shared_data: Path) -> None:
    """Table 3 prints figures for it."""
    names = ["INDREVENUE", "INDSALES", "TOTREVENUE", "TOTSALES"]
    eia = pd.read_csv(shared_data / "eia.csv")[names].to_numpy(dtype=np.float64)
    with refused(InfeasibleError, "no-noise-for-alpha", eigenvalue=pytest.approx(-0.192, abs=5e-4)):
        MuralidharSarathyMethod((0.8, 0.3), keep=(2, 3)).mask(eia, np.random.default_rng(0))


def test_too_few_records_are_refused() -> None:
    values = np.random.default_rng(0).normal(size=(8, 4))
    method = MuralidharSarathyMethod(0.5, keep=(0,))
    assert method.least(4) == 8
    assert moments_off(values, method.mask(values, np.random.default_rng(1)).values) < 1e-9
    with refused(InfeasibleError, "too-few-records", least=8, records=7):
        method.mask(values[1:], np.random.default_rng(1))


def test_numbers_of_the_command_line() -> None:
    alpha = MuralidharSarathyMethod.parameters["alpha"]
    assert alpha.read("0.8, 0.3") == (0.8, 0.3)
    assert (
        MuralidharSarathyMethod(alpha.read("0.5"))
        .check()
        .contract.says.startswith("noise with 75 % of the variance of")
    )
    with refused(UsageError, "bad-value", name="alpha"):
        alpha.read("much")
    with refused(UsageError, "bad-value", name="alpha"):
        alpha.check(())


def test_the_promise_is_of_what_kept_fields_leave() -> None:
    assert "of the original is" in MuralidharSarathyMethod(0.9).contract.says
    kept = MuralidharSarathyMethod((0.9, 0.3), keep=(0,)).contract.says
    assert kept.startswith("noise with 19 % of the variance of what kept fields do not explain of the original")


def test_ugly_files_have_exact_moments_or_are_refused() -> None:
    masked = 0
    for seed in range(150):
        generator = np.random.default_rng(seed)
        original = ugly(int(generator.integers(2, 40)), seed)
        keep = tuple(range(int(generator.integers(0, original.shape[1]))))
        try:
            drawn = MuralidharSarathyMethod(float(generator.random()), keep=keep).mask(original, generator).values
        except InfeasibleError:
            continue
        masked += 1
        assert moments_off(original, drawn) < 1e-9, seed
    assert masked > 90
