"""docs/methods.md and its pages: a section for each method, formulas that render, examples that come out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize

from masktron import estimators, methods
from masktron.masking.draws.drawing import FEW
from masktron.methods.base import CELL, ConditionedMethod, Partitioning
from masktron.synthesis.conditions import EXPLAINED, LEAST_LEVEL, RECORDS, Conditions
from masktron.synthesis.trees import MOST_CELLS
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
GIVEN = {"conditions": (0,), "nominal": (0,)}


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
        assert "key" in kind.attacker, kind.name


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
    assert _listed(given[:4], decimals) in _text(name)
    np.testing.assert_allclose(_by_region(given), [15.5, 30.5])
    if name in {"rank_swapping", "shuffling"}:
        assert sorted(given[:30]) == list(range(1, 31))
    else:
        np.testing.assert_allclose([given[:30].var(ddof=1), given[30:].var(ddof=1)], 77.5)
    alone = estimator(random_state=0).fit_transform(SIXTY[:, 1:])[:, 0]
    lost = {
        "hybrid_micro": f"the variances are {alone[:30].var(ddof=1):.1f} and {alone[30:].var(ddof=1):.1f}",
        "microhybrid": f"without the condition {' and '.join(f'{mean:.1f}' for mean in _by_region(alone))}",
        "model_hybrid": f"the means of the regions are {' and '.join(f'{mean:.1f}' for mean in _by_region(alone))}",
    }
    assert lost.get(name, f"without the condition it is {alone[:30].mean():.1f}") in _text(name)


def test_the_example_of_conditions_in_latent_classes_comes_out() -> None:
    values = np.column_stack([SIXTY, np.r_[np.tile([1.0, 1.0, 2.0], 10), np.tile([1.0, 2.0, 2.0], 10)]])
    given = estimators.LatentClass(conditions=(0,), nominal=(0, 2), random_state=0).fit_transform(values)[:, 1:]
    assert f"region 1 has {_first_region(given, ' and the')}" in _text("latent_class")
    alone = estimators.LatentClass(nominal=(1,), random_state=0).fit_transform(values[:, 1:])
    assert f"it has {_first_region(alone, ', and the')}" in _text("latent_class")
    income, category = (100 * _by_region(column).var() / column.var() for column in values.T[1:])
    assert (
        f"{income:.1f} % of the variance of income and {category:.1f} % of that of the category, "
        f"{(income + category) / 2:.1f} % on average"
    ) in _text("latent_class")


def test_examples_of_regressors_and_leaves_come_out() -> None:
    drawn = estimators.Ipso(random_state=0, **GIVEN).fit_transform(TEN)[:, 1]
    assert f"draws {_listed(drawn[:5], 1)} and {_listed(drawn[5:], 1)}." in _text("ipso")
    np.testing.assert_allclose(_by_region(drawn), [3, 13])
    alone = _by_region(estimators.Ipso(random_state=0).fit_transform(TEN[:, 1:])[:, 0])
    assert f"the means of the regions are {alone[0]:.1f} and {alone[1]:.1f}." in _text("ipso")
    drawn = estimators.Sequential(bayesian=False, random_state=0, **GIVEN).fit_transform(TEN)[:, 1]
    assert f"they are {_listed(drawn[:5], 2)} and {_listed(drawn[5:], 2)}." in _text("sequential")
    drawn = estimators.Cart(k=4, smooth=False, random_state=0, **GIVEN).fit_transform(TWELVE)[:, 1]
    parts = ", then ".join(_listed(drawn[at : at + 4], 0) for at in (0, 4, 8))
    assert f"the regions become {parts}:" in _text("cart")
    drawn = estimators.Shuffling(conditions=(1,), random_state=1).fit_transform(LINE)[:, 0]
    assert f"Given y, x becomes {_listed(drawn, 0)}:" in _text("shuffling")


def test_the_example_of_a_drawn_category_comes_out() -> None:
    region, own = np.repeat([1.0, 2.0], 10), np.r_[np.repeat([1.0, 2.0], [8, 2]), np.repeat([1.0, 2.0], [2, 8])]
    share = optimize.brentq(lambda p: 20 * (0.8 - p) - np.log(p / (1 - p)), 0.5, 0.8)
    assert f"So p is {share:.3f}, and {1 - share:.3f} in region 2" in _text("sequential")
    method = {"bayesian": False, "conditions": (0,), "nominal": (0, 1)}
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
        assert ("conditions.md" in SECTIONS[name]) == conditioned, name


def test_figures_of_cells_pooling_and_strata_come_out() -> None:
    words, income = " ".join(FIELDS.split()), SIXTY[:, 1]
    explained = f"{income.var():.2f} (divided by n), or {100 * 7.5**2 / income.var():.1f} %"
    assert f"{explained}. A split has to explain 10 / 60 = {1000 / 60:.1f} %" in words
    pooled = Conditions(np.repeat([0.0, 1.0, 2.0], [24, 12, 4])[:, None], np.array([True])).regressors()
    assert pooled.sum(axis=0).tolist() == [24], "one indicator, of A"
    drawn = estimators.Noise(exact=True, strata=(0,), random_state=0).fit_transform(SIXTY)[:, 1]
    np.testing.assert_allclose(_by_region(drawn), [15.5, 30.5])
    own, whole = drawn[:30].var(ddof=1), drawn.var(ddof=1)
    assert f"a share of {own:.1f}, the variance in each region, and not of {whole:.1f}" in words
    for said in (
        f"more than {100 * EXPLAINED:g} % of the variance",
        f"at most {FEW} different values",
        f"fewer than {LEAST_LEVEL} records",
        f"one indicator for every {RECORDS} records",
        f"at least {CELL} records",
        f"at most {MOST_CELLS} cells",
    ):
        assert said in words


def _first_region(values: NDArray[np.float64], joint: str) -> str:
    count = int((values[:30, 1] == 1).sum())
    return f"{count} a and {30 - count} b{joint} mean {values[:30, 0].mean():.1f}"


def _by_region(values: NDArray[np.float64]) -> NDArray[np.float64]:
    half = len(values) // 2
    return np.array([values[:half].mean(), values[half:].mean()])


def _listed(values: NDArray[np.float64], decimals: int) -> str:
    return ", ".join(f"{value:.{decimals}f}" for value in values)


def _text(name: str) -> str:
    return " ".join(SECTIONS[name].split())
