"""docs/methods.md and its pages: a section for each method, formulas that render, examples that come out."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, stats

from masktron import estimators, methods
from masktron.masking.draws.drawing import FEW
from masktron.methods.base import Partitioning
from masktron.methods.conditioned import CELL, ConditionedMethod
from masktron.synthesis.conditions import EXPLAINED, LEAST_LEVEL, MOST, RECORDS, Conditions
from masktron.synthesis.trees import MOST_CELLS, Question
from paths import DOCS

PAGES = [DOCS / "methods.md", *sorted((DOCS / "methods").glob("*.md"))]
PAGE = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
SECTIONS = dict(re.findall(r"^## (\w+): [^\n]*\n(.*?)(?=^##? |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL))
FIELDS = (DOCS / "methods" / "conditions.md").read_text(encoding="utf-8")
EIGHT = np.array([21.0, 22.0, 24.0, 25.0, 40.0, 41.0, 43.0, 44.0])[:, None]
CLASSES = np.array([1, 1, 0, 0, 0, 1, 0, 1])
SEVEN = np.array([10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 90.0])[:, None]
LINE = np.column_stack([np.arange(1.0, 9.0), [3.0, 4.0, 8.0, 7.0, 12.0, 11.0, 15.0, 20.0]])
TEN = np.column_stack([np.repeat([1.0, 2.0], 5), [1.0, 2.0, 3.0, 4.0, 5.0, 11.0, 12.0, 13.0, 14.0, 15.0]])
TWELVE = np.column_stack([np.repeat([1.0, 2.0, 3.0], 4), np.r_[1.0:5.0, 20.0:24.0, 5.0:9.0]])
SIXTY = np.column_stack([np.repeat([1.0, 2.0], 30), np.r_[1.0:31.0, 16.0:46.0]])
GIVEN: dict[str, Any] = {"conditions": (0,), "nominal": (0,)}


def test_every_method_has_a_section_with_its_title_a_formula_or_steps_and_an_example() -> None:
    headings = re.findall(r"^## (\w+: .*)$", PAGE, flags=re.MULTILINE)
    assert sorted(headings) == sorted(f"{kind.name}: {kind.title}" for kind in methods.ALL)
    for name, text in SECTIONS.items():
        assert "Example" in text, name
        assert "```math" in text, name
        assert re.search(r"Source|\*Source", text), name


def test_what_an_attacker_can_compute_is_said_of_each_method() -> None:
    section = (DOCS / "methods" / "attackers.md").read_text(encoding="utf-8")
    rows = {
        name: row.split("|")[2].strip()
        for row in re.findall(r"^\| `.*$", section, flags=re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    assert sorted(rows) == sorted(kind.name for kind in methods.ALL)
    drawing = {kind.name for kind in methods.ALL if not issubclass(kind, Partitioning)}
    assert {name for name, source in rows.items() if source != "nothing is drawn"} == drawing
    for kind in methods.ALL:
        assert ("Nothing is drawn" in kind.attacker) == (kind.name not in drawing), kind.name
        assert "secret" in kind.attacker, kind.name


def test_formulas_survive_markdown() -> None:
    """Between dollars, GitHub takes a backslash before punctuation for its own; in code spans it does not."""
    assert "$$" not in PAGE
    prose = re.sub(r"^ *```math\n.*?^ *```$", "", PAGE, flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"^```(?:\{toctree\}|toml|bash|python)\n.*?^```$", "", prose, flags=re.MULTILINE | re.DOTALL)
    assert "```" not in prose, "no fence is open"
    inline = re.findall(r"(?<!`)\$([^$`\n]+)\$(?!`)", prose)
    assert len(inline) > 50
    assert [formula for formula in inline if re.search(r"\\[^A-Za-z]", formula)] == []


@pytest.mark.parametrize(
    ("name", "estimator", "values", "classes", "printed"),
    [
        ("mdav", estimators.Mdav(k=3), None, None, "three times (2, 1.33) and four times (11.5, 11.25)"),
        ("camp_crest", estimators.CampCrest(k=2, random_state=0), EIGHT, CLASSES, "21.08 and 23.92"),
        (
            "ipso",
            estimators.Ipso(conditions=(1,), random_state=0),
            np.column_stack([SEVEN, np.arange(1.0, 8.0)]),
            None,
            "",
        ),
        ("muralidhar_sarathy", estimators.MuralidharSarathy(random_state=0), SEVEN, None, ""),
        ("rank_swapping", estimators.RankSwapping(random_state=0), SEVEN, None, ""),
        ("shuffling", estimators.Shuffling(random_state=1), LINE, None, ""),
        ("sequential", estimators.Sequential(bayesian=False, random_state=1), LINE, None, "(5.413, 12.187, 17.599)"),
    ],
    ids=lambda one: one if isinstance(one, str) and one.isidentifier() else "",
)
def test_examples_come_out(
    name: str, estimator: Any, values: NDArray[np.float64] | None, classes: NDArray[np.int64] | None, printed: str
) -> None:
    if name == "mdav":
        values = np.array([(1, 1), (2, 1), (3, 2), (10, 10), (11, 11), (12, 11), (13, 13)], dtype=float)
        masked = estimator.fit_transform(values)
        assert masked[0].round(2).tolist() == [2, 1.33]
        assert masked[-1].round(2).tolist() == [11.5, 11.25]
    elif name == "sequential":
        assert values is not None
        masked = estimator.fit_transform(np.column_stack([values, values.sum(axis=1)]))
        printed = "(" + ", ".join(f"{value:.3f}" for value in masked[0]) + ")"
    elif name == "camp_crest":
        masked = estimator.fit_transform(values, classes)
        printed = f"{masked[0, 0]:.2f} and {masked[2, 0]:.2f}"
    else:
        masked = estimator.fit_transform(values)
        printed = ", ".join(f"{value:.1f}" for value in masked[:, 0])
    assert printed in " ".join(SECTIONS[name].split())


@pytest.mark.parametrize(
    ("name", "estimator", "decimals"),
    [
        ("hybrid_micro", estimators.HybridMicro, 2),
        ("microhybrid", estimators.Microhybrid, 2),
        ("model_hybrid", estimators.ModelHybrid, 2),
        ("rank_swapping", estimators.RankSwapping, 0),
        ("shuffling", estimators.Shuffling, 0),
    ],
)
def test_examples_of_cells_come_out(name: str, estimator: Any, decimals: int) -> None:
    given = estimator(random_state=0, **GIVEN).fit_transform(SIXTY)[:, 1]
    alone = estimator(random_state=0).fit_transform(SIXTY[:, 1:])[:, 0]
    first, means = _rounded(given[:4], decimals), _rounded(_by_region(given), 1)
    lost, one = _rounded(_by_region(alone), 1), [min(given[:30]), max(given[:30]), means[0]]
    width = math.ceil(15 * 30 / 100)
    expected = {
        "hybrid_micro": [1, *first, 0, *means, *_rounded(_by_region(given, _spread), 1)],
        "microhybrid": [1, *first, 0, *means, *lost],
        "model_hybrid": [0, *first, 1, *means, *lost],
        "rank_swapping": [15, 30, 15 * 30 / 100, width, 1, *first, 0, 1, *one, lost[0]],
        "shuffling": [1, *first, 0, 1, *one, lost[0]],
    }
    expected["hybrid_micro"] += _rounded(_by_region(alone, _spread), 1)
    assert _figures(SECTIONS[name], "Example of cells") == [len(SIXTY), *expected[name]]
    assert means == [15.5, 30.5]


def test_the_example_of_conditions_in_latent_classes_comes_out() -> None:
    values = np.column_stack([SIXTY, np.r_[np.tile([1.0, 1.0, 2.0], 10), np.tile([1.0, 2.0, 2.0], 10)]])
    given = estimators.LatentClass(conditions=(0,), nominal=(0, 2), random_state=0).fit_transform(values)[:, 1:]
    alone = estimators.LatentClass(nominal=(1,), random_state=0).fit_transform(values[:, 1:])
    shares = [100 * _by_region(column).var() / column.var() for column in values.T[1:]]
    found = [
        [*np.bincount(one[:30, 1].astype(int))[1:].tolist(), round(float(one[:30, 0].mean()), 1)]
        for one in (given, alone)
    ]
    explained = _rounded([*shares, np.mean(shares)], 1)
    expected = [len(SIXTY), 1, 2, *explained, 0, 1, *found[0], *found[1]]
    assert _figures(SECTIONS["latent_class"], "Example of cells") == expected
    assert found[0] == [20, 10, 15.5]


def test_examples_of_regressors_come_out() -> None:
    data = [1, *TEN[:5, 1], 2, *TEN[5:, 1]]
    drawn = estimators.Ipso(random_state=0, **GIVEN).fit_transform(TEN)[:, 1]
    alone = _by_region(estimators.Ipso(random_state=0).fit_transform(TEN[:, 1:])[:, 0])
    shown, sums = np.round(drawn, 1), _rounded(5 * _by_region(np.round(drawn, 1)), 6)
    expected = [*data, 0, *shown, *sums, *_rounded(_by_region(drawn), 6), *_rounded(alone, 1)]
    assert _figures(SECTIONS["ipso"], "Example of categories") == expected
    drawn = estimators.Sequential(bayesian=False, random_state=0, **GIVEN).fit_transform(TEN)[:, 1]
    means = _by_region(TEN[:, 1])
    squares = float(np.square(TEN[:, 1] - np.repeat(means, 5)).sum())
    expected = [*data, squares, *means, squares, 9, round(squares / 9, 3), 0, *_rounded(drawn, 2)]
    assert _figures(SECTIONS["sequential"], "Example of conditions") == expected


def test_the_example_of_leaves_comes_out() -> None:
    incomes = TWELVE[:, 1].reshape(3, 4)
    drawn = estimators.Cart(k=4, smooth=False, random_state=0, **GIVEN).fit_transform(TWELVE)[:, 1]
    data = [figure for region, own in enumerate(incomes, 1) for figure in (region, *own)]
    order = incomes.mean(axis=1).argsort() + 1
    expected = [*data, *incomes.mean(axis=1), *order, 4, order[2], *order[:2], *order[:2], 0, *drawn, 5]
    assert _figures(SECTIONS["cart"], "Example of conditions") == expected
    assert all(value in own for value, own in zip(drawn, incomes.repeat(4, axis=0), strict=True))
    asked = Question(TWELVE[:, 0], TWELVE[:, 0], nominal=True)
    assert [len(np.unique(asked.columns(TWELVE[:, 1:], k)[0])) for k in (4, 5)] == [3, 1]


def test_the_example_of_numbers_that_stay_comes_out() -> None:
    drawn = estimators.Shuffling(conditions=(1,), random_state=1).fit_transform(LINE)[:, 0]
    copula = round(2 * math.sin(math.pi / 6 * stats.spearmanr(LINE).statistic), 3)
    after = "Example" + SECTIONS["shuffling"].split("Given y,")[1]
    assert _figures(after, "Example") == [*drawn, 1, copula, 2, round(1 - copula**2, 3)]


def test_the_example_of_a_drawn_category_comes_out() -> None:
    region, own = np.repeat([1.0, 2.0], 10), np.r_[np.repeat([1.0, 2.0], [8, 2]), np.repeat([1.0, 2.0], [2, 8])]
    share = float(optimize.brentq(lambda p: 20 * (0.8 - p) - np.log(p / (1 - p)), 0.5, 0.8))
    counts = [10, 1, 8, 2, 10, 2, 2, 8]
    expected = [*counts, 1, 1, 1, 2, 1, 20, 0.8, 1, 0, *_rounded([share, 1 - share], 3), 2]
    assert _figures(SECTIONS["sequential"], "Example of categories") == expected
    method: dict[str, Any] = {"bayesian": False, "conditions": (0,), "nominal": (0, 1)}
    values = np.column_stack([region, own])
    drawn = [estimators.Sequential(random_state=seed, **method).fit_transform(values)[:, 1] for seed in range(100)]
    same = (np.stack(drawn) == np.where(region == 1, 1, 2)).mean()
    assert abs(same - share) < 0.035  # three and a half standard errors of 2,000 draws; 0.8 is farther


def test_the_code_on_fields_that_stay_prints_what_it_says() -> None:
    code, printed = re.findall(r"^```python\n(.*?)print\(.*?# ([\d. ]+),", FIELDS, flags=re.MULTILINE | re.DOTALL)[0]
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 -- the example of the page
    assert [float(mean) for mean in printed.split()] == _by_region(names["drawn"][:, 1]).round(6).tolist()


def test_each_method_that_draws_says_what_it_does_with_fields_that_stay() -> None:
    rows = {
        name: "no conditions" not in row
        for row in re.findall(r"^\| `.*$", FIELDS, flags=re.MULTILINE)
        for name in re.findall(r"`(\w+)`", row.split("|")[1])
    }
    drawing = [kind for kind in methods.ALL if not issubclass(kind, Partitioning)]
    assert rows == {kind.name: issubclass(kind, ConditionedMethod) for kind in drawing}
    for name, conditioned in rows.items():
        assert ("](conditions.md" in SECTIONS[name]) == conditioned, name


def test_figures_of_cells_pooling_and_strata_come_out() -> None:
    sizes, income, regions = [24, 12, 4], SIXTY[:, 1], [1, 1, 30, 2, 16, 45]
    pooled = Conditions(np.repeat([0.0, 1.0, 2.0], sizes)[:, None], np.array([True])).regressors()
    assert pooled.sum(axis=0).tolist() == [28], "one indicator, of A and C"
    rare = [LEAST_LEVEL, sum(sizes), RECORDS, sum(sizes) // RECORDS]
    assert _figures(FIELDS, r"\*Example\*: 40") == [sum(sizes), *sizes, *rare]
    means, away = _by_region(income), 7.5
    between = [away, away, 2, away**2, round(income.var(), 2), round(100 * away**2 / income.var(), 1)]
    split = [10, len(SIXTY), round(1000 / len(SIXTY), 1), 30, _spread(income[:30]), 1, len(SIXTY)]
    assert np.abs(means - income.mean()).tolist() == [away, away]
    assert _figures(FIELDS, r"\*Example\*: 60") == [len(SIXTY), *regions, *means, *between, *split]
    drawn = estimators.Noise(exact=True, strata=(0,), random_state=0).fit_transform(SIXTY)[:, 1]
    variances = _rounded([*_by_region(drawn, _spread)[:1], _spread(drawn)], 1)
    assert _figures(FIELDS, r"\*Example\*: the") == [len(SIXTY), *variances]


def test_limits_of_conditions_are_those_of_the_program() -> None:
    words = " ".join(FIELDS.split())
    for said in (
        f"more than {100 * EXPLAINED:g} % of the variance",
        f"at most {FEW} different values",
        f"fewer than {LEAST_LEVEL} records",
        f"one regressor for every {RECORDS} records, and at most {MOST}",
        f"at least {CELL} records",
        f"at most {MOST_CELLS} cells",
    ):
        assert said in words


def _figures(text: str, opening: str) -> list[float]:
    """Return all numbers of the first paragraph that begins so, without their signs, in their order."""
    found = re.search(rf"^\*?{opening}.*?(?=\n\n|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    assert found is not None, opening
    return [float(figure) for figure in re.findall(r"\d+(?:\.\d+)?", re.sub(r"\]\([^)]*\)", "]", found[0]))]


def _by_region(
    values: NDArray[np.float64], figure: Callable[[NDArray[np.float64]], float] = np.mean
) -> NDArray[np.float64]:
    return np.array([figure(half) for half in np.split(values, 2)])


def _spread(values: NDArray[np.float64]) -> float:
    return float(values.var(ddof=1))


def _rounded(values: Iterable[float], decimals: int) -> list[float]:
    return [round(float(value), decimals) for value in values]
