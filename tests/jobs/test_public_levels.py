"""The page for others of a nested release: what steps did to fields of each level before others were masked."""

from __future__ import annotations

import pytest
from lxml import html

import masktron
from nested_keys import LEVELS, ROLES, made, write_rules
from nested_tables import levels


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> html.HtmlElement:
    """Treat fields of households and of persons in every way there is."""
    folder = tmp_path_factory.mktemp("public")
    survey = made(1, 150)
    survey.households["W"] = [("1.5", "2.5", "8", "9")[at * 7 % 4] for at in range(150)]
    masktron.mask(
        survey.write_tables(folder),
        write_rules(folder / "rules.sch"),
        folder / "out.csv",
        k=3,
        rare_units="exclude",
        levels=levels(LEVELS, folder),
        roles={**ROLES, "HID": "identifier", "PID": "untouched", "W": "weight"},
        recode={"Age": "breaks:0,10,20,40,60", "W": "breaks:0,5:mean"},
        allow_lost=("old-child",),
        pram={"Sex": "change:0.2"},
        swap={"regions": ["Region"], "similar": ["Size"], "rate": 0.2, "k": 3},
        key_k=3,
    )
    masktron.write_report(folder / "out.manifest.json", html_public=folder / "page.html")
    return html.fromstring((folder / "page.html").read_text(encoding="utf-8"))


def test_fields_that_steps_changed_are_not_said_to_be_as_they_were(page: html.HtmlElement) -> None:
    said = " ".join(page.xpath("//section[@id='exact']")[0].text_content().split())
    kept = said.partition("Written as they were, in every record: ")[2].partition(".")[0]
    assert {"PID"} <= {*kept.split(", ")} <= {"PID", "Role"}, "a rule may let Role be left out beside a key"
    assert "Age (breaks:0,10,20,40,60)" in said
    untrue = said.partition("Not true in some records")[2].partition(". Left out")[0]
    assert "Region (exchanged in pairs" in untrue and "Sex (drawn anew" in untrue
    assert "W is the survey weight of Household, recoded (breaks:0,5:mean)" in said


def test_missing_values_are_counted_by_level_and_k_is_said_of_each(page: html.HtmlElement) -> None:
    cells = [
        [cell.text_content() for cell in row] for row in page.xpath("(//section[@id='keys']//table)[1]//tbody/tr")
    ]
    missing = {row[0]: row[3] for row in cells if row[2].startswith("left out")}
    assert {"Region", "Size", "Age", "Sex"} <= missing.keys()
    persons = len(made(1, 150).persons)
    count, _, share = missing["Age"].partition(" (")
    assert int(count) > 0
    assert float(share.split()[0]) == pytest.approx(100 * int(count) / persons, abs=0.06)
    said = " ".join(page.xpath("//section[@id='keys']")[0].text_content().split())
    for level in ("Household", "Person"):
        assert f"Of the records of {level}: at least 3 records share each combination of all keys" in said
