"""Mixtures against scikit-learn's, against their own maxima, and against the figures of mclust on diabetes."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture

from masktron.errors import InfeasibleError
from masktron.kernels.standardise import standardised
from masktron.synthesis import em, mixture
from masktron.synthesis.em import FAMILIES, FLOOR, Components, CovarianceFamily, MixtureRecords
from masktron.synthesis.mixture import MixtureSearch, fit_mixture, independent, starts
from refusals import refused

TYPES = {"VII": "spherical", "VVI": "diag", "EEE": "tied", "VVV": "full"}


def observed(values: np.ndarray, codes: np.ndarray | None = None) -> MixtureRecords:
    codes = np.zeros((len(values), 0), dtype=np.intp) if codes is None else codes
    return MixtureRecords(standardised(values), codes, tuple(np.bincount(column) / len(column) for column in codes.T))


def clouds(n: int = 300, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    shapes = generator.normal(size=(3, 2, 2))
    which = generator.integers(0, 3, n)
    centres = np.array([[0, 0], [6, 1], [1, 7]])
    return centres[which] + np.einsum("nab,nb->na", shapes[which], generator.normal(size=(n, 2)))


def fit(one: MixtureRecords, family: CovarianceFamily, groups: int = 3, **more: int) -> mixture.Fit:
    search = MixtureSearch(groups, groups, (family,), **more)
    return fit_mixture(one, search, np.random.default_rng(0)).fit


@pytest.mark.parametrize("family", TYPES)
def test_scikit_learn_finds_no_better_mixture_from_there(family: CovarianceFamily) -> None:
    one = observed(clouds())
    found = fit(one, family)
    precisions = np.linalg.inv(found.components.covariances)
    given = {
        "spherical": precisions[:, 0, 0],
        "diag": np.diagonal(precisions, axis1=1, axis2=2),
        "tied": precisions[0],
        "full": precisions,
    }[TYPES[family]]
    theirs = GaussianMixture(
        3, covariance_type=TYPES[family], tol=1e-9, reg_covar=0, max_iter=5000, weights_init=found.components.weights,
        means_init=found.components.means, precisions_init=given,
    ).fit(one.points)  # fmt: skip
    assert 300 * theirs.score(one.points) == pytest.approx(found.log_likelihood, abs=0.3)
    assert theirs.means_ == pytest.approx(found.components.means, abs=0.03)
    assert -theirs.bic(one.points) == pytest.approx(found.bic, abs=0.6)


def test_densities_are_those_of_scipy() -> None:
    one = observed(clouds(60), np.random.default_rng(0).integers(0, 3, (60, 1)))
    components = em.maximise(em.begin(np.arange(60) % 3, one), "VVV", one.shares)
    (variables, codes), *rest = one.chunks()
    assert not rest
    joint = em.log_joint(components, variables, codes)
    for place in range(3):
        normal = multivariate_normal(components.means[place], components.covariances[place]).logpdf(one.points)
        weight = np.log(components.weights[place]) + np.log(components.shares[0][one.codes[:, 0], place])
        assert joint[place] == pytest.approx(normal + weight)


def expected(components: Components, memberships: np.ndarray, one: MixtureRecords) -> float:
    joint = np.concatenate([em.log_joint(components, *chunk) for chunk in one.chunks()], axis=1)
    return float((memberships * joint).sum())


@pytest.mark.parametrize("family", FAMILIES)
def test_maximisation_cannot_be_beaten_within_the_family(family: CovarianceFamily) -> None:
    generator = np.random.default_rng(1)
    one = observed(clouds(80))
    memberships = generator.dirichlet(np.ones(3), 80).T
    found = em.maximise(em.statistics(memberships, one.points.T, one.codes, ()), family, ())
    best = expected(found, memberships, one)
    for _ in range(40):
        turn = 0.05 * generator.normal(size=(3, 2, 2))
        turn = (turn + turn.transpose(0, 2, 1)) / 2
        match family:
            case "EII":
                turn = np.repeat(np.eye(2)[None] * turn[0, 0, 0], 3, axis=0)
            case "VII":
                turn = turn[:, :1, :1] * np.eye(2)
            case "EEI":
                turn = np.repeat((turn[0] * np.eye(2))[None], 3, axis=0)
            case "VVI":
                turn = turn * np.eye(2)
            case "EEE":
                turn = np.repeat(turn[:1], 3, axis=0)
        weights = np.abs(found.weights + 0.02 * generator.normal(size=3))
        moved = found.means + 0.05 * generator.normal(size=(3, 2))
        other = Components(weights / weights.sum(), moved, found.covariances + turn, ())
        assert expected(other, memberships, one) < best


@pytest.mark.parametrize("family", FAMILIES)
def test_no_step_lowers_the_likelihood(family: CovarianceFamily) -> None:
    one = observed(np.column_stack([clouds(), np.where(np.arange(300) % 2, 0.0, clouds()[:, 0])]))
    components = em.maximise(em.begin(np.arange(300) % 4, one), family, ())
    likelihoods = []
    for _ in range(40):
        found, likelihood = em.expect(components, one)
        likelihoods.append(likelihood)
        components = em.maximise(found, family, ())
    assert np.diff(likelihoods).min() > -1e-8 * abs(likelihoods[0])


def test_chunks_do_not_change_the_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    one = observed(clouds(), np.random.default_rng(0).integers(0, 3, (300, 2)))
    components = em.maximise(em.begin(np.arange(300) % 3, one), "VVV", one.shares)
    whole, likelihood = em.expect(components, one)
    monkeypatch.setattr(em, "_ROWS", 77)
    parts, same = em.expect(components, one)
    assert same == pytest.approx(likelihood, rel=1e-12)
    for name in ("counts", "sums", "products"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-10, abs=1e-10)
    assert parts.tallies[1] == pytest.approx(whole.tallies[1])
    assert whole.tallies[0].sum() == pytest.approx(300)


def test_free_parameters_by_hand() -> None:
    # 2 weights, 3 x 3 means, and the covariances
    assert [em.parameters(family, 3, 3) - 11 for family in FAMILIES] == [1, 3, 3, 9, 6, 18]
    assert em.parameters("VVV", 2, 0, 5) == 1 + 2 * 5


def test_diabetes(shared_data: Path) -> None:
    values = pd.read_csv(shared_data / "diabetes_reaven_miller.csv")[["glucose", "insulin", "sspg"]].to_numpy(float)
    found = fit_mixture(observed(values), MixtureSearch(), np.random.default_rng(0))
    units = 145 * np.log(values.std(axis=0)).sum()
    assert (found.fit.family, sorted(np.bincount(found.labels).tolist())) == ("VVV", [28, 36, 81])
    assert found.fit.log_likelihood - units == pytest.approx(-2303.5, abs=0.05)
    assert found.fit.bic - 2 * units == pytest.approx(-4751.3, abs=0.05)
    assert not found.fit.components.floored.any()


@pytest.mark.full
def test_the_plane_of_census_is_a_component_of_its_own(shared_data: Path) -> None:
    values = pd.read_csv(shared_data / "census.csv")[["AGI", "EMCONTRB", "FEDTAX"]].to_numpy(float)
    found = fit_mixture(observed(values), MixtureSearch(), np.random.default_rng(0))
    plane = np.abs(values[:, 2] - 0.15 * (values[:, 0] - 6250)) < 1
    assert plane.sum() == 62
    (component,) = set(found.labels[plane].tolist())
    assert np.bincount(found.labels)[component] == 62
    assert found.fit.components.floored.tolist() == [place == component for place in range(found.labels.max() + 1)]


def test_points_that_repeat_give_a_floor_and_no_error() -> None:
    values = np.concatenate([np.zeros((60, 2)), np.random.default_rng(0).normal(3, 1, (60, 2))])
    found = fit(observed(values), "VVV", 2)
    assert found.components.floored.sum() == 1
    assert np.linalg.eigvalsh(found.components.covariances).min() == pytest.approx(FLOOR)


@pytest.mark.full
def test_bic_finds_families_and_numbers() -> None:
    generator = np.random.default_rng(3)
    centres = np.array([[0, 0], [12, 0], [0, 12]])[generator.integers(0, 3, 300)]
    for stretch, family in ((np.eye(2), "EII"), (np.array([[1, 0.9], [0, 0.4]]), "EEE")):
        values = centres + generator.normal(size=(300, 2)) @ stretch
        values *= 1 / values.std(axis=0).max()
        found = fit_mixture(
            MixtureRecords(values, np.zeros((300, 0), dtype=np.intp), ()), MixtureSearch(most=6), generator
        )
        assert (found.fit.family, len(found.fit.components.weights)) == (family, 3)


def test_categories_alone_form_classes() -> None:
    generator = np.random.default_rng(0)
    which = generator.integers(0, 2, 500)
    codes = np.stack([np.where(generator.random(500) < 0.9, which, 1 - which) for _ in range(5)], axis=1)
    one = MixtureRecords(np.zeros((500, 0)), codes, tuple(np.bincount(column) / 500 for column in codes.T))
    found = fit_mixture(one, MixtureSearch(drawn=2), generator)
    assert len(found.fit.components.weights) == 2
    assert max((found.labels == which).mean(), (found.labels != which).mean()) > 0.95


def test_a_large_file_starts_from_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    one = observed(clouds(1200))
    whole = fit_mixture(one, MixtureSearch(most=5), np.random.default_rng(0))
    monkeypatch.setattr(mixture, "AGGLOMERATED", 400)
    part = fit_mixture(one, MixtureSearch(most=5), np.random.default_rng(0))
    assert (whole.sampled, part.sampled) == (None, 400)
    assert part.fit.bic == pytest.approx(whole.fit.bic, abs=1)
    assert part.fit.components.weights.size == whole.fit.components.weights.size == 3


def test_a_sample_lets_expect_by_how_much_a_mixture_is_better() -> None:
    one = observed(np.exp(clouds(6000, 5) / 3))
    part = one.some(np.arange(0, 6000, 10))
    guessed, came = [], []
    for groups in (3, 4, 6):
        begun = fit(part, "VVV", groups)
        whole = mixture._run(one, begun.components, "VVV", MixtureSearch())
        assert whole is not None
        guessed.append(mixture._expected_bic(begun, part, 6000))
        came.append(whole.bic)
    # what is common to all, that the sample is a likely or an unlikely one, does not matter
    assert np.diff(guessed) == pytest.approx(np.diff(came), rel=0.5)


def test_what_a_sample_lets_expect_by_hand() -> None:
    part = MixtureRecords(np.zeros((50, 1)), np.zeros((50, 0), dtype=np.intp), ())
    one = Components(np.ones(1), np.zeros((1, 1)), np.ones((1, 1, 1)), ())
    begun = mixture.Fit(one, "VVV", -70.0, 0.0, 1)
    # a mean and a variance: the truth has -71 on 50 records and 36 times that on 1,800, and the fit to these 1 more
    assert mixture._expected_bic(begun, part, 1800) == pytest.approx(2 * (-71 * 36 + 1) - 2 * np.log(1800))


def test_categories_are_smoothed_by_one_record_by_hand() -> None:
    one = observed(np.arange(8.0)[:, None], np.array([0, 0, 0, 0, 0, 0, 1, 1])[:, None])
    components = em.maximise(em.begin(np.repeat([0, 1], 4), one), "VII", one.shares)
    assert components.shares[0] == pytest.approx(np.array([[4.75, 2.75], [0.25, 2.25]]) / 5)


def test_no_convergence_is_refused() -> None:
    with refused(InfeasibleError, "mixture-not-converged", fewest=2, most=4, iterations=1):
        fit_mixture(observed(clouds()), MixtureSearch(most=4, iterations=1), np.random.default_rng(0))


@pytest.mark.parametrize("n", [1, 4, 9])
def test_few_records_or_equal_ones_are_one_component(n: int) -> None:
    found = fit_mixture(
        observed(np.random.default_rng(0).normal(size=(n, 2))), MixtureSearch(), np.random.default_rng(0)
    )
    assert found.labels.tolist() == [0] * n
    found = fit_mixture(observed(np.ones((40, 0))), MixtureSearch(), np.random.default_rng(0))
    assert set(found.labels.tolist()) == {0}


@pytest.mark.full
def test_components_have_the_least_records() -> None:
    values = np.concatenate([clouds(200), np.full((6, 2), 40.0) + np.eye(6)[:, :2]])
    small, large = (
        fit_mixture(observed(values), MixtureSearch(least=least), np.random.default_rng(0)) for least in (5, 30)
    )
    assert np.bincount(small.labels).min() == 6
    assert np.bincount(large.labels).min() >= 25


def test_independent_columns() -> None:
    generator = np.random.default_rng(0)
    free = generator.normal(size=(100, 3))
    values = np.column_stack([free[:, 0], np.ones(100), free[:, 1], free[:, 0] - 5 * free[:, 1], free[:, 2]])
    assert independent(standardised(values)).tolist() == [0, 2, 4]


def test_starts_are_partitions() -> None:
    one = observed(np.exp(clouds(90)), np.random.default_rng(0).integers(0, 3, (90, 1)))
    found = list(starts(one, 2, np.random.default_rng(0)))
    assert len(found) == 4
    for start, groups in itertools.product(found, (1, 2, 7)):
        assert np.unique(start(groups)).tolist() == list(range(groups))
