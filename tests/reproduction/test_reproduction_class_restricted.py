"""What the page says of class-restricted clustering: the worked example, the benchmark, section 7."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reproduction.class_restricted import (
    Row,
    example_marks,
    first,
    harmless,
    medicare,
    microaggregation_marks,
    pima,
    section,
    spanning_groups,
)  # fmt: skip
from reproduction.t_close import spanning_tree, t_closeness


def test_the_worked_example() -> None:
    marks = list(example_marks())
    assert [mark.reference for mark in marks] == [0.459, 0.191, 0.0, 0.280]
    assert all(mark.reached for mark in marks)


def test_the_files_are_those_of_the_paper(shared_data: Path) -> None:
    assert (100 * pima(shared_data).shares).round(1).tolist() == [65.1, 34.9]
    assert (100 * medicare(shared_data).shares).round(1).tolist() == [23.3, 34.0, 42.7]
    assert pima(shared_data).values.shape == (768, 8)
    assert medicare(shared_data).values.shape == (4406, 21)


def test_section_7(shared_data: Path) -> None:
    table = pima(shared_data)
    safe = harmless(table, 50)
    assert safe is not None
    assert harmless(table, 3) is None
    marks = list(microaggregation_marks(table, table.averaged("", spanning_groups(table, 5)), safe))
    assert len(marks) == 3
    assert all(mark.reached for mark in marks)


@pytest.mark.parametrize("seed", range(20))
def test_the_benchmark_against_a_slow_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, k, t = 40, int(rng.integers(2, 6)), float(rng.uniform(0.05, 0.5))
    points, codes = rng.normal(size=(n, 2)), rng.integers(0, 3, size=n)
    shares = np.bincount(codes, minlength=3) / n
    tree = spanning_tree(points)
    parent = tree.parent.copy()

    def component(start: int, without: int) -> np.ndarray:
        inside = {start}
        while True:
            more = {
                v for v in range(n) if v != without and parent[v] >= 0 and ((v in inside) != (parent[v] in inside))
            }
            if not more:
                return np.array(sorted(inside))
            inside |= more | {int(parent[v]) for v in more}

    def fine(part: np.ndarray) -> bool:
        far = np.abs(np.bincount(codes[part], minlength=3) / len(part) - shares).sum() / 2
        return len(part) >= k and far <= t + 1e-12

    while True:
        can = [v for v in range(n) if parent[v] >= 0 and fine(component(v, v)) and fine(component(int(parent[v]), v))]
        if not can:
            break
        parent[max(can, key=lambda v: tree.squared[v])] = -1
    labels = t_closeness(tree, k, t, codes, shares)
    expected = [component(v, -1).tolist() for v in range(n)]
    assert [np.flatnonzero(labels == labels[v]).tolist() for v in range(n)] == expected


def test_the_smallest_size_below_a_level_is_found() -> None:
    def row(k: int) -> Row:
        return Row(str(k), 0, 100 / k, 0, 0, 0, 0, 0)

    assert first((2, 5, 10, 20, 50), row, 10.0).said == "10"
    assert first((2, 5, 10, 20, 50), row, 9.9).said == "20"
    assert first((2, 5), row, 1.0).said == "5"


@pytest.mark.full
def test_all_figures_are_reached(shared_data: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the plots need matplotlib")
    made = section(shared_data, tmp_path)
    assert len(made.marks) == 15
    assert all(mark.reached for mark in made.marks)
    assert (tmp_path / "figures" / "class-restricted-2013-figure-6.svg").is_file()
