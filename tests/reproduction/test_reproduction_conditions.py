"""The page about draws given fields that stay: a few runs, what it concludes, and the words around its table."""

from __future__ import annotations

import pytest

from paths import ROOT
from reproduction.conditions import DRAWINGS, HEAD, TAIL, measured, page

PAGE = (ROOT / "docs" / "conditions.md").read_text(encoding="utf-8")
LINES = [line for line in PAGE.splitlines() if line.startswith("| ")][2:]
ROWS = {(row[0], row[1]): row for row in (line[2:-2].split(" | ") for line in LINES)}
GIVEN, NOTHING = "region, sex, age", "nothing"


def numbers(method: str, given: str) -> list[float]:
    """Return share and coverages of a row."""
    return [float(cell.removesuffix(" %")) for cell in ROWS[f"`{method}`", given][3:]]


@pytest.mark.parametrize("method", ["cart", "sequential"])
def test_what_is_drawn_given_region_and_sex_keeps_what_lies_between_them(method: str) -> None:
    own = measured("", given=False, runs=8).share
    kept, lost = (measured(method, given=given, runs=8).share for given in (True, False))
    assert kept == pytest.approx(own, rel=0.1)
    assert lost < 0.1
    # three standard errors of the means of 8 samples
    assert [kept, lost] == pytest.approx([numbers(method, GIVEN)[0], numbers(method, NOTHING)[0]], abs=0.04)


def test_estimates_that_all_releases_share_have_the_interval_of_one() -> None:
    """Means and slopes of `ipso` are exact, and `combine` refuses what is equal."""
    exact, own = measured("ipso", given=True, runs=20), measured("", given=False, runs=20)
    assert [exact.covers[name] for name in ("mean", "slope")] == [own.covers[name] for name in ("mean", "slope")]


def test_what_the_page_concludes() -> None:
    share = float(ROWS["the samples", ""][3])
    for method in ("cart", "sequential"):
        kept, *covers = numbers(method, GIVEN)
        lost, *others = numbers(method, NOTHING)
        assert kept == pytest.approx(share, rel=0.1)
        assert 90 <= covers[1] <= 97
        assert lost < 0.1
        assert others[1] < 10


def test_the_page_is_what_the_command_writes() -> None:
    assert PAGE.startswith(HEAD)
    assert PAGE.endswith(TAIL)
    assert len(LINES) == len(ROWS) == 1 + 2 * len(DRAWINGS)
    assert LINES[0] in page([measured("", given=False)]).splitlines()
