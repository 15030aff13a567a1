"""Pages of files that a method drew: no word of groups, bins or records that is not so."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from lxml import html

import masktron
from masktron.jobs.assess import AssessRequest, run_assess
from masktron.report.pages.common_parts import position_parts
from masktron.report.pages.compared_parts import distribution_parts
from masktron.report.pages.page import PagePicture, PictureRow
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


@dataclass(frozen=True, slots=True)
class Case:
    """Wages, transfers of which many are 0 and none below, and hours; each masked file is made once."""

    folder: Path
    results: dict[str, MaskResult] = field(default_factory=dict)

    def masked(self, method: str, *unmasked: str) -> MaskResult:
        if method not in self.results:
            data, rules = self.folder / "people.csv", self.folder / "rules.sch"
            roles = dict.fromkeys(("Region", *unmasked), "untouched")
            self.results[method] = masktron.mask(
                data, rules, self.at(method, ".csv"), k=5, method=method, roles=roles
            )
        return self.results[method]

    def at(self, method: str, ending: str) -> Path:
        return self.folder / f"{method}{ending}"

    def page(self, method: str) -> html.HtmlElement:
        self.masked(method)
        masktron.write_report(self.at(method, ".manifest.json"), html=self.at(method, ".html"))
        return html.fromstring(self.at(method, ".html").read_text())


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp("drawn")
    random = np.random.default_rng(5)
    wages = random.integers(500, 5000, 150)
    transfers = np.where(random.random(150) < 0.5, 0, random.integers(50, 900, 150))
    numbers = zip(wages, transfers, random.integers(1, 60, 150), strict=True)
    rows = [f"{w},{t},{h},{('north', 'south', 'west')[at % 3]}" for at, (w, t, h) in enumerate(numbers)]
    (folder / "people.csv").write_text("\n".join(("Wage,Transfers,Hours,Region", *rows, "")))
    (folder / "rules.sch").write_text(RULES)
    return Case(folder)


def facts(page: html.HtmlElement) -> str:
    return " ".join(page.text_content().split())


def test_records_of_a_drawn_group_are_not_said_to_be_alike(case: Case) -> None:
    result, text = case.masked("microhybrid"), facts(case.page("microhybrid"))
    assert result.draw is not None and result.draw.smallest == result.min_group
    assert "records in a group that values are drawn for" in text
    assert "records alike in a block of masked fields" not in text


@pytest.mark.full
@pytest.mark.parametrize("method", [pytest.param("microhybrid", marks=pytest.mark.full), "noise"])
def test_records_that_drew_the_same_are_shown_as_no_group(case: Case, method: str) -> None:
    page = case.page(method)
    assert page.xpath("//figure[@id='distribution-0']")
    assert not page.xpath("//figure[starts-with(@id, 'group-sizes')]")
    assert "Records that share their values" not in facts(page)
    data, manifest, written = (
        case.folder / "people.csv",
        case.at(method, ".manifest.json"),
        case.folder / "assess.html",
    )
    run_assess(AssessRequest(case.at(method, ".csv"), data, manifest=manifest, measures=("linkage",), html=written))
    assert "Records that share their values" not in facts(html.fromstring(written.read_text()))


def test_values_below_zero_that_nobody_forbids_are_told(case: Case) -> None:
    result = case.masked("noise")
    rows = [row.split(",") for row in case.at("noise", ".csv").read_text().splitlines()]
    count = sum(row[1].startswith("-") for row in rows)
    assert count
    (said,) = [one for one in result.concerns if (one.kind, one.field) == ("below-zero", "Transfers")]
    assert said.records == count and f"below 0 in {count} records" in said.says
    masktron.write_report(case.at("noise", ".manifest.json"), html_public=case.folder / "public.html")
    public = facts(html.fromstring((case.folder / "public.html").read_text()))
    # of the file alone: what the original lacks is told inside
    assert "Values are below 0 in this file: " in public and f"Transfers in {count} records" in public
    assert "original value is" not in public and "none of the original" not in public
    assert not [one for one in case.masked("mdav", "Wage").concerns if one.kind == "below-zero"]


def test_unmasked_fields_are_counted_together_and_alone(case: Case) -> None:
    rows = [row.split(",") for row in (case.folder / "people.csv").read_text().splitlines()[1:]]
    pairs, wages = Counter((row[0], row[3]) for row in rows), Counter(row[0] for row in rows)
    (said,) = [note for note in case.masked("mdav", "Wage").notes if note.startswith("by unmasked fields alone")]
    alone = [sum(times == 1 for times in count.values()) for count in (pairs, wages)]
    assert f"(Wage, Region), {alone[0]} of 150 records are like no other one, {alone[1]} by Wage alone" in said
    few = case.masked("noise").notes
    assert not [note for note in few if note.startswith("by unmasked fields alone")]


def test_the_map_has_the_axes_of_tune_where_the_file_has_them() -> None:
    own = {"linkage": 4.0, "information_loss": 95.0, "disclosure_risk": 30.0, "pil": 20.0}
    (picture,) = position_parts(own, 90.0)
    assert isinstance(picture, PagePicture)
    assert picture.table.columns == ("file", "pil", "disclosure_risk")
    assert "Disclosure risk 30.0 %, of 95.0 % unmasked" in picture.sentence
    few = {name: own[name] for name in ("linkage", "information_loss")}
    (picture,) = position_parts(few, 90.0)
    assert isinstance(picture, PagePicture)
    assert picture.table.columns == ("file", "information_loss", "linkage")
    assert position_parts({"linkage": 3.0}, 90.0) == []
