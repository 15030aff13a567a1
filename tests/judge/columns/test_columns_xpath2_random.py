"""Generated expressions of XPath 2 and later: the columns never say what Saxon does not."""

from __future__ import annotations

import numpy as np
import pytest

from columns_saxon import ERROR, FALSE, TRUE, UNSURE, columnar, columns, disagreements, saxon
from columns_xpath2_generator import Generator
from columns_xpath2_rows import LAYOUT, odd_rows, plain_rows
from examples import parts


def expressions(seed: int, depth: int, n: int) -> list[str]:
    generator = Generator(seed)
    made = sorted({generator.condition(depth) for _ in range(n)})
    chosen = [test for test in made if columnar(test, LAYOUT)]
    assert len(chosen) > 0.6 * len(made)
    return chosen


@pytest.mark.parametrize("seed", parts(range(12), 3))
def test_generated_expressions(seed: int) -> None:
    tests = expressions(seed, 2 + seed % 2, 60)
    rows = [*odd_rows(seed, 50), *plain_rows(seed, 30)]
    expected = saxon(tests, LAYOUT, rows)
    said = columns(tests, LAYOUT, rows)
    assert not disagreements(tests, LAYOUT, rows, expected, said)
    for answer in (FALSE, TRUE):
        assert np.mean(said == answer) > 0.2
    plain = (expected != ERROR)[50:]
    assert np.mean(said[50:][plain] == UNSURE) < 0.1


@pytest.mark.full
def test_many_generated_expressions() -> None:
    for seed in range(100, 150):
        tests = expressions(seed, 2 + seed % 2, 100)
        rows = [*odd_rows(seed, 60), *plain_rows(seed, 30)]
        expected = saxon(tests, LAYOUT, rows)
        assert not disagreements(tests, LAYOUT, rows, expected, columns(tests, LAYOUT, rows))
