"""Pages of files that a method drew: no word of groups, bins or records that is not so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from lxml import html

import masktron
from masktron.jobs.assess import run_assess
from masktron.report.pages.compared_parts import distribution_parts
from masktron.report.pages.page import PictureRow
from masktron.results import MaskResult
from masktron.results.side_by_side import FieldDistribution, SideBySide

RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">
<assert id="hours" test="Hours &lt;= 80"/></rule></pattern></schema>
"""


def distribution_sentence(before: tuple[int, ...], after: tuple[int, ...]) -> str:
    one = FieldDistribution("Wage", (10.0, 20.0), 1.0, before, after)
    (row,) = distribution_parts(SideBySide(sum(before), True, (one,), (), (), (), (), (), (), (), 100.0))
    assert isinstance(row, PictureRow)
    return row.pictures[0].sentence


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ((50, 30, 20), "The same distribution in both files."),
        ((42, 34, 24), "8 of 100 records would have to change bin to get the old distribution back."),
    ],
)
def test_histograms_that_differ_are_no_count_of_records_that_moved(after: tuple[int, ...], said: str) -> None:
    assert distribution_sentence((50, 30, 20), after) == said


def test_a_small_difference_of_histograms_is_not_hidden() -> None:
    said = distribution_sentence((500, 300, 200), (501, 299, 200))
    assert said == "Fewer than 1 of 100 records would have to change bin to get the old distribution back."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of wages and transfers, many of them 0 and none below, and of hours."""
    folder = tmp_path_factory.mktemp("drawn")
    random = np.random.default_rng(5)
    wages = random.integers(500, 5000, 150)
    transfers = np.where(random.random(150) < 0.5, 0, random.integers(50, 900, 150))
    hours = random.integers(1, 60, 150)
    regions = ("north", "south", "west")
    rows = [
        f"{w},{t},{h},{regions[at % 3]}" for at, (w, t, h) in enumerate(zip(wages, transfers, hours, strict=True))
    ]
    (folder / "people.csv").write_text("\n".join(("Wage,Transfers,Hours,Region", *rows, "")))
    (folder / "rules.sch").write_text(RULES)
    return folder


def masked(folder: Path, method: str) -> MaskResult:
    out = folder / f"{method}.csv"
    roles = {"Region": "untouched"}
    result = masktron.mask(folder / "people.csv", folder / "rules.sch", out, k=5, method=method, roles=roles)
    masktron.write_report(folder / f"{method}.manifest.json", html=folder / f"{method}.html")
    return result


def facts(page: html.HtmlElement) -> str:
    return " ".join(page.text_content().split())


def test_records_of_a_drawn_group_are_not_said_to_be_alike(folder: Path) -> None:
    result = masked(folder, "microhybrid")
    text = facts(html.fromstring((folder / "microhybrid.html").read_text()))
    assert result.draw is not None and result.draw.smallest == result.min_group
    assert "records in a group that values are drawn for" in text
    assert "records alike in a block of masked fields" not in text


@pytest.mark.parametrize("method", ["microhybrid", "noise"])
def test_records_that_drew_the_same_are_shown_as_no_group(folder: Path, method: str) -> None:
    masked(folder, method)
    page = html.fromstring((folder / f"{method}.html").read_text())
    assert page.xpath("//figure[@id='distribution-0']")
    assert not page.xpath("//figure[starts-with(@id, 'group-sizes')]")
    assert "Records that share their values" not in facts(page)
    manifest, page = folder / f"{method}.manifest.json", folder / "assess.html"
    run_assess(folder / f"{method}.csv", folder / "people.csv", manifest=manifest, measures=("linkage",), html=page)
    assert "Records that share their values" not in facts(html.fromstring((folder / "assess.html").read_text()))
