"""docs/methods.md and its pages: a section for each method, formulas that render, examples that come out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from masktron import estimators, methods
from masktron.methods.base import Partitioning
from paths import DOCS

PAGES = [DOCS / "methods.md", *sorted((DOCS / "methods").glob("*.md"))]
PAGE = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
SECTIONS = dict(re.findall(r"^## (\w+): [^\n]*\n(.*?)(?=^##? |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL))
EIGHT = np.array([21.0, 22.0, 24.0, 25.0, 40.0, 41.0, 43.0, 44.0])[:, None]
CLASSES = np.array([1, 1, 0, 0, 0, 1, 0, 1])
SEVEN = np.array([10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 90.0])[:, None]
LINE = np.column_stack([np.arange(1.0, 9.0), [3.0, 4.0, 8.0, 7.0, 12.0, 11.0, 15.0, 20.0]])


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
    prose = re.sub(r"^```\{toctree\}\n.*?^```$", "", prose, flags=re.MULTILINE | re.DOTALL)
    assert prose.count("```") == 2, "the example of settings, and no fence that is open"
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
