"""Every method is a transformer of scikit-learn: its own checks are run on each."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from examples import FULL, as_full
from masktron import estimators, methods
from masktron.errors import UsageError
from refusals import refused

MASKED_TOGETHER = "a masked record depends on the records that are masked with it"
WITHOUT_CLASS = "transform has other records than fit, without their class, and refuses them"
ORDER_COUNTS = frozenset(
    {
        "cart",
        "hierarchical",
        "hybrid_micro",
        "ipso",
        "latent_class",
        "microhybrid",
        "model_hybrid",
        "muralidhar_sarathy",
        "noise",
        "sequential",
        "shuffling",
    }
)
"""Methods that mask the records of the check's array in another way when they come in another order."""


def expected_failures(estimator: Any) -> dict[str, str]:
    found = {"check_methods_subset_invariance": MASKED_TOGETHER}
    if estimator.name in ORDER_COUNTS:
        found["check_methods_sample_order_invariance"] = MASKED_TOGETHER
    if estimator.needs_class:
        found |= dict.fromkeys(("check_methods_sample_order_invariance", "check_fit_idempotent"), WITHOUT_CLASS)
    return found


FEWER: dict[str, dict[str, int]] = (
    {} if FULL else {"latent_class": {"most": 2, "starts": 1}, "model_hybrid": {"most": 2}}
)
"""Parameters of the methods that try many mixtures, where it does not matter how many."""
SLOW = frozenset({"camp_crest", "crest", "fuzzy", "hierarchical", "latent_class", "model_hybrid"})
"""Methods that take most of the time of scikit-learn's checks."""


def some_checks(kinds: list[Any]) -> list[object]:
    """Every check for every method, of which a third is tried always: each check for some methods, some for each."""
    mark = parametrize_with_checks([kind() for kind in kinds], expected_failed_checks=expected_failures)
    cases: dict[str, list[Any]] = {}
    for case in mark.args[1]:
        cases.setdefault(case.values[0].name if hasattr(case, "marks") else case[0].name, []).append(case)
    return [
        case if (number + shift) % 3 == 0 else as_full(case)
        for shift, checks in enumerate(cases.values())
        for number, case in enumerate(checks)
    ]


def name_of_check(part: Any) -> str:
    return type(part).__name__ if hasattr(part, "get_params") else getattr(part, "func", part).__name__


@pytest.mark.parametrize(
    ("estimator", "check"), some_checks([kind for kind in estimators.ALL if kind.name not in SLOW]), ids=name_of_check
)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.full
@parametrize_with_checks(
    [kind() for kind in estimators.ALL if kind.name in SLOW], expected_failed_checks=expected_failures
)
def test_scikit_learns_checks_of_slow_methods(estimator: Any, check: Any) -> None:
    check(estimator)


def test_every_method_is_an_estimator_of_the_same_name() -> None:
    assert [f"{kind.__name__}Method" for kind in estimators.ALL] == [method.__name__ for method in methods.ALL]
    assert all(issubclass(kind, method) for kind, method in zip(estimators.ALL, methods.ALL, strict=True))


@pytest.mark.parametrize("kind", estimators.ALL, ids=lambda kind: kind.__name__)
def test_parameters_are_those_that_the_method_declares(kind: Any) -> None:
    assert {*kind().get_params()} - {"random_state"} == {*kind.parameters}
    kind().check()
    copy = clone(kind())
    assert copy.get_params() == kind().get_params()


@pytest.mark.parametrize("kind", methods.ALL, ids=lambda kind: kind.__name__)
def test_every_method_is_declared_in_full(kind: Any) -> None:
    texts = (kind.name, kind.title, kind.says, kind.when, kind.source, *kind.preserves, kind().contract.says)
    assert all(text.strip() == text != "" for text in texts)
    module = importlib.import_module(kind.__module__)
    assert module.__name__ == f"masktron.methods.{kind.name}"
    assert "Source:" in (kind.__doc__ or "")


@pytest.mark.few(7)
@pytest.mark.parametrize("kind", estimators.ALL, ids=lambda kind: kind.__name__)
def test_the_same_seed_gives_the_same_bytes(kind: Any) -> None:
    generator = np.random.default_rng(5)
    points = generator.normal(size=(120, 3))
    classes = generator.integers(0, 2, size=120)
    seed = FEWER.get(kind.name, {}) | ({"random_state": 3} if "random_state" in kind().get_params() else {})
    first, second = (kind(**seed).fit_transform(points, classes) for _ in range(2))
    assert first.tobytes() == second.tobytes()
    assert not np.array_equal(first, points)


def test_classes_that_do_not_go_with_the_records_are_refused() -> None:
    points = np.random.default_rng(6).normal(size=(50, 2))
    for wrong in (np.arange(100) % 2, np.arange(40) % 2):
        with refused(UsageError, "arrays-differ"):
            estimators.Crest().fit(points, wrong)
    with pytest.raises(ValueError, match="NaN"):
        estimators.Crest().fit(points, np.full(50, np.nan))


def test_more_neighbours_than_records_are_all() -> None:
    points, classes = np.random.default_rng(7).normal(size=(50, 2)), np.arange(50) % 2
    most, all_of_them = (estimators.Crest(neighbours=near).fit_transform(points, classes) for near in (10**30, 52))
    assert most.tobytes() == all_of_them.tobytes()


def test_means_of_groups_stay_in_the_range_of_their_group() -> None:
    points = np.column_stack([np.arange(9.0), np.full(9, 0.1), np.full(9, 1.7e308)])
    masked = estimators.Mdav(k=3).fit_transform(points)
    assert (masked[:, 1:] == points[:, 1:]).all()


@pytest.mark.parametrize("kind", [estimators.LatentClass, estimators.Cart], ids=lambda kind: kind.__name__)
def test_codes_of_categories_stay_codes(kind: Any) -> None:
    """Without a word that a column has categories, their codes would be averaged like numbers."""
    rng = np.random.default_rng(1)
    codes = rng.choice([10.0, 20.0, 30.0], size=80)
    values = np.column_stack([rng.normal(codes), codes])
    masked = kind(nominal=(1,), random_state=0).fit_transform(values)
    assert {*masked[:, 1]} <= {10.0, 20.0, 30.0}
    assert not np.isin(masked[:, 0], [10.0, 20.0, 30.0]).any()
    with refused(UsageError, "bad-value", given="2", expected="a column from 0 to 1"):
        kind(nominal=(2,)).fit(values)
    with refused(UsageError, "bad-value", name="nominal"):
        kind(nominal=("REGION",)).fit(values)


def test_what_the_user_has_to_know_is_kept() -> None:
    """Groups that give a class away are as bad in a notebook as in a file."""
    values, classes = np.arange(8.0)[:, None], np.repeat([0, 1], 4)
    found = estimators.Crest(k=2, alpha=1).fit(values, classes).notes_
    assert any("have one class only" in note for note in found)
