"""The generated population has the shape in print; the section of the page, from few samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reproduction import hierarchical
from reproduction.household_population import population


def test_the_population_has_the_shape_in_print() -> None:
    households = population()
    assert households.shape == (7_872, 6)
    assert (households >= 0).all()
    spent, total = households[:, 4], households[:, 5]
    assert total.mean() == pytest.approx(132_357, rel=0.02)
    assert spent.mean() == pytest.approx(109_302, rel=0.02)
    assert total.std() == pytest.approx(94_570, rel=0.03)
    assert spent.std() == pytest.approx(77_458, rel=0.03)
    assert (total > 225_000).mean() == pytest.approx(0.13643, abs=0.02)
    assert (spent > 175_000).mean() == pytest.approx(0.13795, abs=0.01)


def test_regressions_against_least_squares() -> None:
    values = population()[:200]
    points, variances = hierarchical._estimates(values)
    design = np.column_stack([np.ones(200), values[:, [1, 2, 3]]])
    slopes, rest = np.linalg.lstsq(design, values[:, 4])[:2]
    assert points[-5:-1] == pytest.approx(slopes, rel=1e-8)
    errors = rest[0] / 196 * np.diag(np.linalg.inv(design.T @ design))
    assert variances[-5:-1] == pytest.approx(errors, rel=1e-6)
    assert points[-1] == pytest.approx(1 - rest[0] / ((values[:, 4] - values[:, 4].mean()) ** 2).sum(), rel=1e-9)


@pytest.mark.full
def test_the_section_of_few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hierarchical, "SAMPLES", 3)
    made = hierarchical.section(Path(), Path())
    assert made.text == hierarchical.section(Path(), Path()).text
    assert [f"### Table {table}" in made.text for table in range(2, 8)] == [True] * 6
    assert made.text.count("\n| ") == 2 * 6 + len(hierarchical.ESTIMANDS) + 4
    assert len(made.marks) == 6
