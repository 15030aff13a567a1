"""Measures refuse files that cannot be compared, and arguments that they cannot take."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from masktron import measures as m
from masktron.errors import UsageError
from masktron.measures import keys
from masktron.measures.combining import combine
from masktron.measures.differencing import published_sums
from masktron.measures.kept_variation import kept_variation
from masktron.measures.linkage_within import linkage_within
from masktron.measures.moment_shift import moment_shift
from masktron.measures.score import interval_by_name, linkage_by_name
from refusals import refused

COMPARED: tuple[Callable[..., object], ...] = (
    *(m.biases, m.il1s, m.linkage, m.second, m.pil, m.by_ranks, m.by_deviation, m.subdomains, m.true_cells),
    *(m.pmse, m.pmse_cart, m.correlation_change, kept_variation, m.strongest_linkage),
    *(
        partial(m.by_groups, groups=[[0]]),
        partial(m.by_knowledge, known=1),
        partial(linkage_within, classes=np.zeros(3)),
    ),
)


@pytest.mark.parametrize("measure", COMPARED, ids=lambda one: getattr(one, "func", one).__name__)
def test_files_of_other_shapes_and_infinite_values(measure: Callable[..., object]) -> None:
    with refused(UsageError, "arrays-differ", shapes=("original of shape (3, 2)", "masked of shape (2, 2)")):
        measure(np.zeros((3, 2)), np.zeros((2, 2)))
    with refused(UsageError, "unusable-values", kind="infinite"):
        measure(np.zeros((3, 2)), np.full((3, 2), np.inf))


FILE, ONES, CODES, TWO = np.zeros((3, 2)), np.ones((3, 2)), np.zeros(3, np.int64), np.zeros(2, np.int64)
WRONG: Any = "none"
SHAPES: list[Callable[[], object]] = [
    lambda: m.achieved_k([np.zeros(2), CODES]),
    lambda: m.category_shares(np.array(["a"]), np.array(["a", "b"])),
    lambda: m.class_chi_square(TWO, CODES),
    lambda: m.homogeneity(TWO, CODES),
    lambda: m.information_loss(FILE, FILE[:1]),
    lambda: published_sums(np.zeros(3), np.zeros(2), CODES, step=1.0),
    lambda: m.p_percent(FILE, TWO),
    lambda: m.eta_squared(np.zeros(2), CODES),
    lambda: moment_shift(FILE, FILE[:1], FILE),
    lambda: m.true_cells(FILE, FILE, TWO),
    lambda: m.strongest_linkage(FILE, FILE, TWO),
    lambda: m.strongest_linkage(FILE, FILE, None, [(np.zeros(3, np.int32), np.zeros(4, np.int32))]),
    lambda: m.group_linkage(FILE, FILE, FILE[:1]),
    lambda: m.group_linkage(FILE, FILE, FILE[:, :0]),
    lambda: m.group_linkage(FILE, FILE, FILE[:, 0]),
    lambda: m.weighted_totals(FILE, FILE[:, :1]),
    lambda: m.weighted_totals(FILE, FILE[:2]),
    lambda: m.weighted_totals(FILE, FILE, np.ones(2)),
    lambda: combine([1.0, 2.0], [1.0]),
    lambda: keys.key_frequencies([CODES, TWO]),
    lambda: keys.key_frequencies([CODES], np.ones(2)),
    lambda: keys.household_risk(np.zeros(2), CODES),
    lambda: keys.key_loss([CODES], []),
]


@pytest.mark.parametrize("call", SHAPES)
def test_arrays_that_do_not_fit_together(call: Callable[[], object]) -> None:
    with refused(UsageError, "arrays-differ"):
        call()


VALUES: list[tuple[str, Callable[[], object]]] = [
    ("columns", lambda: m.achieved_k([])),
    ("each number of groups", lambda: m.class_chi_square(CODES - 1, CODES)),
    ("each number of classes", lambda: m.class_chi_square(CODES, CODES - 2)),
    ("each number of groups", lambda: m.homogeneity(CODES - 1, CODES)),
    ("each number of classes", lambda: m.homogeneity(CODES, CODES - 2)),
    *(("percent", partial(m.p_percent, FILE, CODES, percent)) for percent in (0, 101, math.nan)),
    *(("percents", partial(m.by_ranks, FILE, FILE, percents=some)) for some in ([], [0], [101], [1, 2.5])),
    *(("percents", partial(m.by_deviation, FILE, FILE, percents=some)) for some in ([], [0], [101], [1, 2.5])),
    ("least", lambda: m.joined_bins(np.ones(9), np.ones(9), 0)),
    ("groups", lambda: m.by_groups(FILE, FILE, [])),
    *(("each group", partial(m.by_groups, FILE, FILE, [[0], group])) for group in ([], [2], [-1], [0, 0])),
    *(("known", partial(m.by_knowledge, FILE, FILE, known)) for known in (0, 3)),
    ("groups", lambda: m.disclosure_risk(FILE, FILE, linkage="groups")),
    ("known", lambda: m.disclosure_risk(FILE, FILE, linkage="knowledge")),
    *(
        (name, partial(m.score, *both))
        for name, *both in (("loss", -1, 50), ("risk", 50, 101), ("loss", math.nan, 5))
    ),
    ("sample", lambda: m.pmse(FILE, FILE, sample=0)),
    ("sample", lambda: m.pmse_cart(FILE, FILE, sample=0)),
    ("terms", lambda: m.pmse(FILE, FILE, WRONG)),
    ("permutations", lambda: m.pmse_cart(FILE, FILE, permutations=0)),
    *(
        ("samples, share and seed", partial(m.subdomains, FILE, FILE, **how))
        for how in ({"samples": 0}, {"share": 0.0}, {"share": 1.1}, {"share": math.nan}, {"seed": -1})
    ),
    ("estimates", lambda: combine([1.0], [1.0])),
    ("estimates", lambda: combine([], [])),
    ("variances", lambda: combine([1.0, 2.0], [1.0, -1.0])),
    ("variances", lambda: combine([1.0, 2.0], [0.0, 0.0], full=True)),
    *(
        (name, partial(combine, [1.0, 2.0], [1.0, 1.0], full=True, **{name: value}))
        for name, value in (("level", 1.0), ("level", 0.0), ("ratio", 0.0), ("ratio", math.inf))
    ),
    ("keys", lambda: keys.key_frequencies([])),
    ("each number of keys", lambda: keys.key_frequencies([CODES - 2])),
    *(("each weight", partial(keys.key_frequencies, [CODES], np.array([1.0, 1, one]))) for one in (0, math.nan)),
    ("alpha", lambda: keys.key_frequencies([CODES], alpha=1.5)),
    ("each number of risks", lambda: keys.household_risk(np.array([1.5]), np.array([0]))),
    ("each number of households", lambda: keys.household_risk(np.array([0.5]), np.array([-2]))),
    ("each number of risks", lambda: keys.global_risk(np.array([np.nan]))),
    ("largest", lambda: keys.suda([CODES], 0)),
    ("fraction", lambda: keys.suda([CODES], fraction=2)),
]


@pytest.mark.parametrize(("name", "call"), VALUES)
def test_arguments_that_cannot_be(name: str, call: Callable[[], object]) -> None:
    with refused(UsageError, "bad-value", name=name):
        call()


OTHERS: list[tuple[str, dict[str, object], Callable[[], object]]] = [
    ("unusable-values", {"kind": "infinite"}, lambda: m.p_percent(ONES * np.inf, CODES)),
    ("unusable-values", {"kind": "negative", "where": "column 2"}, lambda: m.p_percent(ONES * [1, -1], CODES)),
    ("unusable-values", {"kind": "infinite"}, lambda: m.joined_bins(ONES[:, 0] * np.inf, ONES[:, 0], 2)),
    ("unusable-values", {"kind": "infinite"}, lambda: m.group_linkage(FILE, FILE, ONES * -np.inf)),
    ("unusable-values", {"kind": "missing or infinite"}, lambda: combine([1.0, math.nan], [1.0, 1.0])),
    ("values-too-large", {}, lambda: combine([1e308, -1e308], [1.0, 1.0])),
    ("estimates-equal", {"releases": 2, "variance": 3}, lambda: combine([1.0, 1.0], [2.0, 4.0])),
    ("given-twice", {"one": "full"}, lambda: combine([1.0, 2.0], [1.0, 1.0], full=True, population=True)),
    ("unknown-name", {"kind": "variant of linkage"}, lambda: linkage_by_name(WRONG, FILE, FILE)),
    ("unknown-name", {"kind": "variant of interval disclosure"}, lambda: interval_by_name(WRONG, FILE, FILE)),
    (
        "too-many-values",
        {"number": 27_000_000},
        lambda: keys.log_linear_risk([np.arange(300)] * 3, np.full(300, 2.0), pairs=((0, 1),)),
    ),
]


@pytest.mark.parametrize(("code", "named", "call"), OTHERS)
def test_what_else_is_refused(code: str, named: dict[str, object], call: Callable[[], object]) -> None:
    with refused(UsageError, code, **named):
        call()
