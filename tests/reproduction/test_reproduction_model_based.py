"""Table 1 of the paper on model-based hybrid data: figures that are reached, and what the page says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from reproduction.model_based import CENSUS, DIABETES, Score, components, order_marks, row, scores, section


@pytest.mark.full
def test_the_mixtures(shared_data: Path) -> None:
    marks = list(components(shared_data))
    assert [mark.reference for mark in marks] == [81, 36, 28, 3, -2303.5, -4751.3, 62]
    assert [f"{mark.what}: {mark.ours}" for mark in marks if not mark.reached] == []


def test_scores_of_the_first_runs(shared_data: Path) -> None:
    found = {one.method: one for one in scores(DIABETES, shared_data, runs=4)}
    assert found["Micro"].squares == pytest.approx(10.76, abs=0.005)
    assert found["Hybrid"].ratio == pytest.approx(1, abs=0.4)
    assert found["Hybrid, exact moments"].squares == pytest.approx(0, abs=1e-6)
    assert found["Hybrid, exact moments"].cubic > 1


@pytest.mark.full
def test_every_figure_is_reached(shared_data: Path, tmp_path: Path) -> None:
    made = section(shared_data, tmp_path)
    assert len(made.marks) == 14
    assert [mark.what for mark in made.marks if not mark.reached] == []
    assert made.text.startswith("## Hybrid microdata via model-based clustering (2012)\n")
    assert "nan" not in made.text


def test_pairs_are_counted_by_hand() -> None:
    values = {"Hybrid": 1.0, "HybridMicro": 5.0, "Synthetic": 4.0, "Micro": 6.0}
    table = [Score(name, value, 9 - value, 0.1, 1.0) for name, value in values.items()]
    first, second, third = order_marks({"Diabetes": table, "Census": table[:2] + table[3:]})
    assert (first.reference, first.ours, first.reached) == (5, 4, False)
    assert (second.reference, second.ours, second.reached) == (2, 2, True)
    assert (third.reference, third.ours) == (1, 0)


def test_lines_of_the_table() -> None:
    one = Score("Micro", 20.004, 3.0, 0.0, 1.5)
    assert row(CENSUS, one) == ("Census", "Micro", "200.04", "20.00", "0.100", "1.50", "3.00")
    other = Score("Micro, exact moments", 0.0, 3.0, 0.25, 0.0)
    assert row(CENSUS, other)[2:] == ("", "0.00", "", "0.00", "3.00 ± 0.25")
