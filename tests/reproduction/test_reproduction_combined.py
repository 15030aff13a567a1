"""The page about intervals of combined estimates: a few of its runs, and the words around its table."""

from __future__ import annotations

import math

import pytest

from paths import ROOT
from reproduction.combined_intervals import HEAD, RULES, TAIL, covered


@pytest.mark.few(1)
@pytest.mark.parametrize("releases", [2, 5])
def test_the_rule_covers_and_the_former_one_is_too_wide(releases: int) -> None:
    full, population = RULES
    for one in covered("`sequential`", releases, runs=100, records=200):
        # three standard errors of 100 runs
        assert one.share[full] == pytest.approx(95, abs=6.6)
        assert one.width[full] == pytest.approx(math.sqrt(1 + 2 / releases), rel=0.1)
        assert one.width[population] > 2 * one.width[full]


def test_the_page_is_what_the_command_writes() -> None:
    text = (ROOT / "docs" / "combined-intervals.md").read_text(encoding="utf-8")
    assert text.startswith(HEAD)
    assert text.endswith(TAIL)
