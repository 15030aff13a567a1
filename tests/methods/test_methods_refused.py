"""Methods refuse parameters that are wrong, too few records, and what they cannot draw."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from masktron.errors import InfeasibleError, UsageError
from masktron.methods import method_named
from refusals import Refusal, refused
from synthesis_files import related

PARAMETERS: list[tuple[str, str, dict[str, Any]]] = [
    *(("camp_crest", name, {name: value}) for name, value in (("several", "both"), ("as_printed", 1), ("k", 1))),
    *(
        ("crest", name, {name: value})
        for name, value in (("alpha", 1.5), ("alpha", -0.1), ("neighbours", 1), ("k", 1))
    ),
    *(("fuzzy", "m", {"m": value}) for value in (1.0, "2")),
    *(("fuzzy", name, {name: 0}) for name in ("clusters", "tolerance", "rounds")),
    ("hierarchical", "release", {"release": 6}),
    ("hierarchical", "side", {"variables": (0,), "thresholds": (1.0,), "side": "both"}),
    *(("hierarchical", "thresholds", {"thresholds": value}) for value in ("12", (1.0, "x"))),
    ("hierarchical", "distinct", {"cluster": 3, "distinct": 4}),
    *(("hierarchical", name, {name: value}) for name, value in (("stop", "never"), ("quantile", 1.5))),
    *(("mdav", "k", {"k": value}) for value in (10**400, np.array([4, 5]))),
    *(("mdav_generic", name, {name: value}) for name, value in (("mixed", "both"), ("imposing", "text"))),
    ("mdav_generic", "ordinal", {"ordinal": [1], "nominal": [1]}),
    *(("microhybrid", name, {name: value}) for name, value in (("partition", "ipso"), ("synthesiser", "cart"))),
    ("model_hybrid", "fewest", {"fewest": 5, "most": 3}),
    ("model_hybrid", "family", {"family": "full"}),
    ("mst", "scale", {"scale": "raw"}),
    *(("muralidhar_sarathy", "alpha", {"alpha": value}) for value in (1.0, 1.5, (0.2, -0.1), "0.9")),
    *(("noise", name, {name: value}) for name, value in (("c", 0.0), ("exact", "yes"))),
    *(("t_closeness", "t", {"t": value}) for value in (-0.1, 1.1, np.nan)),
    ("univariate", "projection", {"projection": "svd"}),
]


@pytest.mark.parametrize(("method", "name", "parameters"), PARAMETERS)
def test_wrong_parameters_are_named(method: str, name: str, parameters: dict[str, Any]) -> None:
    with refused(UsageError, "bad-value", name=name, hint=method_named(method).parameters[name].help):
        method_named(method)(**parameters).check()


def masked(method: str, parameters: dict[str, Any], values: np.ndarray) -> object:
    return method_named(method)(**parameters).check().mask(values, np.random.default_rng(0))


COLUMNS: list[tuple[str, dict[str, Any], str, dict[str, object]]] = [
    *(("cart", {"order": order}, "bad-value", {"name": "order"}) for order in ((0, 0), (3,), ("A",))),
    *(("hierarchical", {name: (0, 3)}, "bad-value", {"name": name}) for name in ("variables", "thresholds")),
    ("muralidhar_sarathy", {"alpha": (0.5, 0.6), "keep": (0, 1)}, "bad-value", {"name": "alpha"}),
    (
        "ipso",
        {"conditions": (5,)},
        "bad-value",
        {"name": "conditions", "given": "5", "expected": "a column from 0 to 2"},
    ),
    ("ipso", {"conditions": ("AGE",)}, "bad-value", {"given": "'AGE'"}),
    ("ipso", {"conditions": range(3)}, "bad-value", {"name": "conditions"}),
    ("mdav", {"strata": range(3)}, "bad-value", {"name": "strata"}),
    ("sequential", {"conditions": (0,), "nominal": (3,)}, "bad-value", {"name": "nominal", "given": "3"}),
    ("cart", {"conditions": (0,), "order": (0,)}, "bad-value", {"name": "order", "given": "0"}),
    ("ipso", {"nominal": (1,)}, "categories-not-drawn", {"method": "ipso", "column": 1}),
    *((name, {"nominal": ("AGE",)}, "bad-value", {"name": "nominal"}) for name in ("cart", "ipso")),
    ("mdav_generic", {"nominal": [3]}, "bad-value", {"name": "nominal", "given": "3"}),
    ("mdav_generic", {"nominal": ("AGE",)}, "bad-value", {"name": "nominal"}),
    ("mdav_generic", {"ordinal": [-1]}, "bad-value", {"name": "ordinal"}),
]


@pytest.mark.parametrize(("method", "parameters", "code", "named"), COLUMNS)
def test_wrong_columns_are_named(
    method: str, parameters: dict[str, Any], code: str, named: dict[str, object]
) -> None:
    with refused(UsageError, code, **named):
        masked(method, parameters, np.random.default_rng(1).normal(size=(20, 3)))


@pytest.mark.parametrize(
    ("method", "parameters", "shape", "least"),
    [
        ("cart", {}, (4, 2), 5),
        ("hierarchical", {}, (9, 3), 10),
        ("hybrid_micro", {}, (9, 2), 10),
        ("latent_class", {}, (4, 2), 5),
        ("mdav_generic", {}, (4, 1), 5),
        ("model_hybrid", {}, (5, 3), 6),
        ("model_hybrid", {"k": 20}, (19, 3), 20),
        ("mst", {"k": 3}, (2, 1), 3),
        ("sequential", {}, (8, 4), 9),
        ("shuffling", {}, (7, 3), 8),
    ],
)
def test_too_few_records(method: str, parameters: dict[str, Any], shape: tuple[int, int], least: int) -> None:
    with refused(InfeasibleError, "too-few-records", what=method, least=least, records=shape[0]):
        masked(method, parameters, np.random.default_rng(0).normal(size=shape))


KEPT, LOST = np.random.default_rng(4).normal(size=60), "would-return-original"
CLOUD, UNEQUAL = np.random.default_rng(0).normal(size=(100, 3)), {"alpha": (0.5, 0.5, 0.5, 0.5, 0.6)}
MIXTURE = {"fewest": 2, "most": 10, "iterations": 1}


def drawing(method: str, values: np.ndarray, **parameters: Any) -> Callable[[], object]:
    return partial(masked, method, parameters, values)


REFUSED = [
    *(
        Refusal(InfeasibleError, "mixture-not-converged", drawing(name, CLOUD, iterations=1), where=name, **MIXTURE)
        for name in ("latent_class", "model_hybrid")
    ),
    *(
        Refusal(
            InfeasibleError,
            LOST,
            drawing("shuffling", np.column_stack([KEPT[::-1], told, KEPT]), conditions=(2,)),
            method="shuffling",
            variable=2,
            records=60,
        )
        for told in (3 * KEPT - 7, np.exp(KEPT))
    ),
    *(
        Refusal(
            InfeasibleError,
            LOST,
            drawing("microhybrid", related(60), k=5, synthesiser=one, keep=(0, 1)),
            method="microhybrid",
            variable=3,
        )
        for one in ("ipso", "normal", "multiple_imputation")
    ),
    Refusal(InfeasibleError, LOST, drawing("ipso", related(50), conditions=(0, 1)), method="ipso", variable=3),
    Refusal(InfeasibleError, LOST, drawing("muralidhar_sarathy", related(100), keep=(0, 1))),
    Refusal(InfeasibleError, "no-noise-for-alpha", drawing("muralidhar_sarathy", related(100), **UNEQUAL)),
    Refusal(UsageError, "values-too-large", drawing("ipso", np.array([[1e200], [0.0], [1.0], [2.0], [3.0]]))),
]


@pytest.mark.parametrize("row", REFUSED, ids=str)
def test_what_cannot_be_drawn(row: Refusal) -> None:
    row.check()


@pytest.mark.parametrize("method", ["camp_crest", "crest", "t_closeness"])
def test_methods_that_need_a_class(method: str) -> None:
    with refused(UsageError, "needs-setting", name=method):
        masked(method, {}, np.zeros((9, 1)))
